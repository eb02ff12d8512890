# SPDX-License-Identifier: Apache-2.0
"""Structural check of clock crossings on an elaborated netlist: which clocks' registers reach which
clocks' registers, and where.

A register's clock is followed through buffers and module boundaries to a port of the top or to the
pin of a cell that makes it; two clocks are different if that differs, related or not. Modules are
analysed once, in terms of their own ports, and the results put together from the leaves to the top.
A crossing is allowed

- into a register with the attribute ASYNC_REG, in a module that has a constraint beside it
  (docs/reference/boards.md), and
- from a memory's write clock to its read clock, in such a module or below one.

A register or a pin feeds the data input of such a register, and no logic, whose glitches it would
take for values.
"""

from __future__ import annotations

from boards.check.design import Design, Summary, tell
from boards.check.domains import Module


class Checker(Design):
    """A design whose modules are analysed when they are asked for, those that they hold
    before them."""

    def summary(self, module: str) -> Summary:
        if module not in self.summaries:
            for kind in {cell["type"] for cell in self.modules[module]["cells"].values()}:
                if self.box(kind) is None and kind in self.modules:
                    self.summary(kind)
            self.summaries[module] = Module(self, module).analyse()
        return self.summaries[module]

    def problems(self, top: str) -> list[str]:
        """Every crossing that is not allowed; pins without a clock count as a clock of
        their own."""
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
