# SPDX-License-Identifier: Apache-2.0
"""Estimated delays of a netlist's paths and nets, by delay_model, in ns, calibrated."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from operator import add
from typing import NamedTuple

import delay_model
from delay_model import PESSIMISM, Pin
from netlist_paths import Paths

# Of a net without a driver inside the netlist: a port or a constant.
NOTHING = -1


class Late(NamedTuple):
    """A path: the estimated ns from its clock edge with the setup time of its end, and the net in
    front of that end."""

    ns: float
    name: str
    module: str
    clock: str
    net: int


class Delays:
    """Arrival times at all nets of a design whose levels have been measured."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        nets = len(paths.joined)
        self.fan_out = array("l", [0]) * nets
        logic, blocks = (array("d", [0.0]) * nets for _ in range(2))
        root = paths.joined
        for primitive, _, passed, ends, _ in paths.cells:
            clbs = delay_model.area(primitive.kind)
            area = logic if clbs == delay_model.AREA_OF_LOGIC else blocks
            for net in {root[net] for net in passed} | {root[net] for net in ends}:
                self.fan_out[net] += 1
                area[net] += clbs
        self.to_logic = array("d", map(delay_model.net, self.fan_out, logic))
        self.wire = array("d", map(delay_model.net, self.fan_out, map(add, logic, blocks)))
        # When each net's driver has its value, by which cell, and that cell's latest input.
        self.start = array("d", [0.0]) * nets
        self.driver = array("l", [NOTHING]) * nets
        self.latest = array("l", [NOTHING]) * len(paths.cells)
        for net, (cell, delay) in paths.launches.items():
            self.start[net], self.driver[net] = delay, cell
        driven: dict[int, list[int]] = {}
        for net, cell in paths.drivers.items():
            self.driver[net] = cell
            driven.setdefault(cell, []).append(net)
        # In this order a cell comes behind those before it.
        for cell in paths.levels:
            primitive, _, passed, _, _ = paths.cells[cell]
            ns, self.latest[cell] = self.arrival(passed, primitive.passing)
            for net in driven.get(cell, ()):
                self.start[net] = ns

    def arrival(self, nets: list[int], pins: list[Pin]) -> tuple[float, int]:
        """Behind the input of a cell that is the latest, and the net there."""
        best, at = 0.0, NOTHING
        for net, pin in zip(nets, pins, strict=True):
            net = self.paths.joined[net]
            ns = self.start[net] + self.wire_to(net, pin) + pin.ns
            if ns > best:
                best, at = ns, net
        return best, at

    def wire_to(self, net: int, pin: Pin) -> float:
        if pin.merged:
            return 0.0
        # A driver whose one load is in its slice needs no routing.
        if pin.near is not None and self.fan_out[net] == 1 and net in self.paths.drivers:
            return pin.near
        return self.wire[net] if pin.is_far else self.to_logic[net]

    def ends(self) -> Iterator[Late]:
        """Every register, memory and output port, with the latest path to it."""
        for ending in self.paths.endings():
            ns, net = self.arrival(ending.nets, ending.pins)
            yield Late(ns / PESSIMISM, ending.name, ending.module, ending.clock, net)

    def nets_before(self, net: int) -> list[int]:
        """The nets of the latest path that ends at `net`, from start to end."""
        found = [net]
        while net in self.paths.drivers:
            net = self.latest[self.paths.drivers[net]]
            # A carry chain is one cell of many bits, so a path may seem to come back to it.
            if net == NOTHING or net in found:
                break
            found.append(net)
        return found[::-1]

    def kind(self, net: int) -> str:
        """Of the cell that drives a net."""
        cell = self.driver[net]
        return "port" if cell == NOTHING else self.paths.cells[cell][0].kind

    def wire_ns(self, net: int) -> float:
        """From a net's driver to its farthest load."""
        return self.wire[net] / PESSIMISM

    def names(self, nets: set[int]) -> dict[int, str]:
        """Of each net the shortest name that a module gives it, or that of its driver."""
        found: dict[int, str] = {}
        for prefix, module, bits in self.paths.places:
            for bit, net in bits.items():
                net = self.paths.joined[net]
                if net in nets and bit in module.names:
                    name = prefix + module.names[bit]
                    if len(name) < len(found.get(net, name + " ")):
                        found[net] = name
        for net in nets - found.keys():
            cell = self.driver[net]
            found[net] = "a port" if cell == NOTHING else self.paths.cell_name(cell)
        return found
