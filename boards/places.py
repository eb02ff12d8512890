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
PORTS = "core_ports"  # the stages in the fabric that are next to the core's ports
OUTSIDE = {RESET, PORTS}  # of the core

# Of a way into the core the last stage, of a way out of it the first one.
PORT_STAGES = (
    "io_rx_stage_2",
    "io_in_ready_stage_2",
    "pipe/io_out_stage",
    "io_link_rx_stage_2",
    "io_link_up_stage_2",
    "coreAsks_stage",
)

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
        Place(PORTS, PORT_STAGES, tuple(role["core_slrs"]), "stages at the core's ports", SLR_STAGE),
        *(Place(_name(path), (path,), tuple(slrs), f"part {path}") for path, slrs in parts_of(role).items()),
        *(
            Place(_name(bank(table, number)), (bank(table, number),), (slr,), f"table {table}")
            for table, slrs in tables_of(role).items()
            for number, slr in enumerate(slrs)
        ),
        *(place for path, slrs in lanes_of(role).items() for place in _of_path(role["farm_slr"], path, slrs)),
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


def _apart(role: Role) -> list[list[int]]:
    return [*parts_of(role).values(), *tables_of(role).values(), *lanes_of(role).values()]


def parts_of(role: Role) -> dict[str, list[int]]:
    return role.get("parts", {})


def tables_of(role: Role) -> dict[str, list[int]]:
    return role.get("tables", {})


def lanes_of(role: Role) -> dict[str, list[int]]:
    return role.get("lane_slrs", {})


def _name(path: str) -> str:
    return path.replace("/", "_")
