# SPDX-License-Identifier: Apache-2.0
"""Vivado's report_cdc on a flat netlist of yosys's: the critical rule that each crossing meets.

Rules and their order are those of UG906 ("Understanding the Clock Domain Crossings Report Rules").
An endpoint is reported once, by the first rule that fits:

- CDC-15 (a warning): an enable of the own clock lets the value in;
- CDC-7: a register is reset by another clock, and no second one is behind it with that reset;
- CDC-1, of a word CDC-4: no second register with the same controls is behind the first;
- CDC-12: registers of several other clocks come together before it;
- CDC-10: there is logic before it;
- CDC-11: a register of the other clock feeds two synchronisers of this one, resets included.

Sources without a clock, such as pins and MMCM's LOCKED, are no crossings for report_cdc.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from boards.check.clocks import REGISTER
from boards.check.design import ASYNC, WRITTEN, Bit, Design, Symbol
from boards.check.domains import Module

CONTROLS = ("EN", "SRST", "ARST", "ALOAD", "CLR", "SET")
RESETS = ("ARST", "CLR", "SET")
PINS = {"D": "D", "EN": "CE", "SRST": "R"}


class Finding(NamedTuple):
    """A critical row of the report: `path` names the endpoint's pin as Vivado does."""

    rule: str
    path: str
    clock: str
    sources: tuple[str, ...]

    def __str__(self) -> str:
        return f"report_cdc: {self.rule}: {', '.join(self.sources)} to {self.path} of {self.clock}"


class Register(NamedTuple):
    """One bit of a register."""

    name: str
    index: int


class Flat(Module):
    """A flat netlist: its registers bit by bit, and the way back from a bit to registers."""

    def __init__(self, design: Design, name: str) -> None:
        super().__init__(design, name)
        for cell_name, cell in self.cells.items():
            self._cell(cell_name, cell)
        self.reached = self._propagate(self.start)
        for node, symbols in self.reached.items():
            if isinstance(node, tuple) and node[0] == "logic":
                self.mixed_start[node] |= symbols
        self.mixed = self._propagate(self.mixed_start)
        self.before: dict[Any, list[Any]] = defaultdict(list)
        for node, following in self.edges.items():
            for each in following:
                self.before[each].append(node)
        self.clock_at: dict[Register, Symbol] = {}
        self.driven: dict[Bit, Register] = {}
        self.taking: dict[Bit, list[Register]] = defaultdict(list)
        for cell_name, cell in self.cells.items():
            if REGISTER.match(cell["type"]) and (clock := self.clock(cell["connections"]["CLK"][0])):
                self._register_bits(cell_name, cell, clock)

    def _register_bits(self, name: str, cell: dict[str, Any], clock: Symbol) -> None:
        for index, (data, output) in enumerate(zip(cell["connections"]["D"], cell["connections"]["Q"], strict=True)):
            register = Register(name, index)
            self.clock_at[register] = clock
            self.driven[output] = register
            self.taking[data].append(register)

    def pins(self, register: Register) -> dict[str, list[Bit]]:
        return self.cells[register.name]["connections"]

    def others(self, bit: Bit, clock: Symbol) -> set[Symbol]:
        """Other clocks whose registers reach a bit."""
        return {symbol for symbol in self.reached.get(bit, ()) if is_other(symbol, clock)}

    def is_mixed(self, bit: Bit, clock: Symbol) -> bool:
        return any(is_other(symbol, clock) for symbol in self.mixed.get(bit, ()))

    def sources(self, bit: Bit, clock: Symbol) -> set[Bit]:
        """The outputs of other clocks' registers and cells that reach a bit."""
        todo: list[Any] = [bit]
        seen: set[Any] = set()
        found = set()
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            if any(is_other(symbol, clock) for symbol in self.start.get(node, ())):
                found.add(node)
            elif node not in self.driven:
                todo += self.before[node]
        return {node for node in found if not isinstance(node, tuple)}

    def controls(self, register: Register) -> list[Any]:
        return [self.pins(register).get(port) for port in CONTROLS]

    def depth(self, register: Register) -> int:
        """Registers in a row with the same clock and controls, at most two."""
        output = self.pins(register)["Q"][register.index]
        alike = [
            other
            for other in self.taking[output]
            if other != register
            and self.clock_at[other] == self.clock_at[register]
            and self.controls(other) == self.controls(register)
        ]
        return 2 if alike else 1


