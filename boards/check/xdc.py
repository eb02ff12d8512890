# SPDX-License-Identifier: Apache-2.0
"""XDC lint: what the constraints do, as recorded by the stub of Vivado, against a chip's ports and
the card's table of pins."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from boards.check.tcl import Run, run, tcl_words

PINS = Path(__file__).with_name("pins")

GT_DIRECTION = {"MGTYRX": "in", "MGTYTX": "out", "MGTREFCLK": "in"}


@dataclass(frozen=True)
class TopPort:
    """A bit of a port of the top module."""

    name: str
    direction: str


def pin_table(board: str) -> dict[str, str]:
    """Pin to its function on this card: MGTYRXP0_231, MGTREFCLK1N_230, or `IO signal standard`."""
    with (PINS / f"{board}.csv").open() as file:
        return {row["pin"]: row["function"] for row in csv.DictReader(file)}


def pins(result: Run) -> list[tuple[str, dict[str, str]]]:
    """Ports with the properties that were set on them, in order; a port may come more than once."""
    found = []
    for call in result.of("set_property"):
        if call[0] == "-dict":
            words = tcl_words(call[1])
            properties = dict(zip(words[::2], words[1::2], strict=True))
            if "PACKAGE_PIN" in properties:
                found.append((call[2], properties))
    return found


def _expand(names: Iterable[str], ports: Iterable[str]) -> set[str]:
    """What `get_ports` finds: exact names, and `led[*]`."""
    found = set()
    for name in names:
        pattern = re.compile(re.escape(name).replace(r"\*", ".*"))
        found |= {port for port in ports if pattern.fullmatch(port)}
    return found


def _partner(function: str) -> str:
    """The function of the other half of a differential pair."""
    if function.startswith("IO"):
        return re.sub(r"_p (\S+)$", r"_n \1", function)
    return re.sub(r"^(MGTY[RT]X|MGTREFCLK\d)P", r"\1N", function)


def lint(result: Run, ports: list[TopPort], table: dict[str, str], clocks: dict[str, float]) -> list[str]:
    """All that is wrong; `clocks` are the ports that bring clocks, with their periods in ns."""
    placed = pins(result)
    problems = [*result.warnings, *_placement(placed, ports, table)]
    pin_of = {port: properties["PACKAGE_PIN"] for port, properties in placed}
    problems += _pairs(pin_of, table)
    problems += _standards(placed, {port.name: port.direction for port in ports}, table)
    problems += _clocks(result, clocks, pin_of, table)
    problems += _exceptions(result, ports, pin_of, table, clocks)
    return problems


def _placement(placed: list[tuple[str, dict[str, str]]], ports: list[TopPort], table: dict[str, str]) -> list[str]:
    names = {port.name for port in ports}
    of_port = Counter(port for port, _ in placed)
    of_pin = Counter(properties["PACKAGE_PIN"] for _, properties in placed)
    return [
        *(f"port {name} has no pin" for name in sorted(names - of_port.keys())),
        *(f"port {name} has {count} pins" for name, count in of_port.items() if count > 1),
        *(f"a pin is given to {name}, which is no port of the top" for name in sorted(of_port.keys() - names)),
        *(f"pin {pin} is used {count} times" for pin, count in of_pin.items() if count > 1),
        *(f"pin {pin} is not in the card's table" for pin in of_pin if pin not in table),
    ]


def _pairs(pin_of: dict[str, str], table: dict[str, str]) -> list[str]:
    problems = []
    for port, pin in pin_of.items():
        match = re.fullmatch(r"(\w+)_p(\[\d+\])?", port)
        if match is None:
            continue
        other = f"{match[1]}_n{match[2] or ''}"
        found = table.get(pin_of.get(other, ""), "nothing")
        wanted = _partner(table.get(pin, ""))
        if found != wanted or found == table.get(pin):
            problems.append(f"{other} is at {found}, the pair of {port} needs {wanted}")
    return problems


def _standards(
    placed: list[tuple[str, dict[str, str]]], directions: dict[str, str], table: dict[str, str]
) -> list[str]:
    problems = []
    for port, properties in placed:
        function = table.get(properties["PACKAGE_PIN"], "")
        if function.startswith("IO"):
            wanted = function.split()[-1]
            if properties.get("IOSTANDARD") != wanted:
                problems.append(
                    f"{port} has I/O standard {properties.get('IOSTANDARD', 'none')}, its bank's is {wanted}"
                )
        else:
            kind = re.match(r"MGTYRX|MGTYTX|MGTREFCLK", function)
            if "IOSTANDARD" in properties:
                problems.append(f"{port} is at a transceiver's pin and has an I/O standard")
            if kind and directions.get(port) not in (None, GT_DIRECTION[kind[0]]):
                problems.append(f"{port} is an {directions[port]}put at {function}")
    return problems


def _clocks(result: Run, clocks: dict[str, float], pin_of: dict[str, str], table: dict[str, str]) -> list[str]:
    made = Counter()
    problems = []
    for call in result.of("create_clock"):
        options = dict(zip(call[:-1:2], call[1:-1:2], strict=True))
        made[call[-1]] += 1
        period, wanted = float(options["-period"]), clocks.get(call[-1])
        if wanted is None:
            problems.append(f"a clock is made at {call[-1]}, which brings none")
        elif abs(period / wanted - 1) > 1e-3:
            problems.append(f"the clock at {call[-1]} has a period of {period} ns, the board's is {wanted:.3f} ns")
    references = {port for port, pin in pin_of.items() if re.match(r"MGTREFCLK\dP", table.get(pin, ""))}
    problems += [
        f"{port} is a reference clock and has no create_clock"
        for port in sorted(references | clocks.keys())
        if not made[port]
    ]
    return problems + [f"{port} has {count} create_clock" for port, count in made.items() if count > 1]


def _exceptions(
    result: Run, ports: list[TopPort], pin_of: dict[str, str], table: dict[str, str], clocks: dict[str, float]
) -> list[str]:
    names = [port.name for port in ports]
    false = {
        word: _expand((call[call.index(word) + 1] for call in result.of("set_false_path") if word in call), names)
        for word in ("-from", "-to")
    }
    delayed = {
        kind: _expand((call[-1] for call in result.of(f"set_{kind}_delay")), names) for kind in ("input", "output")
    }
    halves = clocks.keys() | {re.sub(r"_p$", "_n", port) for port in clocks}
    problems = []
    for port in ports:
        if port.name in halves or not table.get(pin_of.get(port.name, ""), "").startswith("IO"):
            continue
        for direction, word, kind in (("in", "-from", "input"), ("out", "-to", "output")):
            if port.direction not in (direction, "inout"):
                continue
            if port.name not in false[word]:
                problems.append(f"{port.name} has no set_false_path {word}")
            if port.name not in delayed[kind]:
                problems.append(f"{port.name} has no set_{kind}_delay: check_timing would count it")
    return problems


def crossing_problems(folder: Path, modules: set[str], work: Path) -> list[str]:
    """Each module in which clocks cross has a constraint in `folder`, and each constraint there
    runs and excepts a path."""
    files = sorted(folder.glob("*.tcl"))
    problems = [
        f"{module} crosses clocks and has no constraint in {folder}"
        for module in sorted(modules)
        if not any(re.fullmatch(rf"{file.stem}(_\d+)?", module) for file in files)
    ]
    for file in files:
        script = work / f"{file.stem}_read.tcl"
        work.mkdir(parents=True, exist_ok=True)
        script.write_text(f"read_xdc -unmanaged {{{file}}}\nexit 0\n")
        result = run(script, [], work)
        if result.status:
            problems.append(f"{file.name} does not run: {result.errors.splitlines()[0]}")
        elif result.of("set_clock_groups"):
            problems.append(
                f"{file.name} has set_clock_groups, which beats every other exception of these clocks (UG903)"
            )
        elif not any("-datapath_only" in call for call in result.of("set_max_delay")) and not result.of(
            "set_false_path"
        ):
            problems.append(f"{file.name} excepts no path: it needs set_max_delay -datapath_only or set_false_path")
    return problems


def register_problems(folder: Path, modules: dict[str, Any]) -> list[str]:
    """Registers that a constraint names and its module has not: Vivado would find no cell and
    go on.

    `modules` is a netlist of yosys's. Vivado calls a register's cell after the register, with
    `_reg` behind it.
    """
    problems = []
    for file in sorted(folder.glob("*.tcl")):
        named = sorted(set(re.findall(r"\$cell/([\w*]+)_reg\b", file.read_text())))
        for module in sorted(name for name in modules if re.fullmatch(rf"{file.stem}(_\d+)?", name)):
            nets = modules[module]["netnames"]
            problems += [
                f"{file.name} names {pattern}, which no register of {module} is called"
                for pattern in named
                if not any(fnmatchcase(net, pattern) for net in nets)
            ]
    return problems
