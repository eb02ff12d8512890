# SPDX-License-Identifier: Apache-2.0
"""Elaboration of a chip by yosys: generated Verilog, stubs of IPs, Xilinx's cell library; the core
may be a black box."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

LIBRARIES = ("xilinx/cells_sim.v", "xilinx/cells_xtra.v")


class ElaborationError(Exception):
    """yosys's own sentence."""


@cache
def _named_in(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"^\s+(\w+)\s+(?:#\(|\w+\s*\()", path.read_text(), re.MULTILINE))


def sources(folder: Path, top: str, stop: Iterable[str] = ()) -> list[Path]:
    """The files that `top` needs of a folder with one module a file, without those below a module
    of `stop`."""
    files = {path.stem: path for path in [*folder.glob("*.sv"), *folder.glob("*.v")]}
    wanted: dict[str, Path] = {}
    todo = [top]
    while todo:
        name = todo.pop()
        if name in wanted or name not in files:
            continue
        wanted[name] = files[name]
        if name not in stop:
            todo += _named_in(files[name])
    return list(wanted.values())


def elaborate(top: str, files: list[Path], black_boxes: list[Path], work: Path, passes: str = "proc") -> dict[str, Any]:
    """`hierarchy -check` of `top`; returns the modules of yosys's JSON. Of `black_boxes` and
    primitives the ports alone are read."""
    work.mkdir(parents=True, exist_ok=True)
    result = work / f"{top}.json"
    primitives = work / f"{top}_primitives.v"
    named = set().union(*(_identifiers(path) for path in files))
    primitives.write_text("\n".join(text for name, text in _library().items() if name in named))
    commands = [
        *(f"read_verilog -lib -sv {path}" for path in [primitives, *black_boxes]),
        f"read_verilog -sv {' '.join(map(str, files))}",
        f"hierarchy -check -top {top}",
        passes,
        f"write_json {result}",
    ]
    script = work / f"{top}.ys"
    script.write_text("\n".join(commands) + "\n")
    done = subprocess.run(["yosys", "-q", "-s", str(script)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise ElaborationError(f"{top}: {errors[0] if errors else 'yosys stopped'}")
    return json.loads(result.read_text())["modules"]


@cache
def _library() -> dict[str, str]:
    """Each of yosys's cells for Xilinx, as text. All of them take yosys a second to read."""
    share = Path(shutil.which("yosys") or "yosys").resolve().parent.parent / "share" / "yosys"
    text = "".join((share / name).read_text() for name in LIBRARIES)
    return {
        match[1]: match[0] for match in re.finditer(r"^module (\w+)\b.*?^endmodule", text, re.MULTILINE | re.DOTALL)
    }


@cache
def _identifiers(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\b[A-Z]\w+", path.read_text()))


def foreign_clocks(path: Path) -> set[str]:
    """Clocks of a generated file other than its port `clock` and those of a memory's ports, which
    come from it."""
    text = path.read_text()
    used = set(re.findall(r"posedge (\w+)", text))
    gated = set(re.findall(r"\.(?:gated|out)\s*\((\w+)\)", text)) if "SallyportClockGate" in text else set()
    memory = {clock for clock in used if re.fullmatch(r"(R|W|RW)\d+_clk", clock)}
    passed = set(re.findall(r"\.(?:clock|(?:R|W|RW)\d+_clk)\s*\((\w+)\)", text))
    return (used - memory - {"clock"} | passed - {"clock"}) - gated


def lint_stubs(modules: dict[str, Any], folder: Path) -> list[Path]:
    """Verilog of the black boxes among `modules` for Verilator: ports and parameters,
    nothing inside."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, module in modules.items():
        if "blackbox" in module["attributes"]:
            files.append(folder / f"{name}.v")
            files[-1].write_text(_stub(name, module))
    return files


def _parameters(name: str, module: dict[str, Any]) -> dict[str, str]:
    # yosys's JSON leaves parameters of type real out.
    if text := _library().get(name):
        return dict(re.findall(r"parameter (?:real |integer |\[\d+:\d+\] )?(\w+) = ([^;,)]+)", text))
    return {label: _literal(value) for label, value in module.get("parameter_default_values", {}).items()}


def _stub(name: str, module: dict[str, Any]) -> str:
    ports = ",\n".join(
        f"  {port['direction']} wire [{len(port['bits']) - 1}:0] {label}"
        if len(port["bits"]) > 1
        else f"  {port['direction']} wire {label}"
        for label, port in module["ports"].items()
    )
    parameters = ", ".join(f"parameter {label} = {value}" for label, value in _parameters(name, module).items())
    return f"module {name} {f'#({parameters}) ' if parameters else ''}(\n{ports}\n);\nendmodule\n"


def _literal(value: str) -> str:
    return f"{len(value)}'b{value}" if re.fullmatch(r"[01]+", value) else json.dumps(value.rstrip())
