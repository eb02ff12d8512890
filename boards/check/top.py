# SPDX-License-Identifier: Apache-2.0
"""What `make board-check` holds a chip's generated top against: port list, elaboration, clock
crossings, constraints, lint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from boards import corundum, flow, ip, xdc
from boards.board import Board
from boards.check import cdc, lint, netlist, stages, tcl, topologies
from boards.check import xdc as check_xdc
from boards.check.design import CdcError

PRIMITIVES = Path(__file__).with_name("primitives.yaml")
# Enables and resets as registers' own, as in the device.
PASSES = "proc; opt_dff; memory_collect"
FLAT = "proc; flatten; opt_dff; opt_clean; memory_collect"
# Black boxes in corundum's netlist, whose outputs have no clock that its registers share.
CORUNDUM_BOXES = ("cmac_usplus", "cmac_gty_full", "cmac_gty_channel")


def boxes(board: Board, chip: str) -> dict[str, dict[str, Any]]:
    """Black boxes and their clocks: primitives, IPs, and the core, whose ports all belong to its
    one clock."""
    modules = {module.module: {"clocks": module.clocks} for module in ip.instances(board, chip) if module.clocks}
    return {**yaml.safe_load(PRIMITIVES.read_text()), **modules, xdc.core(chip): {"clocks": {"clock": ["*"]}}}


def port_problems(board: Board, chip: str, module: dict[str, Any]) -> list[str]:
    """Differences between the top's ports and the board file's."""
    words = {"in": "input", "out": "output", "inout": "inout"}
    wanted = {port.name: (words[port.direction], len(port.pins)) for port in board.ports(chip)}
    found = {name: (port["direction"], len(port["bits"])) for name, port in module["ports"].items()}
    return [
        f"port {name} is {found.get(name, 'missing')}, {board.path.name} says {wanted.get(name, 'there is none')}"
        for name in sorted(wanted.keys() | found.keys())
        if wanted.get(name) != found.get(name)
    ]


def floorplan_problems(board: Board, chip: str, modules: dict[str, Any], top: str) -> list[str]:
    """Modules that the floorplan names and the design has not."""
    instances = {cell["type"] for module in modules.values() for cell in module["cells"].values()}
    mac = [xdc.MAC] if board.mac(chip) else []
    wanted = [xdc.core(chip), xdc.PCIE, *mac, *(f"aurora_{qsfp.name}" for qsfp in board.link_qsfps(chip))]
    return [f"the floorplan names {module}, which {top} has not" for module in wanted if module not in instances]


def open_inputs(board: Board, chip: str, modules: dict[str, Any]) -> list[str]:
    """Undriven inputs of IPs and of corundum's wrapper. Verilator cannot distinguish them from
    outputs, and many outputs are open."""
    inputs = {
        each.module: [port.name for port in each.ports if port.direction == "in"] for each in ip.instances(board, chip)
    }
    return [
        f"{name}.{port} of {cell['type']} is left open"
        for module in modules.values()
        for name, cell in module["cells"].items()
        for port in inputs.get(cell["type"], [])
        if not cell["connections"].get(port)
    ]


def constraint_problems(board: Board, chip: str, work: Path) -> list[str]:
    """XDC lint of the output of boards/xdc.py, on the board file's ports."""
    text = {"ports": xdc.port_constraints(board, chip), "floorplan": xdc.floorplan(board, chip)}
    script = work / "constraints.tcl"
    work.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, content in text.items():
        (work / f"{name}.xdc").write_text(content)
        lines.append(f"read_xdc {'-unmanaged ' if name == 'floorplan' else ''}{{{work / name}.xdc}}")
    script.write_text("\n".join([*lines, "exit 0", ""]))
    result = tcl.run(script, [], work)
    if result.status:
        return [result.errors.splitlines()[0]]
    ports = [check_xdc.TopPort(name, port.direction) for port in board.ports(chip) for name, _ in port.bits()]
    return check_xdc.lint(result, ports, check_xdc.pin_table(board.name), dict(xdc.clock_ports(board, chip).values()))


def flow_problems(board: Board, chip: str, rtl: Path, work: Path) -> list[str]:
    """The whole flow under the stub, and its IP properties against the allow-list."""
    result = tcl.run(tcl.TCL / "flow.tcl", [str(flow.write_chip(board, chip, work / "build", rtl))], work)
    if result.status:
        return [f"flow.tcl stops with {result.status}: {result.errors.splitlines()[0]}"]
    return tcl.property_problems(board.name, tcl.ip_properties(result))


def _stubs(board: Board, chip: str, work: Path) -> dict[str, Path]:
    """A stub of each IP of the chip, written into `work`."""
    folder = work / "stubs"
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for module in ip.instances(board, chip):
        files[module.module] = folder / f"{module.module}.v"
        files[module.module].write_text(module.stub())
    return files


