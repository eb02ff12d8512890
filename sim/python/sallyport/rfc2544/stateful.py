# SPDX-License-Identifier: Apache-2.0
"""Tests of connections (RFC 9411 7.2 and 7.3): the highest rate at which they succeed, and a row
for each figure at that rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from statistics import median

from sallyport.backend import Trial, TrialResult
from sallyport.rfc2544 import search
from sallyport.rfc2544.case import Case

DIGITS = 3  # of a figure, behind the point
WIDTH = 0.005  # of the last interval: TCP's rates vary by more than a tenth of a percent


def rows(case: Case) -> Iterator[dict]:
    """A search by the command's goal. Figures are medians of the trials at the rate that it found;
    the other columns are of a good one of them, or else of the last trial."""
    made: list[TrialResult] = []

    def run(fps: Fraction, measure_ns: int) -> TrialResult:
        made.append(case.run(Trial(replace(case.setup, measure_ns=measure_ns), fps, stateful=case.test)))
        return _as_loss(made[-1])

    goal = replace(case.options.goal, width=max(case.options.goal.width, WIDTH))
    found = search.throughput(run, case.bound, case.search_ns or case.setup.measure_ns, goal)
    at_load = [trial for trial in made if trial.intended_fps == found.fps]
    shown = next((trial for trial in reversed(at_load) if trial.passed), made[-1])
    for number, figure in enumerate(shown.figures):
        runs = [_rounded(trial.figures[number].value) for trial in at_load]
        yield case.row(
            shown,
            len(made),
            found.fps,
            figure_name=figure.name,
            figure=_rounded(median(runs)) if found.best else None,
            unit=figure.unit,
            clock=figure.clock,
            figure_runs=runs,
            trials_at_load=len(runs),
        )


def _rounded(value: float | None) -> float:
    return round(float(value or 0), DIGITS)


def _as_loss(trial: TrialResult) -> TrialResult:
    """The trial as the search takes it, so that it goes on near the boxes' rate: frames of missing
    answers count as lost, and those that TCP sent again do not."""
    lost = 0 if trial.passed else max(1, round(trial.tx_frames * (1 - trial.served)))
    return replace(trial, lost=lost, resends=False)
