# SPDX-License-Identifier: Apache-2.0
"""Two runs against each other: what became worse, better, is missing or is new."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from sallyport import rows, stateful
from sallyport.errors import InputError
from sallyport.ike import MEASURES as MEASURES_OF_IKE
from sallyport.limits import LINE_GBPS
from sallyport.report.kinds import MAKES_LOSS, verdict

# What makes a row the same row in another run; the seed does not, for it must not matter.
IDENTITY = (
    *rows.MEASURED,
    "core_mhz",
    "rekeys",
    "simulated",
)
# The loads and the like that a test sets itself. Of other tests they are the result.
SET_BY_TEST = {
    "loss": ("load_pct",),
    "reset": ("reset",),
    "attack": ("attack", "attack_pct"),
    **dict.fromkeys(MEASURES_OF_IKE, ("figure_name",)),
    **dict.fromkeys(stateful.TESTS, ("figure_name", "object_bytes")),
}
FIGURES = {"load_pct": float, "throughput_pct": float, "loss_pct": float, "passed": bool}
LEAST_RUNS = 3  # that tell a spread
WORSE, FAILED, MISSING, BETTER, NEW, SAME = "worse", "failed", "missing", "better", "new", "same"
BAD = (WORSE, FAILED, MISSING)


@dataclass(frozen=True)
class Measure:
    """A figure that is compared in rows of `tests`, which `read` finds there or not.

    `sign` is 1 if more is better; `points` compares shares as they are, not in proportion.
    """

    name: str
    unit: str
    tests: tuple[str, ...]
    read: Callable[[dict], float | None]
    sign: int
    points: bool = False
    of_load: bool = False  # has a meaning only at the same load
    spread: str = ""  # the column with this figure of each repeated search


_RATES = ("throughput", "tunnels", "latency")  # whose load is a rate without loss
_IKE = tuple(MEASURES_OF_IKE)
_STATEFUL = tuple(stateful.TESTS)
_IKE_WITHOUT_LOSS = tuple(name for name in _IKE if name not in MAKES_LOSS)
_CALM = (*_RATES, "attack")  # and whose latency is that of boxes that keep up
MEASURES = (
    Measure("throughput", "% of line", _RATES, lambda r: r["throughput_pct"], 1, spread="throughput_runs_pct"),
    Measure("latency avg", "ns", _CALM, lambda r: (r["latency_ns"] or {}).get("avg"), -1, of_load=True),
    Measure("latency p99", "ns", _CALM, lambda r: (r["latency_ns"] or {}).get("p99"), -1, of_load=True),
    Measure("rate", "1/s", (*_IKE, *_STATEFUL), lambda r: _figure(r, "1/s"), 1, spread="figure_runs"),
    Measure("answers", "Gb/s", _STATEFUL, lambda r: _figure(r, "Gb/s"), 1, spread="figure_runs"),
    Measure("time", "ms", _IKE, lambda r: _figure(r, "ms"), -1, spread="figure_runs"),
    Measure("blocked time", "ns", _IKE, lambda r: _figure(r, "ns"), -1, spread="figure_runs"),
    Measure("loss", "%", (*_CALM, "loss", *_IKE_WITHOUT_LOSS), lambda r: r["loss_pct"], -1, points=True),
    Measure("burst", "frames", ("back-to-back",), lambda r: r["burst_frames"], 1, spread="burst_runs"),
    Measure("recovery", "ns", ("recovery",), lambda r: _never(r["recovery_ns"]), -1),
    Measure("outage", "ns", ("reset",), lambda r: _never(r["outage_ns"]), -1),
)
# Columns that a test's rows must have to be compared, beside those of all rows.
_OWN = {"back-to-back": ("burst_frames",), "recovery": ("recovery_ns",), "reset": ("outage_ns",)}


@dataclass
class Pair:
    """One row of both runs. `changes` is, of each measure that both have, before, after and the
    difference in percent."""

    key: tuple
    before: dict | None
    after: dict | None
    status: str = SAME
    changes: dict[str, tuple[float, float, float]] = field(default_factory=dict)


def _figure(row: dict, unit: str) -> float | None:
    """The figure of a row of IKE or of connections, if it has that unit."""
    return row["figure"] if row["unit"] == unit else None


def _never(time: float | None) -> float:
    """A time until traffic came back: without end if it did not."""
    return math.inf if time is None else time


def read(path: Path) -> list[dict]:
    """The rows of a file that `--json` wrote; for any other file an [InputError] that says why the
    file is wrong."""
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a file that rfc2544 --json wrote") from None
    except (UnicodeDecodeError, ValueError):
        raise InputError(f"{path} is not JSON; give a file that rfc2544 --json wrote") from None
    if not isinstance(found, list) or not found or not all(isinstance(row, dict) for row in found):
        raise InputError(f"{path} is no list of rows; give a file that rfc2544 --json wrote")
    for number, row in enumerate(found, 1):
        _check(path, number, row)
    return found


def _check(path: Path, number: int, row: dict) -> None:
    if row.get("schema") != rows.SCHEMA:
        has = f"has schema {row['schema']}" if "schema" in row else "has no schema"
        raise InputError(
            f"{path}: row {number} {has}, and this compares rows of schema {rows.SCHEMA}; make the file anew"
        )
    test = str(row.get("test"))
    for column in (*IDENTITY, *FIGURES, "latency_ns", *SET_BY_TEST.get(test, ()), *_OWN.get(test, ())):
        if column not in row:
            raise InputError(f"{path}: row {number} has no {column}; give a file that rfc2544 --json wrote")
    wrong = [name for name, kind in FIGURES.items() if not _is(row[name], kind)]
    wrong += [name for name in IDENTITY if not isinstance(row[name], str | int | float)]
    latency = row["latency_ns"]
    if latency is not None and not (
        isinstance(latency, dict) and all(_is(latency.get(key), float) for key in ("avg", "p99"))
    ):
        wrong.append("latency_ns")
    if wrong:
        raise InputError(
            f"{path}: {wrong[0]} of row {number} is {row[wrong[0]]!r}; give a file that rfc2544 --json wrote"
        )


def _is(value: object, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, bool)
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def threshold(text: str) -> Fraction:
    """`"1%"` or `"1"` as a number of percent."""
    try:
        value = Fraction(text.strip().removesuffix("%").strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"--threshold {text!r}: give a number of percent, such as 1%") from None
    if not 0 <= value <= 100:
        raise InputError(f"--threshold {text}: choose 0 to 100 percent")
    return value


def compare(before: list[dict], after: list[dict], limit: Fraction) -> list[Pair]:
    """Every row of both files, paired by the case that it measures; rows of the same case (several
    seeds) in their order."""
    left, right = _keyed(before), _keyed(after)
    pairs = [Pair(key, left.get(key), right.get(key)) for key in (left | right)]
    for pair in pairs:
        _judge(pair, limit)
    return pairs


def _keyed(found: list[dict]) -> dict[tuple, dict]:
    keyed: dict[tuple, dict] = {}
    for row in found:
        own = SET_BY_TEST.get(row["test"], ())
        if row["test"] == "latency":
            own = ("of_throughput_pct",) if row.get("of_throughput_pct") is not None else ("load_pct",)
        # Rows older than this column all have the only rate of their time.
        rate = row.get("line_rate_gbps", LINE_GBPS)
        goal = row.get("goal", "rfc2544")
        key, count = (*(row[name] for name in IDENTITY), rate, goal, *(row[name] for name in own)), 1
        while (*key, count) in keyed:
            count += 1
        keyed[(*key, count)] = row
    return keyed


def _judge(pair: Pair, limit: Fraction) -> None:
    before, after = pair.before, pair.after
    if before is None or after is None:
        pair.status = NEW if before is None else MISSING
        return
    same_load = abs(_change(before["load_pct"], after["load_pct"])) <= limit
    found = set()
    for measure in (each for each in MEASURES if after["test"] in each.tests):
        old, new = measure.read(before), measure.read(after)
        if old is None or new is None or (measure.of_load and not same_load):
            continue
        change = _change(old, new, measure.points)
        pair.changes[measure.name] = (old, new, change)
        if abs(change) > limit and not (measure.spread and _overlap(before, after, measure.spread)):
            found.add(BETTER if change * measure.sign > 0 else WORSE)
    pair.status = FAILED if verdict(after) is False else WORSE if WORSE in found else BETTER if found else SAME


def _overlap(before: dict, after: dict, column: str) -> bool:
    """Whether the repeated figures of two rows lie among each other, so that a difference may
    be chance."""
    left, right = before.get(column) or [], after.get(column) or []
    if min(len(left), len(right)) < LEAST_RUNS:
        return False
    return min(left) <= max(right) and min(right) <= max(left)


def _change(old: float, new: float, points: bool = False) -> float:
    """In percent of `old`, or in points; from none to some is without bound, and so is to never."""
    if old == new:
        return 0.0
    if old == 0 or math.isinf(new):
        return math.inf if new > old else -math.inf
    if math.isinf(old):
        return -math.inf
    return new - old if points else 100 * (new - old) / abs(old)
