"""Elaboration of a chip by yosys: generated Verilog, stubs of IPs, Xilinx's cell library; the core as a black box where its inside is not wanted."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

LIBRARIES = ("+/xilinx/cells_sim.v", "+/xilinx/cells_xtra.v")


class ElaborationError(Exception):
    """yosys's own sentence."""


@cache
def _named_in(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"^\s+(\w+)\s+(?:#\(|\w+\s*\()", path.read_text(), re.MULTILINE))


def sources(folder: Path, top: str, stop: Iterable[str] = ()) -> list[Path]:
    """The files that `top` needs of a folder with one module a file; what is below a module of `stop` is left out."""
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


def elaborate(top: str, files: list[Path], black_boxes: list[Path], work: Path, passes: str = "") -> dict[str, Any]:
    """`hierarchy -check` of `top`; returns yosys's JSON. Of `black_boxes` the ports alone are read."""
    work.mkdir(parents=True, exist_ok=True)
    result = work / f"{top}.json"
    used = _words(files)
    commands = [
        *(f"read_verilog -lib {library}" for library in LIBRARIES),
        *(f"read_verilog -lib -sv {path}" for path in black_boxes),
        f"read_verilog -sv {' '.join(map(str, files))}",
        f"hierarchy -check -top {top}",
        *([passes] if passes else []),
        f"write_json {result}",
    ]
    script = work / f"{top}.ys"
    script.write_text("\n".join(commands) + "\n")
    done = subprocess.run(["yosys", "-q", "-s", str(script)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise ElaborationError(f"{top}: {errors[0] if errors else 'yosys stopped'}")
    modules = json.loads(result.read_text())["modules"]
    # The cell library is big; keep what the design names.
    return {name: module for name, module in modules.items() if name in used or "blackbox" not in module["attributes"]}


def _words(files: list[Path]) -> set[str]:
    return set().union(*(_named_in(path) for path in files))
