"""Structural check of clock crossings on an elaborated netlist: which clocks' registers reach which clocks' registers, and where.

A register's clock is followed through buffers and module boundaries to a port of the top or to the pin of a cell that makes it; two
clocks are different if that differs, related or not. Modules are analysed once, in terms of their own ports, and the results put
together from the leaves to the top. A crossing is allowed

- into a register with the attribute ASYNC_REG, in a module that has a constraint beside it (docs/reference/boards.md); what comes to its
  data input comes from a register or a pin and not through logic, whose glitches it would take for values, and
- from a memory's write clock to its read clock, in such a module or below one.
"""

from __future__ import annotations

import re
from typing import Any

from boards.check.clocks import CdcError, Summary, tell
from boards.check.domains import Module


class Checker:
    """`boxes`: black boxes with their `clocks` or `through` (boards/ip, check/primitives.yaml); `allowed`: the crossing modules."""

    def __init__(self, modules: dict[str, Any], boxes: dict[str, dict[str, Any]], allowed: set[str]) -> None:
        self.modules = modules
        self.boxes = boxes
        self.allowed = allowed
        self.summaries: dict[str, Summary] = {}
        self.crossing_modules: set[str] = set()

    def is_allowed(self, module: str) -> bool:
        return re.sub(r"_\d+$", "", module) in self.allowed or module in self.allowed

    def summary(self, module: str) -> Summary:
        if module not in self.summaries:
            self.summaries[module] = Module(self, module).analyse()
        return self.summaries[module]

    def box(self, kind: str) -> dict[str, Any] | None:
        if kind in self.boxes:
            return self.boxes[kind]
        if kind in self.modules and "blackbox" in self.modules[kind]["attributes"]:
            raise CdcError(
                f"{kind} is a black box whose ports' clocks nobody tells: add it to boards/check/primitives.yaml"
            )
        return None

    def problems(self, top: str) -> list[str]:
        """Every crossing that is not allowed; pins without a clock count as a clock of their own."""
        summary = self.summary(top)
        found = []
        for crossing, places in summary.crossings.items():
            where = ", ".join(sorted(places)[:5]) + (f" and {len(places) - 5} more" if len(places) > 5 else "")
            what = "a memory" if crossing.memory else "a register"
            found.append(f"{tell(crossing.source)} reaches {what} of {tell(crossing.target)}: {where}")
        for port, targets in summary.sinks.items():
            found += [f"pin {port} reaches a register of {tell(target)} without a synchroniser" for target in targets]
        for port, places in summary.settles.items():
            found += [f"pin {port} comes through logic to {settling.place}" for settling in places if settling.mixed]
        return sorted([*found, *summary.glitches])
