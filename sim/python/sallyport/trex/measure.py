# SPDX-License-Identifier: Apache-2.0
"""From TRex's statistics to a trial's figures: counts of groups, latency of latency streams, loss
over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import mean
from typing import Any

from hdrh.histogram import HdrHistogram

from sallyport.backend import Latency
from sallyport.trex.streams import Way

MICROSECOND = 1000.0
HIGHEST_US, DIGITS = 10_000_000, 3  # of TRex's --hdrh


def number(value: object) -> float:
    """A statistic, 0 where TRex says that there is none."""
    return float(value) if isinstance(value, int | float) else 0.0


@dataclass(frozen=True)
class Sample:
    """The frames sent and the frames that had arrived `at_ns` after the measured interval began; a
    figure for each direction. TRex reads what arrived first."""

    at_ns: float
    tx: tuple[int, ...]
    rx: tuple[int, ...]
    numbered: tuple[int, ...] = ()  # of them latency frames, which have numbers, that were sent
    passed: tuple[int, ...] = ()  # numbers up to the latest that arrived
    missing: tuple[int, ...] = ()  # of these, the ones that did not arrive
    # When TRex was asked. Its counters are of that moment or later; a busy client answers late.
    asked_ns: float = 0.0


def sample(stats: dict, ways: list[Way], groups: list[list[int]], asked_ns: float, at_ns: float) -> Sample:
    """Of TRex's answer to get_stats: frames of the bulk and of the latency groups of each
    direction."""
    flows = stats.get("flow_stats", {})

    def count(each: list[int], field: str, port: int) -> int:
        return sum(int(number(flows.get(str(group), {}).get(field, {}).get(str(port)))) for group in each)

    def missing(each: list[int]) -> int:
        rows = (stats.get("latency", {}).get(str(group), {}).get("err_cntrs", {}) for group in each)
        return sum(int(number(row.get("dropped"))) for row in rows)

    def at_port(port: int, field: str) -> int:
        return int(number(stats.get(str(port), {}).get(field)))

    def sent(way: Way, each: list[int]) -> int:
        if way.pushed:  # TRex's own ARP is not counted: it comes beside them
            return min(at_port(way.tx_port, "opackets") // way.parts, way.pushed)
        return count([way.bulk, *each], "tx_pkts", way.tx_port)

    def arrived(way: Way, each: list[int]) -> int:
        if way.by_port:
            return at_port(way.rx_port, "ipackets")
        return count([way.bulk, *each], "rx_pkts", way.rx_port)

    pairs = list(zip(ways, groups, strict=True))
    return Sample(
        at_ns,
        tuple(sent(way, latency) for way, latency in pairs),
        tuple(arrived(way, latency) for way, latency in pairs),
        tuple(count(latency, "tx_pkts", way.tx_port) for way, latency in pairs),
        tuple(count(latency, "rx_pkts", way.rx_port) + missing(latency) for way, latency in pairs),
        tuple(missing(latency) for _, latency in pairs),
        asked_ns,
    )


def lost(stats: dict, ways: list[Way], groups: list[list[int]], last: Sample) -> list[int]:
    """Frames lost in each direction, summed over groups; `last` has those that ports alone count.

    A group's loss is the larger of two figures: frames that were sent and did not arrive, and
    frames that TRex missed in the group's order. In the first figure a frame that arrives twice
    hides a lost one; only latency groups have the second figure.
    """
    flows, latency = stats.get("flow_stats", {}), stats.get("latency", {})

    def of(group: int, way: Way) -> int:
        row = flows.get(str(group), {})
        sent, arrived = (
            int(number(row.get(field, {}).get(str(port))))
            for field, port in (("tx_pkts", way.tx_port), ("rx_pkts", way.rx_port))
        )
        dropped = int(number(latency.get(str(group), {}).get("err_cntrs", {}).get("dropped")))
        return max(0, sent - arrived, dropped)

    return [
        max(0, last.tx[at] - last.rx[at]) if way.by_port else sum(of(group, way) for group in (way.bulk, *mine))
        for at, (way, mine) in enumerate(zip(ways, groups, strict=True))
    ]


def sending_s(samples: list[Sample]) -> tuple[float, float]:
    """Seconds between which the last frame was sent: a look that did not have it, and one that
    had."""
    whole = samples[-1].tx
    before = max((each.asked_ns for each in samples if each.tx != whole), default=0.0)
    after = min(each.at_ns for each in samples if each.tx == whole)
    return before / 1e9, after / 1e9


def last_loss_ns(samples: list[Sample]) -> float | None:
    """When the last lost frame was sent, exact to the interval between samples; None without loss.

    A frame on its way looks like a lost one, so the count missing at a sample is at least the loss
    so far. While that count is less than the final loss, the last loss is still to come. Where many
    frames wait in a queue that tells too little, but the latest gap in the numbers of latency
    frames tells when a frame was lost, too. TRex's delays tell nothing of a moment: they are those
    of seconds.
    """
    ends = []
    for way, (tx, rx) in enumerate(zip(samples[-1].tx, samples[-1].rx, strict=True)):
        if tx > rx:
            ends.append(samples[_reached([each.tx[way] - each.rx[way] for each in samples], tx - rx)].at_ns)
            if samples[-1].missing and samples[-1].missing[way]:
                gap = samples[_reached([each.missing[way] for each in samples], samples[-1].missing[way])]
                ends.append(next((each.at_ns for each in samples if each.numbered[way] >= gap.passed[way]), gap.at_ns))
    return max(ends, default=None)


def _reached(counts: list[int], whole: int) -> int:
    """The first sample from which on a count is never again less than the whole."""
    before = max((n for n, each in enumerate(counts) if each < whole), default=-1)
    return min(before + 1, len(counts) - 1)


@dataclass(frozen=True)
class Delays:
    """What the latency streams of a trial saw, together."""

    latency: Latency | None
    jitter_ns: float | None
    histogram: list[tuple[float, int]]
    reordered: int
    duplicated: int


def delays(stats: dict, groups: list[int], highest_us: dict[int, float], averages_us: dict[int, list[float]]) -> Delays:
    """`highest_us`: the highest `total_max` of each group in any sample, since TRex forgets it
    between two. `averages_us`: its `average` in the samples, since that forgets the trial."""
    rows: list[dict[str, Any]] = []
    buckets: dict[int, int] = {}
    reordered = duplicated = 0
    for group in groups:
        row = stats.get("latency", {}).get(str(group), {})
        errors, latency = row.get("err_cntrs", {}), row.get("latency", {})
        reordered += int(number(errors.get("out_of_order")))
        duplicated += int(number(errors.get("dup")))
        histogram = {int(low): int(count) for low, count in latency.get("histogram", {}).items() if count}
        for low, count in histogram.items():
            buckets[low] = buckets.get(low, 0) + count
        if histogram:
            rows.append(latency | {"count": sum(histogram.values()), "top": max(histogram), "group": group})
    if not rows:
        return Delays(None, None, [], reordered, duplicated)
    frames = sum(buckets.values())
    highest = max(max(number(row.get("total_max")), highest_us.get(row["group"], 0.0), row["top"]) for row in rows)
    lowest = min(number(row.get("total_min")) for row in rows)
    ends = _fine([row.get("hdrh") for row in rows]) or [(_end(low), buckets[low]) for low in sorted(buckets)]
    p50, p90, p99, p99_99 = (
        min(max(_percentile(ends, frames, part), lowest), highest) * MICROSECOND for part in (0.5, 0.9, 0.99, 0.9999)
    )
    latency = Latency(
        min=lowest * MICROSECOND,
        avg=sum(_average(row, averages_us) * row["count"] for row in rows) / frames * MICROSECOND,
        p50=p50,
        p90=p90,
        p99=p99,
        p99_99=p99_99,
        max=highest * MICROSECOND,
    )
    jitter = max(number(row.get("jitter")) for row in rows) * MICROSECOND
    return Delays(latency, jitter, [(end * MICROSECOND, count) for end, count in ends], reordered, duplicated)


def _average(row: dict[str, Any], averages_us: dict[int, list[float]]) -> float:
    return mean(averages_us.get(row["group"]) or [number(row.get("average"))])


def _fine(encoded: list[str | None]) -> list[tuple[int, int]]:
    """Microseconds and frames of all groups together, to three digits; none unless TRex was started
    with --hdrh."""
    whole = HdrHistogram(1, HIGHEST_US, DIGITS)
    for text in encoded:
        if not text:
            return []
        whole.add(HdrHistogram.decode(text))
    return [(each.value_iterated_to, each.count_added_in_this_iter_step) for each in whole.get_recorded_iterator()]


def _end(low: int) -> int:
    """The upper end of TRex's bucket from `low` µs on. Buckets are 0 to 10, then steps of a power
    of ten, as 90 to 100 and 100 to 200."""
    return low + 10 ** max(1, int(math.log10(low)) if low else 1)


def _percentile(ends: list[tuple[int, int]], frames: int, part: float) -> float:
    rank, seen = math.ceil(part * frames), 0
    for end, count in ends:
        seen += count
        if seen >= rank:
            return end
    return ends[-1][0]
