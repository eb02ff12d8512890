# SPDX-License-Identifier: Apache-2.0
"""Ways to the lanes, which the floorplan puts into other SLRs: registers alone stand between a lane
and the logic around it, so no path crosses a border behind or before any logic.

yosys reads the modules LaneFarm and LaneWay. All modules inside are black boxes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from boards.check import netlist
from boards.places import SLR_STAGE

FARM = "LaneFarm"
WAY = "LaneWay"
FAR = "io_far_"
FROM_ALL = {"clock", "reset"}
STAGES = 2  # at least: one on either side of a border
INSTANCE = re.compile(r"^\s+(\w+) (\w+) \($", re.MULTILINE)


def problems(rtl: Path, work: Path) -> list[str]:
    """Of all lanes and ways in a folder of generated Verilog."""
    farms = sorted(path.stem for path in rtl.glob(f"{FARM}*.sv"))
    ways = sorted(path.stem for path in rtl.glob(f"{WAY}*.sv"))
    if not farms or not ways:
        return [f"{rtl} has no {FARM} or no {WAY}"]
    found = []
    for farm in farms:
        found += _lane_problems(farm, _module(rtl, farm, work))
    for way in ways:
        found += _way_problems(way, _module(rtl, way, work))
    return found


def _module(rtl: Path, name: str, work: Path) -> dict[str, Any]:
    """A module by itself."""
    inside = {match[1] for match in INSTANCE.finditer((rtl / f"{name}.sv").read_text())} - {"module"}
    boxes = [rtl / f"{module}.sv" for module in sorted(inside) if (rtl / f"{module}.sv").exists()]
    return netlist.elaborate(name, [rtl / f"{name}.sv"], boxes, work)[name]


def _lane_problems(farm: str, module: dict[str, Any]) -> list[str]:
    """What else than its way a lane is joined to."""
    cells = module["cells"]
    lanes = {name: name.removesuffix("_far") + "_way" for name in cells if re.fullmatch(r"lane_\d+_far", name)}
    if not lanes:
        return [f"{farm} has no cell lane_0_far, which the floorplan places"]
    found = []
    for lane, way in lanes.items():
        ends = {bit for port, bits in cells[way]["connections"].items() if port.startswith(FAR) for bit in bits}
        found += [
            f"{farm}: {lane}.{port} does not come from or lead to {way}"
            for port, bits in cells[lane]["connections"].items()
            if port not in FROM_ALL and any(isinstance(bit, int) and bit not in ends for bit in bits)
        ]
    return found


def _way_problems(way: str, module: dict[str, Any]) -> list[str]:
    """Far ports with less than two stages in a row, or with a load that is none."""
    stages = [cell for cell in module["cells"].values() if re.fullmatch(rf"{SLR_STAGE}(_\d+)?", cell["type"])]
    into: dict[int, int] = {}  # bits behind a stage to those before it
    for cell in stages:
        for port, bits in cell["connections"].items():
            if port.startswith("io_out") and bits:  # else it is left open
                into |= dict(zip(bits, cell["connections"]["io_in" + port.removeprefix("io_out")], strict=True))
    onward = {before: behind for behind, before in into.items()}
    loads = [
        bit
        for cell in module["cells"].values()
        if cell not in stages
        for bits in cell["connections"].values()
        for bit in bits
    ]
    loads += [bit for port in module["ports"].values() if port["direction"] == "output" for bit in port["bits"]]
    found = []
    for name, port in module["ports"].items():
        bits = [bit for bit in port["bits"] if isinstance(bit, int)]
        if not name.startswith(FAR):
            continue
        steps = into if port["direction"] == "output" else onward
        if any(_length(steps, bit) < STAGES for bit in bits):
            found.append(f"{way}.{name} has less than {STAGES} stages of registers")
        elif port["direction"] == "input" and set(bits) & set(loads):
            found.append(f"{way}.{name} leads past its stages")
    return found


def _length(steps: dict[int, int], bit: int) -> int:
    """Stages in a row from a bit on."""
    count = 0
    while isinstance(bit, int) and bit in steps:
        count, bit = count + 1, steps[bit]
    return count
