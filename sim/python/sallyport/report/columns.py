# SPDX-License-Identifier: Apache-2.0
"""The tables of the page: one for each test, with the columns of a Spirent report
(docs/reference/report.md has them one by one)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sallyport import stateful
from sallyport.ike import MEASURES
from sallyport.report import cells, settings
from sallyport.report.cells import corrected
from sallyport.report.kinds import verdict


@dataclass(frozen=True)
class Column:
    """A heading, the unit of the column, and how a row fills it; `text` columns are not aligned as
    numbers are."""

    title: str
    unit: str
    show: Callable[[dict], str]
    text: bool = False


@dataclass
class Sheet:
    """A table that is ready to print."""

    columns: list[Column]
    rows: list[list[str]] = field(default_factory=list)


SIZE = Column("Frame size", "B", cells.size)
LOAD = Column("Intended load", "% of line", lambda r: cells.percent(r["load_pct"]))
LOST = Column("Lost", "frames", lambda r: cells.count(r["lost"]))
LOSS = Column("Loss", "%", lambda r: cells.percent(r["loss_pct"]))
TX = Column("Tx", "frames", lambda r: cells.count(r["tx_frames"]))
RX = Column("Rx", "frames", lambda r: cells.count(r["rx_frames"]))
RESULT = Column("Result", "", lambda r: cells.result(verdict(r)), text=True)

RATES = (
    SIZE,
    Column("Iteration", "", lambda r: cells.count(r["trials"])),
    Column("Duration", "s", lambda r: f"{r['duration_s']:.6g}"),
    LOAD,
    Column("Offered load", "% of line", lambda r: cells.percent(r["offered_pct"])),
    Column("Intended load", "fps", lambda r: cells.count(r["intended_fps"])),
    TX,
    RX,
    LOST,
    LOSS,
    Column("Throughput L2", "Mb/s", lambda r: cells.fixed(1000 * r["gbps_l2"], 1)),
    Column("Throughput L1", "Mb/s", lambda r: cells.fixed(1000 * r["gbps_l1"], 1)),
    RESULT,
    Column("Theoretical maximum", "fps", lambda r: cells.count(r["theoretical_fps"])),
    Column("Theoretical maximum", "% of line", lambda r: cells.percent(r["theoretical_pct"])),
    Column("Of theoretical", "%", lambda r: cells.percent(100 * r["ratio"])),
    *(Column(f"Latency {key}", "µs", lambda r, key=key: cells.latency(r, key)) for key in ("min", "avg", "max")),
    Column("Out of sequence", "frames", lambda r: cells.count(r["reordered"])),
    Column("Duplicated", "frames", lambda r: cells.count(r.get("duplicated"))),
    Column("Damaged", "frames", lambda r: cells.count(r.get("corrupted"))),
)

BURSTS = (
    SIZE,
    Column("Burst", "frames", lambda r: ("≥ " if r["unlimited"] else "") + cells.count(r["burst_frames"])),
    Column("Burst min", "frames", lambda r: cells.count(r["burst_min"])),
    Column("Burst max", "frames", lambda r: cells.count(r["burst_max"])),
    Column("Standard deviation", "frames", lambda r: cells.fixed(r["burst_sd"], 1)),
    Column("Burst", "s", lambda r: cells.DASH if r["burst_s"] is None else f"{r['burst_s']:.9f}"),
    Column("Corrected buffer", "frames", lambda r: corrected(r, "frames", 1)),
    Column("Corrected buffer", "B", lambda r: corrected(r, "bytes")),
    Column("Corrected buffer", "µs", lambda r: corrected(r, "us", 3)),
    Column("Throughput", "fps", lambda r: cells.count(r["throughput_fps"])),
    Column("Trials", "", lambda r: cells.count(len(r["burst_runs"]))),
)

RECOVERY = (
    SIZE,
    Column("Overload", "% of line", lambda r: cells.percent(r["overload_pct"])),
    Column("Then", "% of line", lambda r: cells.percent(r["then_pct"])),
    TX,
    RX,
    LOST,
    Column("Recovery", "µs", lambda r: "never" if r["recovery_ns"] is None else cells.micros(r["recovery_ns"])),
    RESULT,
)

RESET = (
    SIZE,
    Column("Reset", "", lambda r: r["reset"], text=True),
    LOAD,
    TX,
    RX,
    LOST,
    Column("Outage", "µs", lambda r: "never back" if r["outage_ns"] is None else cells.micros(r["outage_ns"])),
    RESULT,
)

ATTACK = (
    SIZE,
    Column("Attack", "", lambda r: r["attack"], text=True),
    Column("Hostile", "% of theoretical", lambda r: cells.percent(r["attack_pct"])),
    LOAD,
    TX,
    RX,
    LOST,
    LOSS,
    Column("Latency avg", "µs", lambda r: cells.latency(r, "avg")),
    Column("Latency p99", "µs", lambda r: cells.latency(r, "p99")),
    Column("Dropped, by counter", "packets", lambda r: _dropped(r["dropped"]), text=True),
    RESULT,
)

OBJECT = Column("Object", "B", lambda r: cells.count(r["object_bytes"]))

FIGURES = (
    SIZE,
    Column("Figure", "", lambda r: r["figure_name"], text=True),
    Column("Median", "", lambda r: cells.figure(r, r["figure"])),
    Column("Unit", "", lambda r: r["unit"], text=True),
    Column("Clock", "", lambda r: r["clock"] or cells.DASH, text=True),
    Column("Runs", "", lambda r: cells.count(r.get("trials_at_load", r["trials"]))),
    Column("Least", "", lambda r: cells.figure(r, min(r["figure_runs"], default=None))),
    Column("Most", "", lambda r: cells.figure(r, max(r["figure_runs"], default=None))),
    TX,
    RX,
    LOST,
    RESULT,
)

_TABLES = {
    "back-to-back": BURSTS,
    "recovery": RECOVERY,
    "reset": RESET,
    "attack": ATTACK,
    **dict.fromkeys(MEASURES, FIGURES),
    **dict.fromkeys(stateful.TESTS, (OBJECT, *FIGURES)),
}


def _dropped(counters: dict[str, int]) -> str:
    return "; ".join(f"{name} {cells.count(value)}" for name, value in counters.items()) or cells.DASH


def sheet(test: str, rows: list[dict]) -> Sheet:
    """The table of a test. Settings in which the rows differ stand in front."""
    if test == "latency":
        return _latency(rows)
    if test == "loss":
        return _loss(rows)
    first = [Column("SAs", "a direction", lambda r: cells.count(r["sas"]))] if test == "tunnels" else []
    columns = [*_settings(settings.varying(rows, *["sas"] * len(first))), *first, *_TABLES.get(test, RATES)]
    if test in _TABLES:
        return Sheet(columns, [[column.show(row) for column in columns] for row in rows])
    numbered = [[str(number), *(column.show(row) for column in columns)] for number, row in enumerate(rows, 1)]
    return Sheet([Column("Trial", "", lambda _: ""), *columns], numbered)


def _settings(keys: Sequence[str]) -> list[Column]:
    return [Column(settings.title(key), "", lambda r, key=key: settings.show(r, key), text=True) for key in keys]


def _latency(rows: list[dict]) -> Sheet:
    """A line for each kind of latency that was measured."""
    keys = ("min", "avg", "max", "p50", "p99", "p99_99")
    shared = [
        *_settings(settings.varying(rows)),
        SIZE,
        Column("Load", "% of throughput", lambda r: cells.percent(r.get("of_throughput_pct"))),
        Column("Load", "% of line", lambda r: cells.percent(r["load_pct"])),
    ]
    own = [Column("Type", "", lambda _: "", text=True)]
    own += [Column(key.replace("_", "."), "µs", lambda _: "") for key in keys]
    own += [Column("Jitter", "µs", lambda _: ""), RESULT]
    sheet = Sheet([*shared, *own])
    for row in rows:
        first = row["latency_type"].split()[0]
        for name, column in ((first, "latency_ns"), ("FIFO", "latency_fifo_ns")):
            if column == "latency_ns" or (row[column] and name != first):
                figures = [cells.latency(row, key, column) for key in keys]
                # The row has one jitter; it belongs to the first kind of latency.
                jitter = cells.micros(row["jitter_ns"]) if column == "latency_ns" else cells.DASH
                sheet.rows.append([c.show(row) for c in shared] + [name, *figures, jitter, RESULT.show(row)])
    return sheet


def _loss(rows: list[dict]) -> Sheet:
    """Frame size by load."""
    differ = settings.varying(rows)
    loads = sorted({row["load_pct"] for row in rows}, reverse=True)
    sheet = Sheet([*_settings(differ), SIZE, *(Column(f"{load:g} %", "of line", lambda _: "") for load in loads)])
    lines: dict[tuple[str, ...], dict[float, str]] = {}
    for row in rows:
        name = (*(settings.show(row, key) for key in differ), cells.size(row))
        lines.setdefault(name, {})[row["load_pct"]] = cells.percent(row["loss_pct"])
    sheet.rows = [[*name, *(found.get(load, cells.DASH) for load in loads)] for name, found in lines.items()]
    return sheet
