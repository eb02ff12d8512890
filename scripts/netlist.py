# SPDX-License-Identifier: Apache-2.0
"""One module of a netlist that yosys has mapped to UltraScale+ primitives and written to JSON, read
for walks along its paths, with the delays of its pins."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import delay_model
from delay_model import Pin

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
    those it drives, its clocks. Of each of the first three, in the same order, its delay."""

    kind: str
    name: str
    passed: list[int]
    ends: list[int]
    driven: list[int]
    clocks: list[int]
    is_through: bool
    passing: list[Pin]
    ending: list[Pin]
    launching: list[float]

    @property
    def cost(self) -> int:
        return bool(LUT_LIKE.match(self.kind))


@dataclass
class Module:
    """One module of the netlist, read once however many instances it has."""

    name: str
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
    module = Module(name)
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
        parameters = what.get("parameters", {})
        primitive = Cell(kind, cell, [], [], [], [], through, [], [], [])
        for pin, bits in what["connections"].items():
            nets = wires(bits)
            if what["port_directions"][pin] == "output":
                primitive.driven += nets
                primitive.launching += len(nets) * [0.0 if through else delay_model.launch(kind, pin, parameters)]
            elif CLOCK_PIN.match(pin):
                primitive.clocks += nets
            elif through and not (kind.startswith("RAM") and WRITE_PIN.match(pin)):
                primitive.passed += nets
                primitive.passing += len(nets) * [delay_model.through(kind, pin)]
            else:
                primitive.ends += nets
                primitive.ending += len(nets) * [delay_model.end(kind, pin)]
        module.cells.append(primitive)
    return module
