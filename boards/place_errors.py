# SPDX-License-Identifier: Apache-2.0
"""Errors in the floorplan of a board file, a sentence each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from boards.places import PATHS, SLRS, Role, lanes_of, parts_of, places, reach, tables_of

# Of a chip; those with an asterisk must be there.
KEYS = ("mac", "links*", "core_slrs*", "parts", "tables", "farm_slr", "lane_slrs")
BY_PATH = ("parts", "tables", "lane_slrs")
RESERVED = {"core", "mac", "pcie"}  # names of other pblocks


def problems(role: Role) -> Iterator[str]:
    """Errors in the keys of one chip; the first one ends it."""
    yield from _shape_problems(role)
    regions = {"core_slrs": role["core_slrs"], **{f"part {path}": found for path, found in parts_of(role).items()}}
    banks = {f"table {table}": found for table, found in tables_of(role).items()}
    lanes = {f"lane_slrs of {path}": found for path, found in lanes_of(role).items()}
    for what, found in (regions | banks | lanes).items():
        if not found or not set(found) <= set(range(SLRS)):
            yield f"{what} has SLRs {found}: give one or more of 0 to {SLRS - 1}"
    for what, found in regions.items():
        if found and reach(found) > 1:
            yield (
                f"{what} has SLRs {found}, which span two borders: give one, or two side by side, and name what is"
                " elsewhere in parts, tables or lane_slrs"
            )
    yield from _lane_problems(role)
    yield from _name_problems(role)
    for table, found in tables_of(role).items():
        logic = _around(role, table)
        for number, slr in enumerate(found):
            if far := [other for other in logic if abs(other - slr) > 1]:
                yield (
                    f"bank {number} of table {table} in SLR{slr} is two borders away from SLR{far[0]}, where its"
                    " logic may be: give the table's part the SLR between them"
                )


def _lane_problems(role: Role) -> Iterator[str]:
    lanes = lanes_of(role)
    if ("farm_slr" in role) != bool(lanes):
        yield "give both farm_slr and lane_slrs, or none"
        return
    for path, found in lanes.items():
        if path not in PATHS:
            yield f"lane_slrs has {path}, which is none of {', '.join(PATHS)}"
        farm = role["farm_slr"]
        for number, slr in enumerate(found):
            if abs(slr - farm) > 1:
                yield (
                    f"{path} lane {number} in SLR{slr} is two borders away from SLR{farm}, its farm_slr: a way crosses"
                    " one"
                )


def _shape_problems(role: Role) -> Iterator[str]:
    """Keys that there are not, or whose values are of another kind."""
    names = [key.removesuffix("*") for key in KEYS]
    yield from (f"{key} missing" for key in names if f"{key}*" in KEYS and key not in role)
    yield from (f"unknown key {key}: choose of {', '.join(names)}" for key in role if key not in names)
    if not _is_slrs(role["core_slrs"]):
        yield f"core_slrs is {role['core_slrs']!r}: give a list of SLRs, such as [1, 2]"
    if "farm_slr" in role and role["farm_slr"] not in range(SLRS):
        yield f"farm_slr is {role['farm_slr']!r}: give one of 0 to {SLRS - 1}"
    for key in BY_PATH:
        values = role.get(key, {})
        if not isinstance(values, dict):
            yield f"{key} is {values!r}: give lists of SLRs by the paths of cells"
        yield from (
            f"{path} in {key} is {found!r}: give a list of SLRs"
            for path, found in values.items()
            if not _is_slrs(found)
        )


def _is_slrs(value: Any) -> bool:
    return isinstance(value, list) and all(type(slr) is int for slr in value)


def _name_problems(role: Role) -> Iterator[str]:
    """Pblocks have names of their own."""
    for name, count in Counter(place.name for place in places(role)).items():
        if count > 1 or name in RESERVED:
            yield f"two pblocks would be called {name}: give one of the paths under parts or tables another cell"


def _around(role: Role, table: str) -> list[int]:
    """SLRs of the logic of a table: those of the innermost part around it."""
    parts = [path for path in parts_of(role) if f"{table}/".startswith(f"{path}/")]
    return parts_of(role)[max(parts, key=len)] if parts else role["core_slrs"]
