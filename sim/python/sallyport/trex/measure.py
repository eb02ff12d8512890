"""From TRex's statistics to a trial's figures: counts of groups, latency of latency streams, loss over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sallyport.backend import Latency
from sallyport.trex.streams import BULK, Way

MICROSECOND = 1000.0


def number(value: object) -> float:
    """A statistic, 0 where TRex says that there is none."""
    return float(value) if isinstance(value, int | float) else 0.0


@dataclass(frozen=True)
class Sample:
    """What was sent and what had arrived, `at_ns` after the measured interval began."""

    at_ns: float
    tx: tuple[int, ...]  # of each direction
    rx: tuple[int, ...]


def sample(stats: dict, ways: list[Way], groups: list[list[int]], at_ns: float) -> Sample:
    """Of TRex's answer to get_stats: frames of the bulk and of the latency groups of each direction."""

    def count(way: Way, latency: list[int], field: str, port: int) -> int:
        flows = stats.get("flow_stats", {})
        return sum(
            int(number(flows.get(str(group), {}).get(field, {}).get(str(port))))
            for group in [BULK[way.number], *latency]
        )

    pairs = list(zip(ways, groups, strict=True))
    return Sample(
        at_ns,
        tuple(count(way, latency, "tx_pkts", way.tx_port) for way, latency in pairs),
        tuple(count(way, latency, "rx_pkts", way.rx_port) for way, latency in pairs),
    )


def last_loss_ns(samples: list[Sample]) -> float | None:
    """When the last lost frame was sent, to the interval between samples; None if none was.

    A frame on its way looks like a lost one, so what is missing at a sample is as much as was lost by then, or more: while that is
    less than is missing in the end, the last loss is still to come.
    """
    ends = []
    for way, (tx, rx) in enumerate(zip(samples[-1].tx, samples[-1].rx, strict=True)):
        if tx > rx:
            before = max((n for n, each in enumerate(samples) if each.tx[way] - each.rx[way] < tx - rx), default=-1)
            ends.append(samples[min(before + 1, len(samples) - 1)].at_ns)
    return max(ends, default=None)


@dataclass(frozen=True)
class Delays:
    """What the latency streams of a trial saw, together."""

    latency: Latency | None
    jitter_ns: float | None
    histogram: list[tuple[float, int]]
    reordered: int
    duplicated: int


def delays(stats: dict, groups: list[int], highest_us: dict[int, float]) -> Delays:
    """`highest_us`: the highest `total_max` of each group in any sample, since TRex forgets it between two."""
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
    ends = [(_end(low), buckets[low]) for low in sorted(buckets)]
    p50, p90, p99, p99_99 = (
        min(max(_percentile(ends, frames, part), lowest), highest) * MICROSECOND for part in (0.5, 0.9, 0.99, 0.9999)
    )
    latency = Latency(
        min=lowest * MICROSECOND,
        avg=sum(number(row.get("average")) * row["count"] for row in rows) / frames * MICROSECOND,
        p50=p50,
        p90=p90,
        p99=p99,
        p99_99=p99_99,
        max=highest * MICROSECOND,
    )
    jitter = max(number(row.get("jitter")) for row in rows) * MICROSECOND
    return Delays(latency, jitter, [(end * MICROSECOND, count) for end, count in ends], reordered, duplicated)


def _end(low: int) -> int:
    """The upper end of TRex's bucket from `low` µs on: 0 to 10, then steps of a power of ten, 90 to 100, 100 to 200."""
    return low + 10 ** max(1, int(math.log10(low)) if low else 1)


def _percentile(ends: list[tuple[int, int]], frames: int, part: float) -> float:
    rank, seen = math.ceil(part * frames), 0
    for end, count in ends:
        seen += count
        if seen >= rank:
            return end
    return ends[-1][0]
