# SPDX-License-Identifier: Apache-2.0
"""A module of a netlist: who drives each bit, and where a clock comes from."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from boards.check.design import WRITTEN, Bit, Design, Symbol, written

REGISTER = re.compile(r"^\$(a|s|al)?dff")


class Nets:
    """The nets of one module: clocks are followed through buffers and submodules to a port or to
    the pin that makes them."""

    def __init__(self, design: Design, name: str) -> None:
        self.design = design
        self.name = name
        module = design.modules[name]
        self.cells: dict[str, Any] = module["cells"]
        self.ports: dict[str, Any] = module["ports"]
        self.input_of: dict[Bit, str] = {}
        self.driver: dict[Bit, tuple[str, str, int]] = {}
        self._index()

    def _index(self) -> None:
        for port, entry in self.ports.items():
            if entry["direction"] != "output":
                for bit in entry["bits"]:
                    self.input_of[bit] = port
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                if self.direction(cell, port) != "input":
                    for index, bit in enumerate(bits):
                        if not isinstance(bit, str):
                            self.driver[bit] = (name, port, index)

    def direction(self, cell: dict[str, Any], port: str) -> str:
        if port in cell.get("port_directions", {}):
            return cell["port_directions"][port]
        return self.design.modules[cell["type"]]["ports"][port]["direction"]

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
            box = self.design.box(cell["type"])
            if box is not None and port in box.get("through", {}):
                bit = cell["connections"][box["through"][port]][index]
            elif box is None and cell["type"] in self.design.modules:
                symbol = self.design.summaries[cell["type"]].clocks.get(port)
                if symbol is None:
                    return ("root", f"{name}.{port}")
                if symbol[0] != "port":
                    return ("root", f"{name}.{symbol[1]}")
                bit = cell["connections"][symbol[1]][0]
            else:
                return ("root", f"{name}.{port}")

    def outer(self, symbol: Symbol, name: str, cell: dict[str, Any]) -> Symbol | None:
        """A submodule's clock as this module names it."""
        kind = symbol[0].removesuffix(WRITTEN)
        outer: Symbol | None = (kind, symbol[1])
        if kind == "port":
            outer = self.clock_of(cell, symbol[1])
        elif kind == "root":
            outer = ("root", f"{name}.{symbol[1]}")
        return written(outer) if outer and symbol[0] != kind else outer

    def clock_of(self, cell: dict[str, Any], port: str) -> Symbol | None:
        """The clock at an input of a cell; nothing if it is left open."""
        bits = cell["connections"].get(port, [])
        return self.clock(bits[0]) if bits else None

    @cached_property
    def settling(self) -> set[Bit]:
        """Bits with the attribute ASYNC_REG."""
        return {
            bit
            for net in self.design.modules[self.name]["netnames"].values()
            if str(net["attributes"].get("ASYNC_REG", "")).strip('"').upper() == "TRUE"
            for bit in net["bits"]
        }

    def is_settling(self, cell: dict[str, Any]) -> bool:
        """A register all of whose bits have it."""
        return bool(REGISTER.match(cell["type"])) and all(bit in self.settling for bit in cell["connections"]["Q"])

    @cached_property
    def _names(self) -> dict[Bit, str]:
        """Bits to the names of the source's nets."""
        nets = self.design.modules[self.name]["netnames"].items()
        return {bit: net for net, entry in nets if not entry.get("hide_name") for bit in entry["bits"]}

    def place(self, bits: list[Bit], name: str) -> str:
        """The net that a register drives: the register's name in the source."""
        return next((self._names[bit] for bit in bits if bit in self._names), name)
