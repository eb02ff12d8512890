# SPDX-License-Identifier: Apache-2.0
"""LUT levels of the paths in a netlist that yosys has mapped to UltraScale+ primitives.

yosys's own `ltp` walks through registers; here a path goes from a clock edge or port to the next.
The hierarchy of modules is unfolded here and not by yosys, which would need some 50 GB for the
whole crypto core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from netlist import Cell, Module, Pin, read_module

OUT = Pin(0.0)


class Ending(NamedTuple):
    """Where paths end: a name, the module it is in, its clock, the nets that come in there, and of
    each the delay of its pin."""

    name: str
    module: str
    clock: str
    nets: list[int]
    pins: list[Pin]


class Paths:
    """The longest path to each net of a design: `modules` is a netlist as yosys writes it
    to JSON."""

    def __init__(self, modules: dict, top: str) -> None:
        self.modules = modules
        self.read: dict[str, Module] = {}
        self.joined: list[int] = []
        # For each primitive: its kind, its instance, and its nets: those that paths pass, those
        # where they end, its clocks.
        self.cells: list[tuple[Cell, int, list[int], list[int], list[int]]] = []
        self.places: list[tuple[str, Module, dict[int, int]]] = []
        self.drivers: dict[int, int] = {}
        # Of each net that a register or memory drives: that cell, and the delay from its clock.
        self.launches: dict[int, tuple[int, float]] = {}
        self.levels: dict[int, int] = {}
        self.previous: dict[int, int | None] = {}
        self.unfold(top, "", {})
        self.joined = [self.root(net) for net in range(len(self.joined))]
        self.drivers = {self.root(net): cell for net, cell in self.drivers.items()}
        self.launches = {self.root(net): start for net, start in self.launches.items()}
        for cell, (primitive, *_) in enumerate(self.cells):
            if primitive.is_through:
                self.measure(cell)

    def module(self, name: str) -> Module:
        if name not in self.read:
            self.read[name] = read_module(self.modules, name)
        return self.read[name]

    def new_net(self) -> int:
        self.joined.append(len(self.joined))
        return len(self.joined) - 1

    def root(self, net: int) -> int:
        """The net that stands for all that it is joined with through ports."""
        while self.joined[net] != net:
            self.joined[net] = net = self.joined[self.joined[net]]
        return net

    def unfold(self, name: str, prefix: str, nets: dict[int, int]) -> None:
        """Number the nets of one instance and list its primitives; `nets` holds those that its
        ports bring in."""
        module = self.module(name)
        place = len(self.places)
        self.places.append((prefix, module, nets))

        def net(bit: int) -> int:
            if bit not in nets:
                nets[bit] = self.new_net()
            return nets[bit]

        for primitive in module.cells:
            for bit, delay in zip(primitive.driven, primitive.launching, strict=True):
                if primitive.is_through:
                    self.drivers[net(bit)] = len(self.cells)
                else:
                    self.launches[net(bit)] = (len(self.cells), delay)
            passed, ends, clocks = (
                [net(bit) for bit in bits] for bits in (primitive.passed, primitive.ends, primitive.clocks)
            )
            self.cells.append((primitive, place, passed, ends, clocks))
        for instance, kind, pairs in module.instances:
            inside: dict[int, int] = {}
            for inner, outer in pairs:
                # A bit that two ports share joins the nets at both.
                if self.root(inside.setdefault(inner, net(outer))) != self.root(net(outer)):
                    self.joined[self.root(net(outer))] = self.root(inside[inner])
            self.unfold(kind, f"{prefix}{instance}.", inside)

    def before(self, nets: list[int]) -> set[int]:
        roots = map(self.root, nets)
        return {self.drivers[net] for net in roots if net in self.drivers}

    def measure(self, start: int) -> None:
        """Fill in `levels` and `previous` of a cell and of all before it."""
        stack = [] if start in self.previous else [start]
        while stack:
            cell = stack[-1]
            self.previous[cell] = None
            before = self.before(self.cells[cell][2])
            waiting = next((b for b in before if b not in self.previous), None)
            if waiting is not None:
                stack.append(waiting)
                continue
            # A cell that is still on the stack closes what only seems a loop: a carry chain is one
            # cell of many bits.
            best = max(before & self.levels.keys(), key=self.levels.__getitem__, default=None)
            self.previous[cell] = best
            self.levels[cell] = (0 if best is None else self.levels[best]) + self.cells[cell][0].cost
            stack.pop()

    def end(self, nets: list[int]) -> tuple[int, int | None]:
        """The levels of the longest path to one of some nets, and its last cell."""
        cell = max(self.before(nets), key=self.levels.__getitem__, default=None)
        return (0 if cell is None else self.levels[cell]), cell

    def path(self, cell: int | None) -> list[str]:
        """The cells of the longest path that ends with `cell`, from start to end."""
        path = []
        while cell is not None:
            path.append(f"{self.cells[cell][0].kind} {self.cell_name(cell)}")
            cell = self.previous[cell]
        return path[::-1]

    def cell_name(self, cell: int) -> str:
        primitive, place, *_ = self.cells[cell]
        return self.places[place][0] + primitive.name

    def deepest(self) -> tuple[int, list[str]]:
        """LUT levels of the longest path, and its cells from start to end."""
        cell = max(self.levels, key=self.levels.__getitem__, default=None)
        return (0 if cell is None else self.levels[cell]), self.path(cell)

    def endings(self) -> Iterator[Ending]:
        """Every register, memory and output port.

        A clock is named by the top's input port that it comes from; a port's clock is "". An end
        with two clocks is listed once for each.
        """
        _, top, nets = self.places[0]
        inputs = {
            self.root(nets[bit]): port for port, is_input, bits in top.ports if is_input for bit in bits if bit in nets
        }
        for port, is_input, bits in top.ports:
            if not is_input:
                reached = [nets[bit] for bit in bits if bit in nets]
                yield Ending(port, top.name, "", reached, len(reached) * [OUT])
        for primitive, place, _, ends, clocks in self.cells:
            prefix, module, _ = self.places[place]
            held = next((module.names[bit] for bit in primitive.driven if bit in module.names), primitive.name)
            for clock in {self.source(net) for net in clocks} or {-1}:
                yield Ending(prefix + held, module.name, inputs.get(clock, ""), ends, primitive.ending)

    def ends(self) -> Iterator[tuple[str, str, int, int | None]]:
        """Every end's name and clock, the levels of the longest path to it, and that path's last
        cell."""
        for ending in self.endings():
            yield ending.name, ending.clock, *self.end(ending.nets)

    def source(self, net: int) -> int:
        """Where a clock comes from: the net before its buffers."""
        net = self.root(net)
        while net in self.drivers:
            net = self.root(self.cells[self.drivers[net]][2][0])
        return net

    def by_clock(self) -> dict[str, int]:
        """Of each clock the levels of its longest path."""
        found: dict[str, int] = {}
        for _, clock, depth, _ in self.ends():
            found[clock] = max(depth, found.get(clock, 0))
        return found

    def deep_ends(self, most: Callable[[str], int]) -> dict[str, dict]:
        """Of the ends those of paths of more levels than `most` of their clock, the deepest first:
        the most levels of each, and the cells of that path from start to end."""
        found: dict[str, dict] = {}
        for name, clock, depth, cell in self.ends():
            if depth > max(most(clock), found.get(name, {"levels": 0})["levels"]):
                found[name] = {"levels": depth, "path": self.path(cell)}
        return dict(sorted(found.items(), key=lambda end: -end[1]["levels"]))
