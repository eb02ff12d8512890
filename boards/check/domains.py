# SPDX-License-Identifier: Apache-2.0
"""The clock domains of one module of a netlist, in terms of its own ports: what boards/check/cdc.py
puts together."""

from __future__ import annotations

import re
from collections import defaultdict
from fnmatch import fnmatchcase
from typing import Any

from boards.check.clocks import REGISTER, Nets
from boards.check.design import (
    ASYNC,
    WRITTEN,
    Bit,
    CdcError,
    Crossing,
    Design,
    Settling,
    Summary,
    Symbol,
    tell,
    written,
)

BITWISE = {"$not", "$and", "$or", "$xor", "$xnor", "$mux", "$pos", "$_BUF_"}
LATCH = re.compile(r"^\$(a|s)?dlatch")


class Module(Nets):
    """The analysis of one module. A node is a bit of a net, or one that stands for a cell all of
    whose inputs reach all outputs."""

    def __init__(self, design: Design, name: str) -> None:
        super().__init__(design, name)
        self.edges: dict[Any, list[Any]] = defaultdict(list)
        self.start: dict[Any, set[Symbol]] = defaultdict(set)
        self.sinks: list[tuple[Bit, Symbol, str]] = []
        self.settlings: list[tuple[Bit, Settling]] = []
        self.mixed_start: dict[Any, set[Symbol]] = defaultdict(set)
        self.out = Summary()

    def analyse(self) -> Summary:
        for bit, port in self.input_of.items():
            self.start[bit].add(("data", port))
        for name, cell in self.cells.items():
            self._cell(name, cell)
        reached = self._propagate(self.start)
        for node, symbols in reached.items():
            if isinstance(node, tuple) and node[0] == "logic":
                self.mixed_start[node] |= symbols
        mixed = self._propagate(self.mixed_start)
        self._resolve(reached)
        self._resolve_settlings(reached, mixed)
        return self.out

    # --- cells ------------------------------------------------------------------------------------

    def _cell(self, name: str, cell: dict[str, Any]) -> None:
        kind = cell["type"]
        box = self.design.box(kind)
        if box is not None:
            self._black_box(name, cell, box)
        elif kind in self.design.modules:
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
            raise CdcError(f"{self.name}: {name} is a {kind}, and no module has that name")

    def _register(self, name: str, cell: dict[str, Any]) -> None:
        connections = cell["connections"]
        clock = self.clock(connections["CLK"][0])
        if clock is None:
            return
        for bit in connections["Q"]:
            self.start[bit].add(clock)
        place = self.place(connections["Q"], name)
        settles = self.design.is_allowed(self.name) and self.is_settling(cell)
        if settles:
            self.design.crossing_modules.add(self.name)
            self.settlings += [(bit, Settling(clock, place, False)) for bit in connections["D"]]
        # A synchroniser's data and asynchronous set may be another clock's; its enable and reset
        # may not.
        controls = ("EN", "SRST") if settles else connections.keys() - {"CLK", "Q"}
        for port, bits in connections.items():
            if port in controls:
                self.sinks += [(bit, clock, place) for bit in bits]

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
        node = ("memory", name)
        if read_clocks:
            self.start[node] |= set(read_clocks)
            for clock in read_clocks:
                self.sinks += [(bit, clock, name) for port in ("RD_ADDR", "RD_EN") for bit in connections[port]]
        else:
            # The register is behind the memory or before its address; it takes data that
            # was written.
            self.start[node] |= {written(clock) for clock in write_clocks}
            for bit in connections["RD_ADDR"]:
                self.edges[bit].append(node)
        self.edges[node] += connections["RD_DATA"]

    def _logic(self, name: str, cell: dict[str, Any]) -> None:
        inputs = {port: bits for port, bits in cell["connections"].items() if self.direction(cell, port) == "input"}
        outputs = [bit for port, bits in cell["connections"].items() if port not in inputs for bit in bits]
        if cell["type"] in BITWISE:
            for bits in inputs.values():
                for index, output in enumerate(outputs):
                    node = output if len(inputs) == 1 else ("logic", name, index)
                    self.edges[bits[index if index < len(bits) else -1]].append(node)
                    if node != output:
                        self.edges[node] = [output]
            return
        # An inverter of one bit makes no glitches.
        node = ("wire" if sum(map(len, inputs.values())) == 1 else "logic", name)
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
                if self.direction(cell, port) == "output":
                    for bit in bits:
                        self.start[bit].add(clock or ASYNC)
                elif clock not in (ASYNC, None):
                    self.sinks += [(bit, clock, f"{name}.{port}") for bit in bits]

    def _box_clock(self, name: str, cell: dict[str, Any], port: str) -> Symbol | None:
        if self.direction(cell, port) == "output":
            return ("root", f"{name}.{port}")
        return self.clock_of(cell, port)

    def _instance(self, name: str, cell: dict[str, Any]) -> None:
        inner = self.design.summaries[cell["type"]]
        connections = cell["connections"]
        for port, symbols in inner.sources.items():
            for symbol in symbols:
                if symbol[0] == "data":
                    node = ("logic" if symbol in inner.mixed.get(port, ()) else "wire", name, port, symbol[1])
                    for bit in connections.get(symbol[1], []):
                        self.edges[bit].append(node)
                    self.edges[node] += connections.get(port, [])
                elif outer := self.outer(symbol, name, cell):
                    for bit in connections.get(port, []):
                        self.start[bit].add(outer)
                        if symbol in inner.mixed.get(port, ()):
                            self.mixed_start[bit].add(outer)
        self.out.glitches |= {f"{text}, in {name}" for text in inner.glitches}
        for port, places in inner.settles.items():
            for settling in places:
                if outer := self.outer(settling.clock, name, cell):
                    here = Settling(outer, f"{name}.{settling.place}", settling.mixed)
                    self.settlings += [(bit, here) for bit in connections.get(port, [])]
        for port, targets in inner.sinks.items():
            for target in targets:
                if outer := self.outer(target, name, cell):
                    self.sinks += [(bit, outer, f"{name}.{port}") for bit in connections.get(port, [])]
        for crossing, places in inner.crossings.items():
            if crossing.memory and self.design.is_allowed(self.name):
                self.design.crossing_modules.add(self.name)
                continue
            source, target = self.outer(crossing.source, name, cell), self.outer(crossing.target, name, cell)
            if source and target and source != target:
                self.out.crossings[Crossing(source, target, crossing.memory)] |= {f"{name}.{place}" for place in places}

    # --- results ----------------------------------------------------------------------------------

    def _propagate(self, start: dict[Any, set[Symbol]]) -> dict[Any, set[Symbol]]:
        reached: dict[Any, set[Symbol]] = defaultdict(set)
        todo = list(start.items())
        while todo:
            node, symbols = todo.pop()
            if isinstance(node, str):
                continue
            fresh = symbols - reached[node]
            if fresh:
                reached[node] |= fresh
                todo += [(following, fresh) for following in self.edges[node]]
        return reached

    def _resolve_settlings(self, reached: dict[Any, set[Symbol]], mixed: dict[Any, set[Symbol]]) -> None:
        for bit, settling in self.settlings:
            for symbol in reached.get(bit, ()):
                is_mixed = settling.mixed or symbol in mixed.get(bit, ())
                if symbol[0] == "data":
                    self.out.settles.setdefault(symbol[1], set()).add(settling._replace(mixed=is_mixed))
                elif symbol != settling.clock and is_mixed:
                    self.out.glitches.add(f"{tell(symbol)} comes through logic to {settling.place}")
        for port, entry in self.ports.items():
            if entry["direction"] != "input":
                self.out.mixed[port] = set().union(*(mixed.get(bit, set()) for bit in entry["bits"]))

    def _resolve(self, reached: dict[Any, set[Symbol]]) -> None:
        for bit, clock, place in self.sinks:
            for symbol in reached.get(bit, ()):
                if symbol[0] == "data":
                    self.out.sinks.setdefault(symbol[1], set()).add(clock)
                elif symbol not in (clock, written(clock)):
                    source = (symbol[0].removesuffix(WRITTEN), symbol[1])
                    self.out.crossings[Crossing(source, clock, source != symbol)].add(place)
        if self.design.is_allowed(self.name):
            for crossing in [crossing for crossing in self.out.crossings if crossing.memory]:
                del self.out.crossings[crossing]
                self.design.crossing_modules.add(self.name)
        for port, entry in self.ports.items():
            if entry["direction"] != "input":
                self.out.sources[port] = set().union(*(reached.get(bit, set()) for bit in entry["bits"]))
                clock = self.clock(entry["bits"][0]) if len(entry["bits"]) == 1 else None
                if clock is not None:
                    self.out.clocks[port] = clock
