# SPDX-License-Identifier: Apache-2.0
"""Sums the rows up in a line: a heading that names the tested settings, and the headline of
each test."""

from __future__ import annotations

from collections.abc import Callable

from sallyport import stateful
from sallyport.ike import MEASURES
from sallyport.report import cells, settings
from sallyport.report.cells import span
from sallyport.report.kinds import KINDS, kind, reasons, verdict

MOST_NAMED = 4  # rows that have the same reason


def heading(rows: list[dict]) -> str:
    """The test and the settings that the figures belong to."""
    test = rows[0]["test"]
    name = f"RFC 2544 {test}" if kind(test).source.startswith("RFC 2544") else kind(test).title
    return f"{name}, {settings.origin(rows)}: {settings.describe(rows)}"


def headline(rows: list[dict]) -> str:
    """The result of one test in a sentence."""
    test = rows[0]["test"]
    return _HEADLINES[test](rows) if test in KINDS else f"rows: {len(rows)}"


def _sizes(rows: list[dict]) -> str:
    """The frame sizes of rows: all of a few, else the first and the last."""
    labels = list(dict.fromkeys(cells.sized(row) for row in rows))
    if len(labels) > 4:
        fixed = sorted({row["frame_size"] for row in rows if isinstance(row["frame_size"], int)})
        named = [label for label in labels if not label.endswith(" B")]
        labels = [f"{fixed[0]} to {fixed[-1]} B", *named] if fixed else named
    return _list(labels)


def _list(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _throughput(rows: list[dict]) -> str:
    good, bad = [r for r in rows if r["passed"]], [r for r in rows if not r["passed"]]
    parts = []
    if good:
        best = max(good, key=lambda r: r["gbps_l2"])
        parts.append(
            f"{span([100 * r['ratio'] for r in good], cells.percent)} % of the theoretical maximum at {_sizes(good)}; "
            f"up to {best['gbps_l2']:.2f} Gb/s L2 a direction ({cells.sized(best)})"
        )
    if bad:
        parts.append(f"no load without loss was found at {_sizes(bad)}")
    return "; ".join(parts)


def _tunnels(rows: list[dict]) -> str:
    sas, share = span([r["sas"] for r in rows], cells.count), span([100 * r["ratio"] for r in rows], cells.percent)
    return f"{share} % of the theoretical maximum with {sas} SAs a direction, at {_sizes(rows)}"


def _latency(rows: list[dict]) -> str:
    full = max(r.get("of_throughput_pct") or r["load_pct"] for r in rows)
    there = [r for r in rows if (r.get("of_throughput_pct") or r["load_pct"]) == full and r["latency_ns"]]
    if not there:
        return "no packet arrived"
    average = span([r["latency_ns"]["avg"] / 1000 for r in there], lambda v: f"{v:.2f}")
    of = "of throughput" if rows[0].get("of_throughput_pct") else "of line rate"
    worst = max(r["latency_ns"]["p99_99"] for r in there)
    return f"{average} µs on average at {full:g} % {of}, {_sizes(there)}; 99.99 % of packets within {cells.micros(worst, 2)} µs"


def _loss(rows: list[dict]) -> str:
    """The highest load without loss, for each frame size."""
    clean: dict[str, float] = {}
    for row in sorted(rows, key=lambda r: r["load_pct"]):
        label = cells.sized(row)
        if row["lost"] == 0:
            clean[label] = row["load_pct"]
        else:
            clean.setdefault(label, 0.0)
    worst = max(rows, key=lambda r: r["loss_pct"])
    most = f"{cells.percent(worst['loss_pct'])} % at {worst['load_pct']:g} % with {cells.sized(worst)}"
    return f"nothing lost up to {span(list(clean.values()), lambda v: f'{v:g}')} % of line rate at {_sizes(rows)}; most lost: {most}"


def _bursts(rows: list[dict]) -> str:
    free, limited = [r for r in rows if r["unlimited"]], [r for r in rows if not r["unlimited"]]
    parts = []
    if limited:
        parts.append(
            f"bursts of {span([r['burst_frames'] for r in limited], cells.count)} frames without loss at {_sizes(limited)}"
        )
    if free:
        parts.append(
            f"no limit found at {_sizes(free)}, with bursts of up to {cells.count(max(r['burst_frames'] for r in free))} frames"
        )
    return "; ".join(parts)


def _recovery(rows: list[dict]) -> str:
    never = [r for r in rows if r["recovery_ns"] is None]
    if never:
        return f"went on losing after the overload at {_sizes(never)}"
    times = [r["recovery_ns"] for r in rows]
    if not any(times):
        return f"nothing lost once the overload had ended, at {_sizes(rows)}"
    return f"recovers from overload within {cells.micros(max(times))} µs at {_sizes(rows)}"


def _reset(rows: list[dict]) -> str:
    parts = []
    for way in dict.fromkeys(r["reset"] for r in rows):
        times = [r["outage_ns"] for r in rows if r["reset"] == way]
        longest = "never back" if None in times else f"outage of at most {cells.micros(max(times))} µs"
        parts.append(f"{way} reset: {longest}")
    return "; ".join(parts)


def _attack(rows: list[dict]) -> str:
    names = _list(list(dict.fromkeys(r["attack"] for r in rows)))
    lost = sum(r["lost"] for r in rows)
    if lost == 0:
        return f"no legitimate frame lost under {names} at {_sizes(rows)}"
    bad = _list(list(dict.fromkeys(r["attack"] for r in rows if r["lost"])))
    return f"{cells.count(lost)} legitimate frames lost under {bad}"


def _figures(rows: list[dict]) -> str:
    """Every figure, with its clock."""
    return "; ".join(
        f"{row['figure_name']} {cells.figure(row, row['figure'])} {row['unit']}"
        + (f" ({row['clock']})" if row["clock"] else "")
        for row in rows
    )


_HEADLINES: dict[str, Callable[[list[dict]], str]] = {
    "throughput": _throughput,
    "tunnels": _tunnels,
    "latency": _latency,
    "loss": _loss,
    "back-to-back": _bursts,
    "recovery": _recovery,
    "reset": _reset,
    "attack": _attack,
    **dict.fromkeys((*MEASURES, *stateful.TESTS), _figures),
}


def reasons_of(rows: list[dict]) -> list[tuple[str, str]]:
    """The rows that have a reason not to have passed, named, and the reason: each reason once."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for text in reasons(row):
            found.setdefault(text, []).append(named(row))
    return [(_first(names), text) for text, names in found.items()]


def named(row: dict) -> str:
    """Which row of a table is meant."""
    return row.get("figure_name") or f"{cells.sized(row)} at {cells.percent(row['load_pct'])} %"


def _first(names: list[str]) -> str:
    """A few names, or the first of many and how many more there are."""
    return _list(
        names if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    )


def failed(rows: list[dict]) -> list[str]:
    """What failed, a few words a row."""
    return [f"{kind(row['test']).title.lower()} at {cells.sized(row)}" for row in rows if verdict(row) is False]
