# SPDX-License-Identifier: Apache-2.0
"""Back-to-back frames (RFC 2544 26.4) with the correction of RFC 9004: the longest burst at line
rate that loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import floor
from statistics import mean, pstdev

from sallyport import limits
from sallyport.backend import TrialResult
from sallyport.rfc2544.case import Case


def rows(case: Case) -> Iterator[dict]:
    """One row, of `burst_runs` searches with seeds from the setup's own on.

    A burst is at most as long as a trial's measured interval: RFC 9004 5.4 treats a box that
    carries such a burst as one without a limit.
    """
    throughput, made = case.throughput()
    longest = floor(case.top * case.setup.measure_ns / 10**9)
    runs: list[int] = []
    shown: TrialResult | None = None
    for number in range(case.options.burst_runs):
        seeded = replace(case, setup=replace(case.setup, seed=case.setup.seed + number))
        frames, result, used = _longest(seeded, longest)
        runs.append(frames)
        made += used
        shown = shown or result
    assert shown is not None
    frames = mean(runs)
    # RFC 9004 5.4: frames that the box forwarded during the burst were not in its buffer.
    corrected = frames * float(1 - throughput / case.top)
    yield case.row(
        shown,
        made,
        throughput,
        burst_frames=frames,
        burst_min=min(runs),
        burst_max=max(runs),
        burst_sd=pstdev(runs),
        burst_s=float(frames / case.top),
        burst_runs=runs,
        unlimited=min(runs) == longest,
        throughput_fps=round(float(throughput), 3),
        corrected_frames=round(corrected, 3),
        corrected_bytes=round(corrected * float(limits.mean_frame(case.setup.mix)), 1),
        corrected_us=round(1e6 * corrected / float(case.top), 6),
    )


def _longest(case: Case, longest: int) -> tuple[int, TrialResult, int]:
    """The longest burst of up to `longest` frames that passes, its trial, and how many trials
    there were.

    By halves, but where a trial tells which frame was lost first, the next one looks just
    below that.
    """
    low, high = 0, longest + 1  # the longest that passed, the shortest that failed
    guess, near, made = longest, False, 0
    shown: TrialResult | None = None
    while high - low > 1:
        result = case.trial(case.top, burst=guess)
        made += 1
        if result.passed:
            low, shown = guess, result
            guess, near = low + 1 if near else (low + high) // 2, False
            continue
        high, shown = guess, shown or result
        first = result.first_lost
        near = first is not None and low < first < high
        guess = first if near and first is not None else (low + high) // 2
    assert shown is not None, "the longest burst has a frame at least"
    return low, shown, made
