# SPDX-License-Identifier: Apache-2.0
"""The settings of a test: those that all rows share in words, those that differ as columns."""

from __future__ import annotations

from sallyport.report.cells import count

# Of IKE daemons in front of simulated boxes, in the time of their machine.
TIMED = "timed by wall clock"
_WAYS = {"both": "both directions at once", "encrypt": "encrypt only", "decrypt": "decrypt only"}
_TITLES = {
    "boxes": "Boxes",
    "direction": "Direction",
    "suite": "Suite",
    "mode": "Mode",
    "ip": "IP",
    "nat_t": "NAT-T",
    "sas": "SAs",
    "tables": "Tables",
    "core_mhz": "Core MHz",
    "rekeys": "Rekeys",
    "seed": "Seed",
    "simulated": "Origin",
}


def origin(rows: list[dict]) -> str:
    """Where the figures come from; a report says it wherever it shows any."""
    found = {_origin(row) for row in rows}
    return " and ".join(words for words in ("simulated", TIMED, "measured") if words in found)


def _origin(row: dict) -> str:
    if not row["simulated"]:
        return "measured"
    return TIMED if row.get("clock") == "wall" else "simulated"


def varying(rows: list[dict], *but: str) -> list[str]:
    """The settings in which the rows differ, except those that a table has a column for anyway."""
    return [key for key in _TITLES if key not in but and len({str(row[key]) for row in rows}) > 1]


def title(key: str) -> str:
    """Of the column of a setting."""
    return _TITLES[key]


def show(row: dict, key: str) -> str:
    """A setting in a column of its own."""
    if key == "simulated":
        return origin([row])
    if key == "nat_t":
        return "yes" if row[key] else "no"
    return count(row[key]) if key in ("sas", "rekeys") else str(row[key])


def series(row: dict, keys: list[str]) -> str:
    """The settings `keys` in running text, of the legend of a plot."""
    words = {
        "boxes": lambda: "two boxes" if row["boxes"] == 2 else "one box",
        "direction": lambda: _WAYS[row["direction"]],
        "mode": lambda: f"{row['mode']} mode",
        "ip": lambda: f"IPv{row['ip']}",
        "nat_t": lambda: "ESP in UDP" if row["nat_t"] else "ESP in IP",
        "sas": lambda: f"{count(row['sas'])} SA{'s' if row['sas'] > 1 else ''} a direction",
        "tables": lambda: f"{row['tables']} tables",
        "core_mhz": lambda: f"a core clock of {row['core_mhz']:g} MHz",
        "rekeys": lambda: f"{count(row['rekeys'])} rekeys",
        "seed": lambda: f"seed {row['seed']}",
    }
    return ", ".join(words[key]() if key in words else show(row, key) for key in keys)


def describe(rows: list[dict]) -> str:
    """The boxes and what crosses them, in a line; where rows differ, that they do."""
    first, differ = rows[0], varying(rows)
    boxes = {1: "one box", 2: "two boxes back to back"}[first["boxes"]]
    parts = [
        "one box, and two back to back" if "boxes" in differ else boxes,
        *_said(first, differ, "direction", "several directions"),
        *_said(first, differ, "suite", "several suites"),
        *_said(first, differ, "mode", "tunnel and transport mode"),
        *_said(first, differ, "ip", "IPv4 and IPv6"),
        *(_said(first, differ, "nat_t", "with and without ESP in UDP") if first["nat_t"] or "nat_t" in differ else ()),
        *_said(first, differ, "sas", f"{count(min(r['sas'] for r in rows))} to {count(max(r['sas'] for r in rows))} SAs a direction"),
        *(_said(first, differ, "tables", "standard and full tables") if first["tables"] != "standard" or "tables" in differ else ()),
        *(_said(first, differ, "core_mhz", "several core clocks") if first["core_mhz"] != 300 or "core_mhz" in differ else ()),
        *(_said(first, differ, "rekeys", "with and without rekeys") if first["rekeys"] or "rekeys" in differ else ()),
    ]  # fmt: skip
    return ", ".join(parts)


def _said(row: dict, differ: list[str], key: str, several: str) -> tuple[str]:
    return (several if key in differ else series(row, [key]),)
