"""Structural check of clock crossings on an elaborated netlist: which clocks' registers reach which clocks' registers, and where.

A register's clock is followed through buffers and module boundaries to a port of the top or to the pin of a cell that makes it; two
clocks are different if that differs, related or not. Modules are analysed once, in terms of their own ports, and the results put
together from the leaves to the top. A crossing is allowed

- into a register with the attribute ASYNC_REG, in a module that has a constraint beside it (docs: boards/README.md), and
- from a memory's write clock to its read clock, in such a module or below one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

ASYNC = ("async", "none")
BITWISE = {"$not", "$and", "$or", "$xor", "$xnor", "$mux", "$pos", "$_BUF_"}
REGISTER = re.compile(r"^\$(a|s|al)?dff")
LATCH = re.compile(r"^\$(a|s)?dlatch")

Bit = int | str
Symbol = tuple[
    str, str
]  # ("port", clock port), ("root", path of a pin that makes a clock), ("data", input port), ASYNC


class Crossing(NamedTuple):
    """Data of one clock that a register or memory of another one takes."""

    source: Symbol
    target: Symbol
    memory: bool


@dataclass
class Summary:
    """A module as its parents see it."""

    clocks: dict[str, Symbol] = field(default_factory=dict)  # outputs that are clocks
    sources: dict[str, set[Symbol]] = field(default_factory=dict)  # of each output's data
    sinks: dict[str, set[Symbol]] = field(default_factory=dict)  # clocks that take an input's data
    crossings: dict[Crossing, set[str]] = field(default_factory=lambda: defaultdict(set))


class CdcError(Exception):
    """Something in the netlist that this check cannot judge."""


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
            self.summaries[module] = _Module(self, module).analyse()
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
            found.append(f"{_tell(crossing.source)} reaches {what} of {_tell(crossing.target)}: {where}")
        for port, targets in summary.sinks.items():
            found += [f"pin {port} reaches a register of {_tell(target)} without a synchroniser" for target in targets]
        return sorted(found)


def _tell(symbol: Symbol) -> str:
    return "no clock" if symbol == ASYNC else symbol[1]


class _Module:
    """The analysis of one module. A node is a bit of a net, or one that stands for a cell all of whose inputs reach all outputs."""

    def __init__(self, checker: Checker, name: str) -> None:
        self.checker = checker
        self.name = name
        module = checker.modules[name]
        self.cells: dict[str, Any] = module["cells"]
        self.ports: dict[str, Any] = module["ports"]
        self.edges: dict[Any, list[Any]] = defaultdict(list)
        self.start: dict[Any, set[Symbol]] = defaultdict(set)
        self.sinks: list[tuple[Bit, Symbol, str]] = []
        self.memories: list[tuple[Symbol, list[Bit], str]] = []
        self.out = Summary()
        self.driver: dict[Bit, tuple[str, str, int]] = {}
        self.input_of: dict[Bit, str] = {}
        self.settling = {
            bit
            for net in module["netnames"].values()
            if str(net["attributes"].get("ASYNC_REG", "")).strip('"').upper() == "TRUE"
            for bit in net["bits"]
        }

    def analyse(self) -> Summary:
        self._index()
        for name, cell in self.cells.items():
            self._cell(name, cell)
        reached = self._propagate()
        self._resolve(reached)
        return self.out

    def _index(self) -> None:
        for port, entry in self.ports.items():
            if entry["direction"] != "output":
                for bit in entry["bits"]:
                    self.input_of[bit] = port
                    self.start[bit].add(("data", port))
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                if self._direction(cell, port) != "input":
                    for index, bit in enumerate(bits):
                        if not isinstance(bit, str):
                            self.driver[bit] = (name, port, index)

    def _direction(self, cell: dict[str, Any], port: str) -> str:
        if port in cell.get("port_directions", {}):
            return cell["port_directions"][port]
        return self.checker.modules[cell["type"]]["ports"][port]["direction"]

    # --- clocks ----------------------------------------------------------------------------------------------------------

    def clock(self, bit: Bit) -> Symbol | None:
        """Where a clock comes from; nothing if it is a constant."""
        while True:
            if isinstance(bit, str):
                return None
            if bit in self.input_of:
                return ("port", self.input_of[bit])
            if bit not in self.driver:
                return None
            name, port, index = self.driver[bit]
            cell = self.cells[name]
            box = self.checker.box(cell["type"])
            if box is not None and port in box.get("through", {}):
                bit = cell["connections"][box["through"][port]][index]
            elif box is None and cell["type"] in self.checker.modules:
                symbol = self.checker.summary(cell["type"]).clocks.get(port)
                if symbol is None:
                    return ("root", f"{name}.{port}")
                if symbol[0] != "port":
                    return ("root", f"{name}.{symbol[1]}")
                bit = cell["connections"][symbol[1]][0]
            else:
                return ("root", f"{name}.{port}")

    def _outer(self, symbol: Symbol, name: str, cell: dict[str, Any]) -> Symbol | None:
        """A submodule's clock as this module names it."""
        if symbol[0] == "port":
            return self._clock_of(cell, symbol[1])
        return ("root", f"{name}.{symbol[1]}") if symbol[0] == "root" else symbol

    def _clock_of(self, cell: dict[str, Any], port: str) -> Symbol | None:
        """The clock at an input of a cell; nothing if it is left open."""
        bits = cell["connections"].get(port, [])
        return self.clock(bits[0]) if bits else None

    # --- cells -----------------------------------------------------------------------------------------------------------

    def _cell(self, name: str, cell: dict[str, Any]) -> None:
        kind = cell["type"]
        box = self.checker.box(kind)
        if box is not None:
            self._black_box(name, cell, box)
        elif kind in self.checker.modules:
            self._instance(name, cell)
        elif REGISTER.match(kind):
            self._register(name, cell)
        elif LATCH.match(kind):
            raise CdcError(f"{self.name}: {name} is a latch, which has no clock")
        elif kind.startswith("$mem"):
            self._memory(name, cell)
        elif kind.startswith("$"):
            self._logic(name, cell)
        else:
            raise CdcError(f"{self.name}: {name} is a {kind}, of which there is no module")

    def _register(self, name: str, cell: dict[str, Any]) -> None:
        connections = cell["connections"]
        clock = self.clock(connections["CLK"][0])
        if clock is None:
            return
        for bit in connections["Q"]:
            self.start[bit].add(clock)
        if self.checker.is_allowed(self.name) and all(bit in self.settling for bit in connections["Q"]):
            self.checker.crossing_modules.add(self.name)
            return
        place = self._place(connections["Q"], name)
        for port, bits in connections.items():
            if port not in ("CLK", "Q"):
                self.sinks += [(bit, clock, place) for bit in bits]

    @cached_property
    def _names(self) -> dict[Bit, str]:
        """Bits to the names of the source's nets."""
        nets = self.checker.modules[self.name]["netnames"].items()
        return {bit: net for net, entry in nets if not entry.get("hide_name") for bit in entry["bits"]}

    def _place(self, bits: list[Bit], name: str) -> str:
        """The net that a register drives: the register's name in the source."""
        return next((self._names[bit] for bit in bits if bit in self._names), name)

    def _memory(self, name: str, cell: dict[str, Any]) -> None:
        connections, parameters = cell["connections"], cell["parameters"]
        write_clocks = [clock for bit in connections["WR_CLK"] if (clock := self.clock(bit))]
        enabled = str(parameters["RD_CLK_ENABLE"])
        read_clocks = [clock for bit in connections["RD_CLK"] if (clock := self.clock(bit))] if "1" in enabled else []
        for clock in write_clocks:
            for port in ("WR_ADDR", "WR_DATA", "WR_EN"):
                self.sinks += [(bit, clock, name) for bit in connections[port]]
            for read in read_clocks:
                if read != clock:
                    self.out.crossings[Crossing(clock, read, True)].add(name)
            if not read_clocks:
                self.memories.append((clock, connections["RD_ADDR"], name))
        node = ("memory", name)
        if read_clocks:
            self.start[node] |= set(read_clocks)
            for clock in read_clocks:
                self.sinks += [(bit, clock, name) for port in ("RD_ADDR", "RD_EN") for bit in connections[port]]
        else:
            for bit in connections["RD_ADDR"]:
                self.edges[bit].append(node)
        self.edges[node] += connections["RD_DATA"]

    def _logic(self, name: str, cell: dict[str, Any]) -> None:
        inputs = {port: bits for port, bits in cell["connections"].items() if self._direction(cell, port) == "input"}
        outputs = [bit for port, bits in cell["connections"].items() if port not in inputs for bit in bits]
        if cell["type"] in BITWISE:
            for bits in inputs.values():
                for index, output in enumerate(outputs):
                    self.edges[bits[index if index < len(bits) else -1]].append(output)
            return
        node = ("logic", name)
        for bits in inputs.values():
            for bit in bits:
                self.edges[bit].append(node)
        self.edges[node] += outputs

    def _black_box(self, name: str, cell: dict[str, Any], box: dict[str, Any]) -> None:
        connections = cell["connections"]
        for output, source in box.get("through", {}).items():
            for index, bit in enumerate(connections.get(output, [])):
                self.edges[connections[source][index]].append(bit)
        for clock_port, patterns in box.get("clocks", {}).items():
            clock = ASYNC if clock_port == "async" else self._box_clock(name, cell, clock_port)
            for port, bits in connections.items():
                if port in box["clocks"] or not any(fnmatchcase(port, pattern) for pattern in patterns):
                    continue
                if self._direction(cell, port) == "output":
                    for bit in bits:
                        self.start[bit].add(clock or ASYNC)
                elif clock not in (ASYNC, None):
                    self.sinks += [(bit, clock, f"{name}.{port}") for bit in bits]

    def _box_clock(self, name: str, cell: dict[str, Any], port: str) -> Symbol | None:
        if self._direction(cell, port) == "output":
            return ("root", f"{name}.{port}")
        return self._clock_of(cell, port)

    def _instance(self, name: str, cell: dict[str, Any]) -> None:
        inner = self.checker.summary(cell["type"])
        connections = cell["connections"]
        for port, symbols in inner.sources.items():
            for symbol in symbols:
                if symbol[0] == "data":
                    node = ("through", name, port, symbol[1])
                    for bit in connections.get(symbol[1], []):
                        self.edges[bit].append(node)
                    self.edges[node] += connections.get(port, [])
                elif outer := self._outer(symbol, name, cell):
                    for bit in connections.get(port, []):
                        self.start[bit].add(outer)
        for port, targets in inner.sinks.items():
            for target in targets:
                if outer := self._outer(target, name, cell):
                    self.sinks += [(bit, outer, f"{name}.{port}") for bit in connections.get(port, [])]
        for crossing, places in inner.crossings.items():
            if crossing.memory and self.checker.is_allowed(self.name):
                self.checker.crossing_modules.add(self.name)
                continue
            source, target = self._outer(crossing.source, name, cell), self._outer(crossing.target, name, cell)
            if source and target and source != target:
                self.out.crossings[Crossing(source, target, crossing.memory)] |= {f"{name}.{place}" for place in places}

    # --- results ---------------------------------------------------------------------------------------------------------

    def _propagate(self) -> dict[Any, set[Symbol]]:
        reached: dict[Any, set[Symbol]] = defaultdict(set)
        todo = [(node, symbols) for node, symbols in self.start.items()]
        while todo:
            node, symbols = todo.pop()
            if isinstance(node, str):
                continue
            fresh = symbols - reached[node]
            if fresh:
                reached[node] |= fresh
                todo += [(following, fresh) for following in self.edges[node]]
        return reached

    def _resolve(self, reached: dict[Any, set[Symbol]]) -> None:
        for bit, clock, place in self.sinks:
            for symbol in reached.get(bit, ()):
                if symbol[0] == "data":
                    self.out.sinks.setdefault(symbol[1], set()).add(clock)
                elif symbol != clock:
                    self.out.crossings[Crossing(symbol, clock, False)].add(place)
        for written, address, place in self.memories:
            for clock in {symbol for bit in address for symbol in reached.get(bit, ()) if symbol[0] != "data"}:
                if clock != written:
                    self.out.crossings[Crossing(written, clock, True)].add(place)
        if self.checker.is_allowed(self.name):
            for crossing in [crossing for crossing in self.out.crossings if crossing.memory]:
                del self.out.crossings[crossing]
                self.checker.crossing_modules.add(self.name)
        for port, entry in self.ports.items():
            if entry["direction"] != "input":
                self.out.sources[port] = set().union(*(reached.get(bit, set()) for bit in entry["bits"]))
                clock = self.clock(entry["bits"][0]) if len(entry["bits"]) == 1 else None
                if clock is not None:
                    self.out.clocks[port] = clock