def is_other(symbol: Symbol, clock: Symbol) -> bool:
    return symbol not in (clock, ASYNC) and symbol[0] != "data" and not symbol[0].endswith(WRITTEN)


class Endpoint(NamedTuple):
    register: Register
    port: str
    bit: Bit
    rules: tuple[str, ...]


def critical(design: Design, top: str, every: bool = False) -> list[Finding]:
    """What report_cdc calls critical; words are reported once.

    With `every`, an endpoint has a row for each rule that it meets: where the first one is waived,
    the report has the next.
    """
    flat = Flat(design, top)
    ends = [end for register in flat.clock_at for end in _ends(flat, register)]
    twice = _fan_outs(flat, ends)
    found = set()
    for end in ends:
        rules = [*end.rules, *(["CDC-11"] if end in twice else [])]
        found |= {_finding(flat, end, rule) for rule in (rules if every else rules[:1])}
    return sorted(found)


def _ends(flat: Flat, register: Register) -> list[Endpoint]:
    """Pins of a register that another clock's data reaches."""
    ports, clock = flat.pins(register), flat.clock_at[register]
    found = []
    for port in ("D", "EN", "SRST", *RESETS):
        bits = ports.get(port, [])
        if not bits or (port in ("EN", "SRST") and register.index):
            continue
        bit = bits[register.index if len(bits) > 1 else 0] if port == "D" else bits[0]
        if not flat.others(bit, clock) or (port in RESETS and _is_behind(flat, register, port)):
            continue
        if port == "D" and "EN" in ports and not flat.others(ports["EN"][0], clock):
            continue
        found.append(Endpoint(register, port, bit, _rules(flat, register, port, bit)))
    return found


def _is_behind(flat: Flat, register: Register, port: str) -> bool:
    """Whether a register that has the same reset feeds it: a later stage of one synchroniser."""
    before = flat.driven.get(flat.pins(register)["D"][register.index])
    return before not in (None, register) and flat.pins(before).get(port) == flat.pins(register)[port]


def _rules(flat: Flat, register: Register, port: str, bit: Bit) -> tuple[str, ...]:
    """Rules that an endpoint meets, CDC-11 apart, the first one first."""
    clock = flat.clock_at[register]
    if port in ("EN", "SRST") or flat.depth(register) < 2:
        word = "CDC-4" if len(flat.pins(register)["D"]) > 1 else "CDC-1"
        return ("CDC-7" if port in RESETS else word,)
    several = ("CDC-12",) if len(flat.others(bit, clock)) > 1 else ()
    return several + (("CDC-10",) if flat.is_mixed(bit, clock) else ())


def _fan_outs(flat: Flat, ends: list[Endpoint]) -> set[Endpoint]:
    """Ends that share their source with another synchroniser of the same clock."""
    of_source: dict[Any, set[Endpoint]] = defaultdict(set)
    for end in ends:
        clock = flat.clock_at[end.register]
        for source in flat.sources(end.bit, clock):
            of_source[source, clock].add(end)
    return {end for group in of_source.values() if len(group) > 1 for end in group}


def _finding(flat: Flat, end: Endpoint, rule: str) -> Finding:
    ports, clock = flat.pins(end.register), flat.clock_at[end.register]
    pin = PINS.get(end.port) or _reset_pin(flat.cells[end.register.name], end.register.index)
    register = flat.place([ports["Q"][end.register.index]], end.register.name)
    sources = {flat.place([bit], str(bit)) for bit in flat.sources(end.bit, clock)}
    return Finding(rule, f"{register.replace('.', '/')}_reg/{pin}", clock[1], tuple(sorted(sources)))


def _reset_pin(cell: dict[str, Any], index: int) -> str:
    value = str(cell["parameters"].get("ARST_VALUE", "0"))
    return "PRE" if value[-1 - index : len(value) - index] == "1" else "CLR"
