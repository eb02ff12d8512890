"""LUT levels of the paths in a flat netlist that yosys has mapped to UltraScale+ primitives.

yosys's own `ltp` walks through registers; here a path goes from a clock edge or port to the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Cells whose outputs come from a clock edge. Everything else is walked through.
SEQUENTIAL = re.compile(r"^(FD[RSCP]E|LDCE|LDPE|SRL|SRLC|RAMB|URAM|FIFO|DSP)")
# Cells that cost one LUT level; distributed RAM reads like a LUT.
LUT_LIKE = re.compile(r"^(LUT[1-6]|RAM(32|64|128|256|512))")
# Pins of a distributed RAM that belong to its (clocked) write port.
WRITE_PIN = re.compile(r"^(D|DI|WE|WCLK|DI[A-H]|ADDRH|ADDRD)$")


class Paths:
    """The longest path to each cell that paths go through, of a module as yosys writes it to JSON."""

    def __init__(self, module: dict) -> None:
        self.cells: dict[str, dict] = module["cells"]
        self.nets: dict[str, dict] = module["netnames"]
        self.ports: dict[str, dict] = module["ports"]
        self.through = {name for name, cell in self.cells.items() if not SEQUENTIAL.match(cell["type"])}
        self.driver = {bit: name for name in self.through for bit in self.bits(name, self.is_output)}
        self.levels: dict[str, int] = {}
        self.previous: dict[str, str | None] = {}
        for name in self.through:
            self.measure(name)

    def bits(self, name: str, wanted: Callable[[str, str], bool]) -> list[int]:
        """The nets at those pins of a cell that are `wanted`."""
        pins = self.cells[name]["connections"].items()
        return [bit for pin, bits in pins if wanted(name, pin) for bit in bits]

    def is_output(self, name: str, pin: str) -> bool:
        return self.cells[name]["port_directions"].get(pin) == "output"

    def is_end(self, name: str, pin: str) -> bool:
        """Whether a path ends at this pin."""
        written = self.cells[name]["type"].startswith("RAM") and WRITE_PIN.match(pin)
        return not self.is_output(name, pin) and bool(name not in self.through or written)

    def is_passed(self, name: str, pin: str) -> bool:
        """Whether a path goes on from this pin to the cell's outputs."""
        return not self.is_output(name, pin) and not self.is_end(name, pin)

    def drivers(self, bits: list[int]) -> set[str]:
        return {self.driver[bit] for bit in bits if bit in self.driver}

    def measure(self, root: str) -> None:
        """Fill in `levels` and `previous` of a cell and of all before it."""
        stack = [] if root in self.previous else [root]
        while stack:
            name = stack[-1]
            self.previous[name] = None
            before = self.drivers(self.bits(name, self.is_passed))
            waiting = next((cell for cell in before if cell not in self.previous), None)
            if waiting:
                stack.append(waiting)
                continue
            # A cell that is still on the stack closes what only seems a loop: a carry chain is one cell of many bits.
            best = max(before & self.levels.keys(), key=self.levels.__getitem__, default=None)
            self.previous[name] = best
            self.levels[name] = self.most({best} if best else set()) + bool(LUT_LIKE.match(self.cells[name]["type"]))
            stack.pop()

    def most(self, cells: set[str]) -> int:
        return max((self.levels[cell] for cell in cells), default=0)

    def deepest(self) -> tuple[int, list[str]]:
        """LUT levels of the longest path, and its cells from start to end."""
        cell = max(self.levels, key=self.levels.__getitem__, default=None)
        levels = self.most({cell} if cell else set())
        path = []
        while cell:
            path.append(f"{self.cells[cell]['type']} {cell}")
            cell = self.previous[cell]
        return levels, path[::-1]

    def deep_ends(self, levels: int) -> dict[str, int]:
        """Registers, memories and ports where paths of more than so many levels end, by name, and the most of each."""
        # Of the names of a net the one deepest in the hierarchy: that of the register itself.
        visible = [name for name, net in self.nets.items() if not net["hide_name"]]
        names = {bit: name for name in sorted(visible, key=lambda n: n.count(".")) for bit in self.nets[name]["bits"]}
        found = [
            (name, self.most(self.drivers(port["bits"])))
            for name, port in self.ports.items()
            if port["direction"] != "input"
        ]
        for cell in self.cells:
            held = next((names[bit] for bit in self.bits(cell, self.is_output) if bit in names), cell)
            found.append((held, self.most(self.drivers(self.bits(cell, self.is_end)))))
        ends = dict(sorted(found, key=lambda end: end[1]))
        return {name: ends[name] for name in reversed(ends) if ends[name] > levels}