def _black_boxes(board: Board, chip: str, rtl: Path, work: Path) -> list[Path]:
    """IPs and the core: their ports alone matter to the top."""
    core = rtl / f"{xdc.core(chip)}.sv"
    return [*_stubs(board, chip, work).values(), *([core] if core.exists() else [])]


def netlist_problems(board: Board, chip: str, rtl: Path, work: Path) -> list[str]:
    """Elaboration with `hierarchy -check`, ports, floorplan, clock crossings and their
    constraints."""
    top, core = xdc.top(chip), xdc.core(chip)
    files = [path for path in netlist.sources(rtl, top, stop=[core]) if path.stem != core]
    try:
        boxed = _black_boxes(board, chip, rtl, work)
        modules = netlist.elaborate(top, files, boxed, work, PASSES)
        flat = netlist.elaborate(top, files, boxed, work / "flat", FLAT)
    except netlist.ElaborationError as wrong:
        return [str(wrong)]
    constraints = rtl / "constraints"
    checker = cdc.Checker(modules, boxes(board, chip), {path.stem for path in constraints.glob("*.tcl")})
    found = port_problems(board, chip, modules[top]) + floorplan_problems(board, chip, modules, top)
    found += open_inputs(board, chip, modules)
    try:
        found += checker.problems(top) + stages.problems(checker)
        found += map(str, topologies.critical(cdc.Checker(flat, boxes(board, chip), set()), top))
    except CdcError as wrong:
        found.append(str(wrong))
    found += check_xdc.register_problems(constraints, modules)
    return found + check_xdc.crossing_problems(constraints, checker.crossing_modules, work)


def core_problems(rtl: Path, core: str) -> list[str]:
    """The netlist check takes a core's ports to be of one clock: no register inside may
    have another."""
    found = []
    for path in netlist.sources(rtl, core):
        found += [f"{path.name}: a register has the clock {clock}" for clock in netlist.foreign_clocks(path)]
    return found


def lint_problems(
    board: Board, chip: str, rtl: Path, work: Path, waivers: list[dict[str, Any]], used: set[int]
) -> list[str]:
    """Verilator's warnings of a top, without its core, that no waiver covers."""
    top, core = xdc.top(chip), xdc.core(chip)
    files = [path for path in netlist.sources(rtl, top, stop=[core]) if path.stem != core]
    boxed = netlist.elaborate(top, files, _black_boxes(board, chip, rtl, work), work)
    stubs = netlist.lint_stubs(boxed, work / "lint")
    messages = lint.verilate(top, [*files, *stubs], [])
    return lint.problems(
        [message for message in messages if not (work / "lint" / message.file).exists()], waivers, used.add
    )


def corundum_problems(board: Board, chip: str, work: Path) -> list[str]:
    """Corundum's sources with our stubs of its IPs, our table of its wrapper against it, and
    the waivers against what report_cdc calls critical in it."""
    corundum.verify()
    stubs = _stubs(board, chip, work)
    boxed = [stubs[name] for name in CORUNDUM_BOXES]
    sources = [corundum.FOLDER / name for name in corundum.VERILOG]
    modules = {module.module: module for module in ip.instances(board, chip)}
    try:
        elaborated = netlist.elaborate(xdc.MAC, sources, boxed, work)
        flat = netlist.elaborate(xdc.MAC, sources, boxed, work / "flat", FLAT)
    except netlist.ElaborationError as wrong:
        return [str(wrong)]
    words = {"in": "input", "out": "output"}
    wanted = {port.name: (words[port.direction], port.width) for port in modules[xdc.MAC].ports}
    found = {name: (port["direction"], len(port["bits"])) for name, port in elaborated[xdc.MAC]["ports"].items()}
    return [
        f"{xdc.MAC}.{name} is {found.get(name, 'missing')}, boards/ip says {wanted.get(name, 'there is none')}"
        for name in sorted(wanted.keys() | found.keys())
        if wanted.get(name) != found.get(name)
    ] + waiver_problems(flat, tcl.waivers())


def waiver_problems(flat: dict[str, Any], waivers: list[tuple[str, str]]) -> list[str]:
    """Critical crossings of corundum's wrapper without a waiver, and waivers without one; those of
    CDC-13 end at hard blocks, which no netlist shows."""
    known = {**yaml.safe_load(PRIMITIVES.read_text()), **{name: {} for name in CORUNDUM_BOXES}}
    findings = topologies.critical(cdc.Checker(flat, known, set()), xdc.MAC, every=True)
    ends = [(rule, end.replace("[*]", "")) for rule, end in waivers if rule != "CDC-13"]

    def covers(rule: str, end: str, finding: topologies.Finding) -> bool:
        return rule == finding.rule and f"/{finding.path}".endswith(f"/{end}")

    return [
        *(f"{finding}: no waiver" for finding in findings if not any(covers(*end, finding) for end in ends)),
        *(
            f"the waiver of {rule} at {end} covers nothing"
            for rule, end in ends
            if not any(covers(rule, end, finding) for finding in findings)
        ),
    ]
