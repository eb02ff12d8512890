# SPDX-License-Identifier: Apache-2.0
"""`scripts/netlist_paths.py` counts the LUT levels of a small netlist of two modules, across their
border and by clock, and names the cells of a path that is too deep."""

from __future__ import annotations

import importlib
import sys

from tests.support.paths import ROOT

# The scripts are in no package.
sys.path.insert(0, str(ROOT / "scripts"))
netlist_paths = importlib.import_module("netlist_paths")
BOX = {"attributes": {"blackbox": "1"}, "ports": {}, "netnames": {}, "cells": {}}


def cell(kind: str, inputs: dict[str, int], **outputs: int) -> dict:
    return {
        "type": kind,
        "port_directions": dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output"),
        "connections": {pin: [bit] for pin, bit in (inputs | outputs).items()},
    }


def module(ports: dict[str, tuple[str, int]], names: dict[str, int], cells: dict[str, dict]) -> dict:
    return {
        "attributes": {},
        "ports": {name: {"direction": way, "bits": [bit]} for name, (way, bit) in ports.items()},
        "netnames": {name: {"hide_name": 0, "bits": [bit]} for name, bit in names.items()},
        "cells": cells,
    }


# begin -> near -> inside.lut -> far -> end, and of the slow clock begin -> near -> other.
MODULES = {
    "FDRE": BOX,
    "LUT2": BOX,
    "Inside": module({"a": ("input", 1), "y": ("output", 2)}, {}, {"lut": cell("LUT2", {"I0": 1}, O=2)}),
    "Top": module(
        {"clock": ("input", 1), "slow": ("input", 2)},
        {"begin": 3, "end": 7, "other": 8},
        {
            "first": cell("FDRE", {"C": 1, "D": 9}, Q=3),
            "near": cell("LUT2", {"I0": 3}, O=4),
            "inside": cell("Inside", {"a": 4}, y=5),
            "far": cell("LUT2", {"I0": 3, "I1": 5}, O=6),
            "last": cell("FDRE", {"C": 1, "D": 6}, Q=7),
            "aside": cell("FDRE", {"C": 2, "D": 4}, Q=8),
        },
    ),
}
DEEP = ["LUT2 near", "LUT2 inside.lut", "LUT2 far"]


def test_levels_across_modules_and_by_clock() -> None:
    paths = netlist_paths.Paths(MODULES, "Top")
    assert paths.deepest() == (3, DEEP)
    # LUTs, like ports, have no clock.
    assert paths.by_clock() == {"": 0, "clock": 3, "slow": 1}


def test_a_path_that_is_too_deep_has_its_cells() -> None:
    paths = netlist_paths.Paths(MODULES, "Top")
    assert paths.deep_ends(lambda _: 3) == {}
    assert paths.deep_ends(lambda _: 2) == {"end": {"levels": 3, "path": DEEP}}
    assert paths.deep_ends({"": 0, "clock": 3, "slow": 0}.__getitem__) == {
        "other": {"levels": 1, "path": ["LUT2 near"]}
    }
