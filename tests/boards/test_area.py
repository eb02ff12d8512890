# SPDX-License-Identifier: Apache-2.0
"""The gate on area: what the SLRs of a core's pblock have, not what the device has."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest

from boards.board import CHIPS, Board
from tests.support.paths import ROOT


def load() -> ModuleType:
    """The script's module, which is in no package."""
    spec = importlib.util.spec_from_file_location("xcvu9p", ROOT / "scripts/xcvu9p.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


xcvu9p = load()
MEASURED = re.compile(r"^\| (\w+) chip.*?\| ([\d.]+) % LUT, ([\d.]+) % BRAM36, ([\d.]+) % URAM", re.MULTILINE)


def measured() -> dict[str, dict[str, int]]:
    """What the last `make synth-check` found, as the status page has it."""
    rows = MEASURED.findall((ROOT / "docs/status.md").read_text())
    shares = {chip.lower(): dict(zip(xcvu9p.GATED, map(float, row), strict=True)) for chip, *row in rows}
    return {
        chip: {key: round(row.get(key, 0) / 100 * total) for key, total in xcvu9p.TOTALS.items()}
        for chip, row in shares.items()
    }


@pytest.mark.parametrize("board", Board.names())
@pytest.mark.parametrize("chip", CHIPS)
def test_a_core_fits_the_slrs_of_its_pblock(board: str, chip: str):
    assert xcvu9p.violations(measured()[chip], len(Board.load(board).core_slrs(chip)), 60) == []


def test_two_slrs_are_too_few_for_the_inner_core():
    inner = {"lut": 342_850, "ff": 0, "bram36": 1123, "uram": 555, "dsp": 0}
    assert xcvu9p.violations(inner, 3, 60) == []
    assert xcvu9p.violations(inner, 2, 60) == [
        "77.99 % of the BRAM36 of the 2 SLRs of its pblock exceed 60 %",
        "86.72 % of the URAM of the 2 SLRs of its pblock exceed 60 %",
    ]


def test_a_device_is_three_slrs():
    used = {"lut": 394_080, "ff": 0, "bram36": 720, "uram": 193, "dsp": 0}
    assert xcvu9p.percent(used)["lut"] == 33.33
    assert xcvu9p.percent(used, 1)["lut"] == 100
    assert xcvu9p.violations(used, 3, 60) == []
    assert [text.split(" of the 1 SLRs")[0] for text in xcvu9p.violations(used, 1, 60)] == [
        "100.0 % of the LUT",
        "100.0 % of the BRAM36",
        "60.31 % of the URAM",
    ]
