# SPDX-License-Identifier: Apache-2.0
"""Where a core's cells may be: in `core_slrs`, but for the parts, tables' banks and lanes to which
the board file gives SLRs of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

SLRS = 3
PATHS = ("encrypt", "decrypt")  # of the crypto chip
SLR_STAGE = "SlrStage"
FARM = "farm"  # in either path: dispatch and merge, the lanes and the ways to them
RESET = "core_reset"  # the stages of the core's reset in the fabric

# Stages of a way to a lane at the farm's end, whose logic they leave or enter.
NEAR_STAGES = (
    "io_far_*_stage",
    "stage",
    "stage_5",
    "io_near_in_ready_stage_2",
    "freed_stage_2",
    "out_io_in_stage_2",
    "lateBusy_stage_2",
)

Role = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Cells by the ends of their paths, where `*` is any text without a slash, and their SLRs."""

    name: str
    paths: tuple[str, ...]
    slrs: tuple[int, ...]
    kind: str  # a variant may lack some cells of a kind, but not all
    module: str = ""  # how their modules' names start

    def has(self, path: str, module: str) -> bool:
        return module.startswith(self.module) and self._pattern.search(path) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        paths = "|".join(re.escape(path).replace(r"\*", "[^/]*") for path in self.paths)
        return re.compile(f"(^|/)({paths})$")


def places(role: Role) -> list[Place]:
    """All of a chip. A cell's own place beats that of the cell around it, and a later one an
    earlier one."""
    return [
        Place(RESET, (f"{RESET}_stage*",), reset_slrs(role), "the core's reset", SLR_STAGE),
        *(Place(_name(path), (path,), tuple(slrs), f"part {path}") for path, slrs in _parts(role).items()),
        *(
            Place(_name(bank(table, number)), (bank(table, number),), (slr,), f"table {table}")
            for table, slrs in _tables(role).items()
            for number, slr in enumerate(slrs)
        ),
        *(place for path, slrs in _lanes(role).items() for place in _of_path(role["farm_slr"], path, slrs)),
    ]


def bank(table: str, number: int) -> str:
    """Of a RowMemory."""
    return f"{table}/banks_{number}"


def lane(path: str, number: int) -> str:
    return f"{path}/{FARM}/lane_{number}_far"


def slrs(role: Role) -> list[int]:
    """All that the core is in."""
    own = [slr for place in _apart(role) for slr in place]
    return sorted({*role["core_slrs"], *own})


def reach(found: Sequence[int]) -> int:
    """Borders between the outermost of some SLRs."""
    return max(found) - min(found)


def reset_slrs(role: Role) -> tuple[int, ...]:
    """From there one border at most leads to any cell of the core."""
    return (1,) if len(slrs(role)) == SLRS else tuple(role["core_slrs"])


def problems(role: Role) -> Iterator[str]:
    """Errors in the keys of one chip."""
    regions = {"core_slrs": role["core_slrs"], **{f"part {path}": found for path, found in _parts(role).items()}}
    banks = {f"table {table}": found for table, found in _tables(role).items()}
    lanes = {f"lane_slrs of {path}": found for path, found in _lanes(role).items()}
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
    for table, found in _tables(role).items():
        logic = _around(role, table)
        for number, slr in enumerate(found):
            if far := [other for other in logic if abs(other - slr) > 1]:
                yield (
                    f"bank {number} of table {table} in SLR{slr} is two borders away from SLR{far[0]}, where its"
                    " logic may be: give the table's part the SLR between them"
                )


def _lane_problems(role: Role) -> Iterator[str]:
    lanes = _lanes(role)
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


def _of_path(farm: int, path: str, found: Sequence[int]) -> Iterator[Place]:
    """Dispatch and merge in one SLR, each lane in its own, the stages between them in either but
    for those at the near end."""
    yield Place(f"{FARM}_{path}", (f"{path}/{FARM}",), (farm,), "farms")
    for number, slr in enumerate(found):
        between = tuple(sorted({farm, slr}))
        yield Place(f"way_{path}_{number}", (_way(path, number, "*"),), between, "ways to lanes", SLR_STAGE)
        yield Place(f"lane_{path}_{number}", (lane(path, number),), (slr,), "lanes")
    near = tuple(_way(path, "*", stage) for stage in NEAR_STAGES)
    yield Place(f"near_{path}", near, (farm,), "near ends of ways", SLR_STAGE)


def _way(path: str, number: int | str, stage: str) -> str:
    return f"{path}/{FARM}/lane_{number}_way/{stage}"


def _around(role: Role, table: str) -> list[int]:
    """SLRs of the logic of a table: those of the innermost part around it."""
    parts = [path for path in _parts(role) if f"{table}/".startswith(f"{path}/")]
    return _parts(role)[max(parts, key=len)] if parts else role["core_slrs"]


def _apart(role: Role) -> list[list[int]]:
    return [*_parts(role).values(), *_tables(role).values(), *_lanes(role).values()]


def _parts(role: Role) -> dict[str, list[int]]:
    return role.get("parts", {})


def _tables(role: Role) -> dict[str, list[int]]:
    return role.get("tables", {})


def _lanes(role: Role) -> dict[str, list[int]]:
    return role.get("lane_slrs", {})


def _name(path: str) -> str:
    return path.replace("/", "_")
