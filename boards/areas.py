# SPDX-License-Identifier: Apache-2.0
"""How much of a chip the floorplan binds to which SLRs, by the areas of its modules."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from boards import xdc
from boards.board import Board
from boards.check.instances import Instances
from boards.places import SLRS

INSTANCE = re.compile(r"^ +(\w+) (\w+) \($", re.MULTILINE)

Area = Mapping[str, int]
Slrs = tuple[int, ...]


def hierarchy(rtl: Path) -> dict[str, Any]:
    """The modules of a folder of generated Verilog, in yosys's form, with instances alone."""
    texts = {path.stem: path.read_text() for path in rtl.glob("*.sv")}
    return {
        name: {"cells": {found[2]: {"type": found[1]} for found in INSTANCE.finditer(text) if found[1] in texts}}
        for name, text in texts.items()
    }


def bound(board: Board, chip: str, modules: dict[str, Any], areas: Mapping[str, Area]) -> Iterator[tuple[Slrs, Area]]:
    """For each choice of SLRs, the area of the cells that may be nowhere else.

    If none is larger than its share of these SLRs, a placement exists that keeps this share in
    every SLR. `areas` are those of modules with all below them. The fabric may be anywhere.
    """
    core = xdc.core(chip)
    instances = Instances(modules, core, board.places(chip))
    slrs = {"": tuple(board.core_slrs(chip)), **{path: place.slrs for path, place in instances.placed.items()}}
    types = {"": core, **instances.types}
    within: dict[Slrs, Counter[str]] = defaultdict(Counter)
    for path in slrs:
        within[slrs[path]].update(areas[types[path]])
        if path:
            around = max((other for other in slrs if path.startswith(f"{other}/")), key=len, default="")
            within[slrs[around]].subtract(areas[types[path]])
    fabric = Counter(areas[f"{chip.capitalize()}Shell"])
    fabric.subtract(areas[core])
    within[tuple(range(SLRS))].update(fabric)
    for count in range(1, SLRS + 1):
        for chosen in combinations(range(SLRS), count):
            total: Counter[str] = Counter()
            for allowed, area in within.items():
                if set(allowed) <= set(chosen):
                    total.update(area)
            yield chosen, total
