# SPDX-License-Identifier: Apache-2.0
"""LUT levels of the paths in a netlist that yosys has mapped to UltraScale+ primitives.

yosys's own `ltp` walks through registers; here a path goes from a clock edge or port to the next.
The hierarchy of modules is unfolded here and not by yosys, which would need some 50 GB for the
whole crypto core.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

# Cells whose outputs come from a clock edge. Everything else is walked through.
SEQUENTIAL = re.compile(r"^(FD[RSCP]E|LDCE|LDPE|SRL|SRLC|RAMB|URAM|FIFO|DSP)")
# Cells that cost one LUT level; distributed RAM reads like a LUT.
LUT_LIKE = re.compile(r"^(LUT[1-6]|RAM(32|64|128|256|512))")
# Pins that bring the clock of a register or memory; of block RAM two.
CLOCK_PIN = re.compile(r"^(C|CLK|WCLK|CLKARDCLK|CLKBWRCLK|CLKA|CLKB)$")
# Pins of a distributed RAM that belong to its (clocked) write port.
WRITE_PIN = re.compile(r"^(D|DI|WE|WCLK|DI[A-H]|ADDRH|ADDRD)$")


@dataclass
class Cell:
    """A primitive of one module: the bits that paths go through it from, those where they end,
    those it drives, its clocks."""

    kind: str
    name: str
    passed: list[int]
    ends: list[int]
    driven: list[int]
    clocks: list[int]
    is_through: bool

    @property
    def cost(self) -> int:
        return bool(LUT_LIKE.match(self.kind))


@dataclass
class Module:
    """One module of the netlist, read once however many instances it has."""

    cells: list[Cell] = field(default_factory=list)
    # Of each instance: its name, its module's, and of each of its port bits the bit it is joined
    # with here.
    instances: list[tuple[str, str, list[tuple[int, int]]]] = field(default_factory=list)
    ports: list[tuple[str, bool, list[int]]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)


def wires(bits: list) -> list[int]:
    """Without constants."""
    return [bit for bit in bits if isinstance(bit, int)]


def read_module(modules: dict, name: str) -> Module:
    source = modules[name]
    module = Module()
    for port, what in source["ports"].items():
        module.ports.append((port, what["direction"] == "input", wires(what["bits"])))
    for net, what in source["netnames"].items():
        if not what["hide_name"]:
            module.names.update((bit, net) for bit in wires(what["bits"]))
    for cell, what in source["cells"].items():
        kind = what["type"]
        if "blackbox" not in modules[kind]["attributes"]:
            inner = modules[kind]["ports"]
            joined = [
                (i, o)
                for pin, bits in what["connections"].items()
                # upper bits may be left open
                for i, o in zip(inner[pin]["bits"], bits, strict=False)
                if isinstance(i, int) and isinstance(o, int)
            ]
            module.instances.append((cell, kind, joined))
            continue
        through = not SEQUENTIAL.match(kind)
        passed, ends, driven, clocks = [], [], [], []
        for pin, bits in what["connections"].items():
            if what["port_directions"][pin] == "output":
                driven += wires(bits)
            elif CLOCK_PIN.match(pin):
                clocks += wires(bits)
            elif through and not (kind.startswith("RAM") and WRITE_PIN.match(pin)):
                passed += wires(bits)
            else:
                ends += wires(bits)
        module.cells.append(Cell(kind, cell, passed, ends, driven, clocks, through))
    return module


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
        self.levels: dict[int, int] = {}
        self.previous: dict[int, int | None] = {}
        self.unfold(top, "", {})
        self.drivers = {self.root(net): cell for net, cell in self.drivers.items()}
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
            for bit in primitive.driven if primitive.is_through else ():
                self.drivers[net(bit)] = len(self.cells)
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
            primitive, place, *_ = self.cells[cell]
            path.append(f"{primitive.kind} {self.places[place][0]}{primitive.name}")
            cell = self.previous[cell]
        return path[::-1]

    def deepest(self) -> tuple[int, list[str]]:
        """LUT levels of the longest path, and its cells from start to end."""
        cell = max(self.levels, key=self.levels.__getitem__, default=None)
        return (0 if cell is None else self.levels[cell]), self.path(cell)

    def ends(self) -> Iterator[tuple[str, str, int, int | None]]:
        """Every register, memory and output port with its clock, the levels of the longest path
        that ends there, and that path's last cell.

        A clock is named by the top's input port that it comes from; a port's clock is "". An end
        with two clocks is listed once for each.
        """
        _, top, nets = self.places[0]
        inputs = {
            self.root(nets[bit]): port for port, is_input, bits in top.ports if is_input for bit in bits if bit in nets
        }
        for port, is_input, bits in top.ports:
            if not is_input:
                yield port, "", *self.end([nets[bit] for bit in bits if bit in nets])
        for primitive, place, _, ends, clocks in self.cells:
            prefix, module, _ = self.places[place]
            held = next((module.names[bit] for bit in primitive.driven if bit in module.names), primitive.name)
            for clock in {self.source(net) for net in clocks} or {-1}:
                yield prefix + held, inputs.get(clock, ""), *self.end(ends)

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
