# SPDX-License-Identifier: Apache-2.0
"""What a check of clock crossings knows of a netlist: its modules, the given facts about black
boxes, and each module's summary."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ASYNC = ("async", "none")
WRITTEN = "-written"
Bit = int | str
# ("port", clock port), ("root", path of a pin that makes a clock), ("data", input port), or ASYNC;
# with WRITTEN behind its first word a clock is that of writes into a memory, whose contents this is
Symbol = tuple[str, str]


class Crossing(NamedTuple):
    """Data of one clock that a register or memory of another one takes."""

    source: Symbol
    target: Symbol
    memory: bool


class Settling(NamedTuple):
    """The data input of a synchroniser's first register; whether there is logic before it."""

    clock: Symbol
    place: str
    mixed: bool


@dataclass
class Summary:
    """A module as its parents see it."""

    clocks: dict[str, Symbol] = field(default_factory=dict)  # outputs that are clocks
    sources: dict[str, set[Symbol]] = field(default_factory=dict)  # of each output's data
    sinks: dict[str, set[Symbol]] = field(default_factory=dict)  # clocks that take an input's data
    crossings: dict[Crossing, set[str]] = field(default_factory=lambda: defaultdict(set))
    # those of `sources` that come through logic
    mixed: dict[str, set[Symbol]] = field(default_factory=dict)
    # where an input's data is made another clock's
    settles: dict[str, set[Settling]] = field(default_factory=dict)
    glitches: set[str] = field(default_factory=set)


class CdcError(Exception):
    """Something in the netlist that this check cannot judge."""


def written(clock: Symbol) -> Symbol:
    return (clock[0] + WRITTEN, clock[1])


def tell(symbol: Symbol) -> str:
    return "no clock" if symbol == ASYNC else symbol[1]


class Design:
    """`boxes`: black boxes with their `clocks` or `through` (boards/ip, check/primitives.yaml);
    `allowed`: the crossing modules."""

    def __init__(self, modules: dict[str, Any], boxes: dict[str, dict[str, Any]], allowed: set[str]) -> None:
        self.modules = modules
        self.boxes = boxes
        self.allowed = allowed
        self.summaries: dict[str, Summary] = {}  # of the modules that were analysed, leaves first
        self.crossing_modules: set[str] = set()  # those of `allowed` that a crossing is in

    def is_allowed(self, module: str) -> bool:
        return re.sub(r"_\d+$", "", module) in self.allowed or module in self.allowed

    def box(self, kind: str) -> dict[str, Any] | None:
        if kind in self.boxes:
            return self.boxes[kind]
        if kind in self.modules and "blackbox" in self.modules[kind]["attributes"]:
            raise CdcError(
                f"{kind} is a black box without the clocks of its ports: add it to boards/check/primitives.yaml"
            )
        return None
