# SPDX-License-Identifier: Apache-2.0
"""`./sallyport compare`: prints what two runs differ in, and fails if the second is worse."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import click
from rich.table import Table

from sallyport import compare, report
from sallyport.compare import BAD, MEASURES, Measure, Pair
from sallyport.errors import CheckFailed
from sallyport.report import cells, settings
from sallyport.report.terminal import show_table

_SET = {
    "of_throughput_pct": "% of throughput",
    "load_pct": "% of line",
    "attack_pct": "% hostile",
}
_STYLE = {
    compare.WORSE: "red",
    compare.FAILED: "red",
    compare.MISSING: "red",
    compare.BETTER: "green",
    compare.NEW: "cyan",
}


@click.command(name="compare")
@click.argument("before", type=click.Path(path_type=Path), metavar="A.json")
@click.argument("after", type=click.Path(path_type=Path), metavar="B.json")
@click.option("--threshold", default="1%", show_default=True, help="How much worse a figure may be.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the pairs of rows here.")
def compare_command(before: Path, after: Path, threshold: str, json_file: Path | None) -> None:
    """Compare the rows of two runs; exit with 1 if those of B.json are worse."""
    limit = compare.threshold(threshold)
    pairs = compare.compare(compare.read(before), compare.read(after), limit)
    report.check_places(None, json_file)
    _tables(pairs)
    if json_file:
        report.write(json_file, json.dumps([_row(pair) for pair in pairs], indent=2) + "\n")
    counts = Counter(pair.status for pair in pairs)
    click.echo(
        f"{len(pairs)} rows, threshold {float(limit):g} %: " + ", ".join(f"{n} {name}" for name, n in counts.items())
    )
    bad = [f"{counts[name]} {name}" for name in BAD if counts[name]]
    if bad:
        raise CheckFailed(f"{after} is worse than {before}: {', '.join(bad)} of {len(pairs)} rows")


def _row(pair: Pair) -> dict:
    """A pair for `--json`; changes without bound are null there, for JSON has no infinity."""
    there = _there(pair)
    finite = {
        name: [value if math.isfinite(value) else None for value in figures] for name, figures in pair.changes.items()
    }
    return {
        **{name: there[name] for name in compare.IDENTITY},
        **{name: there[name] for name in _own(there)},
        "status": pair.status,
        "changes": {
            name: dict(zip(("before", "after", "change_pct"), figures, strict=True)) for name, figures in finite.items()
        },
    }


def _there(pair: Pair) -> dict:
    """The row of either run: the identifying columns are the same in both."""
    row = pair.after or pair.before
    assert row is not None
    return row


def _own(row: dict) -> list[str]:
    names = compare.SET_BY_TEST.get(row["test"], ())
    return [name for name in (*names, *(["of_throughput_pct"] if row["test"] == "latency" else [])) if name in row]


def _tables(pairs: list[Pair]) -> None:
    """A table for each test."""
    tests: dict[str, list[Pair]] = {}
    for pair in pairs:
        tests.setdefault(_there(pair)["test"], []).append(pair)
    for test, mine in tests.items():
        title = f"{test}, {settings.describe([_there(pair) for pair in mine])}"
        show_table(title, _table(mine, [measure for measure in MEASURES if test in measure.tests]))


def _table(pairs: list[Pair], measures: list[Measure]) -> Table:
    rows = [_there(pair) for pair in pairs]
    differ, own = settings.varying(rows), any(_own(row) for row in rows)
    grid = Table()
    for key in differ:
        grid.add_column(settings.title(key).lower())
    grid.add_column("frame B", justify="right")
    if own:
        grid.add_column("at")
    for measure in measures:
        grid.add_column(f"{measure.name}, {measure.unit}", justify="right")
    grid.add_column("result")
    for pair, row in zip(pairs, rows, strict=True):
        grid.add_row(
            *(settings.show(row, key) for key in differ), cells.size(row), *([_at(row)] if own else []),
            *(_change(pair, measure.name, measure.points) for measure in measures), pair.status, style=_STYLE.get(pair.status),
        )  # fmt: skip
    return grid


def _at(row: dict) -> str:
    """What a test set, in a cell."""
    return ", ".join(f"{row[name]:g} {_SET[name]}" if name in _SET else str(row[name]) for name in _own(row))


def _change(pair: Pair, name: str, points: bool) -> str:
    """`"60.87 → 60.80 (-0.11 %)"`, or one figure where nothing changed."""
    if name not in pair.changes:
        return cells.DASH
    old, new, change = pair.changes[name]
    if old == new:
        return _figure(old)
    by = "" if math.isinf(change) else f" ({change:+.2f} {'points' if points else '%'})"
    return f"{_figure(old)} → {_figure(new)}{by}"


def _figure(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:,.6g}" if value < 1 else f"{value:,.2f}"
