# SPDX-License-Identifier: Apache-2.0
"""Where values go within a cycle: through logic, and through modules that have no register on
the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from boards.check.clocks import REGISTER
from boards.check.design import Bit

Pin = tuple[str, str | None]  # of a cell; None is all of its pins
Node = Hashable
CLOCKS = {"CLK", "clock"}


@dataclass(frozen=True)
class Through:
    """A module as its parents see it."""

    ways: dict[str, set[str]]  # of each output the inputs that lead there in the same cycle
    driven: set[str]  # outputs with a register before them
    held: set[str]  # inputs with a register behind them


@dataclass
class Graph:
    """A node is a bit of a net, in whatever form, or a pin."""

    edges: dict[Node, list[Node]] = field(default_factory=lambda: defaultdict(list))
    starts: list[tuple[Node, Pin]] = field(default_factory=list)  # a bit that a register drives
    ends: list[Pin] = field(default_factory=list)

    def link(self, before: Node, behind: Node) -> None:
        self.edges[before].append(behind)


class Ways:
    """The modules of a netlist of yosys's, whose processes are resolved."""

    def __init__(self, modules: dict[str, Any]) -> None:
        self.modules = modules
        self._known: dict[str, Through] = {}

    def of(self, name: str) -> Through:
        if name not in self._known:
            box = "blackbox" in self.modules[name]["attributes"]
            self._known[name] = self._box(name) if box else self._follow(name)
        return self._known[name]

    def ports(self, name: str, *directions: str) -> dict[str, list[Bit]]:
        """Without clocks."""
        ports = self.modules[name]["ports"].items()
        return {port: it["bits"] for port, it in ports if it["direction"] in directions and port not in CLOCKS}

    def add(self, graph: Graph, at: str, cell: dict[str, Any], bit: Callable[[Bit], Node]) -> None:
        """A cell, an instance by its `Through`; `at` is its name."""
        kind = cell["type"]
        inputs, outputs = self._connections(cell)
        if kind in self.modules:
            self._instance(graph, at, self.of(kind), inputs, outputs, bit)
            return
        stores = REGISTER.match(kind) or kind.startswith("$memwr")
        for each in inputs.values():
            for one in each:
                graph.link(bit(one), (at, None))
        if stores:
            graph.ends.append((at, None))
        for each in outputs.values():
            for one in each:
                if not stores:
                    graph.link((at, None), bit(one))
                if stores or kind.startswith("$memrd"):
                    graph.starts.append((bit(one), (at, None)))

    def _instance(
        self,
        graph: Graph,
        at: str,
        through: Through,
        inputs: dict[str, list[Bit]],
        outputs: dict[str, list[Bit]],
        bit: Callable[[Bit], Node],
    ) -> None:
        for port, bits in inputs.items():
            for one in bits:
                graph.link(bit(one), (at, port))
            if port in through.held:
                graph.ends.append((at, port))
        for port, bits in outputs.items():
            for one in bits:
                for before in through.ways[port]:
                    graph.link((at, before), bit(one))
                if port in through.driven:
                    graph.starts.append((bit(one), (at, port)))

    def _connections(self, cell: dict[str, Any]) -> tuple[dict[str, list[Bit]], dict[str, list[Bit]]]:
        """Inputs and outputs, without clocks and constants."""
        inputs: dict[str, list[Bit]] = {}
        outputs: dict[str, list[Bit]] = {}
        for port, bits in cell["connections"].items():
            if port not in CLOCKS:
                side = outputs if cell["port_directions"][port] == "output" else inputs
                side[port] = [bit for bit in bits if isinstance(bit, int)]
        return inputs, outputs

    def _box(self, name: str) -> Through:
        """Registers behind its inputs and before its outputs, as a lane has."""
        outputs = self.ports(name, "output")
        return Through({port: set() for port in outputs}, set(outputs), set(self.ports(name, "input")))

    def _follow(self, name: str) -> Through:
        graph = Graph()
        for cell_name, cell in self.modules[name]["cells"].items():
            self.add(graph, cell_name, cell, lambda bit: bit)
        inputs = self.ports(name, "input", "inout")
        # A mask has bit 0 for a register, and one for each input.
        masks = {port: 2 << number for number, port in enumerate(inputs)}
        todo: list[tuple[Node, int]] = [(bit, masks[port]) for port, bits in inputs.items() for bit in bits]
        todo += [(bit, 1) for bit, _ in graph.starts]
        reached: dict[Node, int] = defaultdict(int)
        while todo:
            node, mask = todo.pop()
            if mask & ~reached[node]:
                mask &= ~reached[node]
                reached[node] |= mask
                todo += [(behind, mask) for behind in graph.edges.get(node, ())]

        def of(nodes: list[Any]) -> int:
            found = 0
            for node in nodes:
                found |= reached.get(node, 0)
            return found

        def among(mask: int) -> set[str]:
            return {port for port, own in masks.items() if mask & own}

        outputs = {port: of(bits) for port, bits in self.ports(name, "output").items()}
        return Through(
            {port: among(mask) for port, mask in outputs.items()},
            {port for port, mask in outputs.items() if mask & 1},
            among(of(list(graph.ends))),
        )
