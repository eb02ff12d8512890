# SPDX-License-Identifier: Apache-2.0
"""The tables on the terminal: of each test the columns that fit it."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from sallyport import stateful
from sallyport.ike import MEASURES
from sallyport.report import cells, settings
from sallyport.report.cells import corrected, count, latency, micros, percent
from sallyport.report.kinds import by_test, verdict
from sallyport.report.summary import heading, reasons_of

_WIDTH = 160  # minimum width of the output to a pipe

_SIZE = ("frame B", cells.size)
_LOAD = ("load %", lambda r: percent(r["load_pct"]))
_LOST = ("lost", lambda r: count(r["lost"]))
_TX = ("tx", lambda r: count(r["tx_frames"]))
_RESULT = ("result", lambda r: cells.result(verdict(r)).lower())
_LATENCY = (
    ("latency min", lambda r: latency(r, "min", digits=2)),
    ("avg", lambda r: latency(r, "avg", digits=2)),
    ("p99", lambda r: latency(r, "p99", digits=2)),
    ("max µs", lambda r: latency(r, "max", digits=2)),
)
_RATES = (
    _SIZE,
    _LOAD,
    ("theoretical %", lambda r: percent(r["theoretical_pct"])),
    ("throughput %", lambda r: percent(r["throughput_pct"])),
    ("of theoretical", lambda r: f"{100 * r['ratio']:.2f} %"),
    ("Mpps", lambda r: f"{r['mpps']:.3f}"),
    ("Gb/s L2", lambda r: f"{r['gbps_l2']:.2f}"),
    _TX,
    _LOST,
    ("reordered", lambda r: count(r["reordered"])),
    *_LATENCY,
)
_FIGURES = (
    _SIZE,
    ("figure", lambda r: r["figure_name"]),
    ("median", lambda r: cells.figure(r, r["figure"])),
    ("unit", lambda r: r["unit"]),
    ("clock", lambda r: r["clock"] or cells.DASH),
    ("runs", lambda r: count(r.get("trials_at_load", r["trials"]))),
    ("least", lambda r: cells.figure(r, min(r["figure_runs"], default=None))),
    ("most", lambda r: cells.figure(r, max(r["figure_runs"], default=None))),
    _TX,
    _LOST,
    _RESULT,
)
_COLUMNS = {
    **dict.fromkeys(MEASURES, _FIGURES),
    **dict.fromkeys(stateful.TESTS, (("object B", lambda r: count(r["object_bytes"])), *_FIGURES)),
    "tunnels": (("SAs", lambda r: count(r["sas"])), *_RATES),
    "latency": (
        _SIZE,
        ("of throughput %", lambda r: percent(r.get("of_throughput_pct"))),
        _LOAD,
        _TX,
        _LOST,
        *_LATENCY[:-1],
        ("p99.99", lambda r: latency(r, "p99_99", digits=2)),
        ("max", lambda r: latency(r, "max", digits=2)),
        ("jitter µs", lambda r: micros(r["jitter_ns"], 3)),
        _RESULT,
    ),
    "loss": (_SIZE, _LOAD, ("offered %", lambda r: percent(r["offered_pct"])), _TX, _LOST, ("loss %", lambda r: percent(r["loss_pct"]))),
    "back-to-back": (
        _SIZE,
        ("burst frames", lambda r: ("≥ " if r["unlimited"] else "") + count(r["burst_frames"])),
        ("min", lambda r: count(r["burst_min"])),
        ("max", lambda r: count(r["burst_max"])),
        ("sd", lambda r: cells.fixed(r["burst_sd"], 1)),
        ("burst µs", lambda r: cells.DASH if r["burst_s"] is None else f"{1e6 * r['burst_s']:,.2f}"),
        ("corrected frames", lambda r: corrected(r, "frames", 1)),
        ("B", lambda r: corrected(r, "bytes")),
        ("µs", lambda r: corrected(r, "us", 2)),
        ("trials", lambda r: count(len(r["burst_runs"]))),
    ),
    "recovery": (
        _SIZE,
        ("overload %", lambda r: percent(r["overload_pct"])),
        ("then %", lambda r: percent(r["then_pct"])),
        _TX,
        _LOST,
        ("recovery µs", lambda r: "never" if r["recovery_ns"] is None else micros(r["recovery_ns"], 2)),
        _RESULT,
    ),
    "reset": (
        _SIZE,
        ("reset", lambda r: r["reset"]),
        _LOAD,
        _TX,
        _LOST,
        ("outage µs", lambda r: "never back" if r["outage_ns"] is None else micros(r["outage_ns"], 2)),
        _RESULT,
    ),
    "attack": (
        _SIZE,
        ("attack", lambda r: r["attack"]),
        ("hostile %", lambda r: percent(r["attack_pct"])),
        _LOAD,
        _TX,
        _LOST,
        ("dropped", lambda r: count(sum(r["dropped"].values()))),
        *_LATENCY,
        _RESULT,
    ),
}  # fmt: skip


def table(rows: list[dict]) -> None:
    """Print the rows on standard output, a table for each test."""
    for test, mine in by_test(rows).items():
        columns = _COLUMNS.get(test, _RATES)
        differ = settings.varying(mine, *(["sas"] if test == "tunnels" else []))
        grid = Table()
        for key in differ:
            grid.add_column(settings.title(key).lower(), overflow="fold")
        for name, _ in columns:
            grid.add_column(name, justify="right", overflow="fold")
        for row in mine:
            grid.add_row(*(settings.show(row, key) for key in differ), *(show(row) for _, show in columns))
        show_table(heading(mine), grid)
        for names, reason in reasons_of(mine):
            print(f"{names}: {reason}")


def show_table(title: str, grid: Table) -> None:
    """Print a table below its title. A narrow terminal folds it; a pipe has no width, and gets all
    of it as it is."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(_WIDTH, Console(width=10_000).measure(grid).maximum))
    console.print(title, style="bold", highlight=False, soft_wrap=True)
    console.print(grid)
