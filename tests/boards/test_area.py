# SPDX-License-Identifier: Apache-2.0
"""The gate on area: what SLRs have, not what the device has."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from boards import areas
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
def test_a_chip_fits_the_slrs_of_its_core(board: str, chip: str):
    assert xcvu9p.violations(measured()[chip], len(Board.load(board).slrs(chip)), 60) == []


def test_two_slrs_are_too_few_for_the_inner_core():
    inner = {"lut": 342_850, "ff": 0, "bram36": 1123, "uram": 555, "dsp": 0}
    assert xcvu9p.violations(inner, 3, 60) == []
    assert xcvu9p.violations(inner, 2, 60) == [
        "77.99 % of the BRAM36 of 2 SLRs exceed 60 %",
        "86.72 % of the URAM of 2 SLRs exceed 60 %",
    ]


def test_a_device_is_three_slrs():
    used = {"lut": 394_080, "ff": 0, "bram36": 720, "uram": 193, "dsp": 0}
    assert xcvu9p.percent(used)["lut"] == 33.33
    assert xcvu9p.percent(used, 1)["lut"] == 100
    assert xcvu9p.violations(used, 3, 60) == []
    assert [text.split(" of 1 SLRs")[0] for text in xcvu9p.violations(used, 1, 60)] == [
        "100.0 % of the LUT",
        "100.0 % of the BRAM36",
        "60.31 % of the URAM",
    ]


SOURCES = {
    "InnerShell": "InnerCore core",
    "InnerCore": "Paths paths",
    "Paths": "Path encrypt, Path_1 decrypt, Other prefixes",
    "Path": "Detour path, Other hairpin",
    "Path_1": "Table selectors",
    "Table": "RowMemory memory",
    "RowMemory": "Bank banks_0, Bank banks_1",
    "Detour": "",
    "Other": "",
    "Bank": "",
}
SIZES = {"InnerShell": 100, "InnerCore": 90, "Paths": 80, "Path": 40, "Detour": 30, "Other": 5, "Path_1": 25}
SIZES |= {"Table": 20, "RowMemory": 16, "Bank": 6}
NEAR = {"vcu1525": 2, "xupp3r": 0}  # SLRs of the MAC


def uram(sizes: dict[str, int]) -> dict[str, dict[str, int]]:
    return {name: {"lut": 0, "ff": 0, "bram36": 0, "uram": size, "dsp": 0} for name, size in sizes.items()}


@pytest.fixture
def rtl(tmp_path: Path) -> Path:
    for name, cells in SOURCES.items():
        inside = "".join(f"  {cell} (\n    .clock (clock)\n  );\n" for cell in cells.split(", ") if cell)
        (tmp_path / f"{name}.sv").write_text(f"module {name}(\n  input clock\n);\n{inside}endmodule\n")
    return tmp_path


def test_memory_is_bound_to_slrs_by_the_place_around_it(rtl: Path):
    found = areas.bound(Board.load("vcu1525"), "inner", areas.hierarchy(rtl), uram(SIZES))
    # Banks in SLR2, hairpin and what else has no place in SLR1, the paths in two SLRs, the fabric
    # in any.
    alone, middle, either = 12, 10 + 15 + 5 + 8, {(0, 1): 5, (1, 2): 35}
    assert {slrs: area["uram"] for slrs, area in found} == {
        (0,): 0,
        (1,): middle,
        (2,): alone,
        (0, 1): middle + either[0, 1],
        (0, 2): alone,
        (1, 2): alone + middle + either[1, 2],
        (0, 1, 2): 100,
    }


@pytest.mark.parametrize(("bank", "status"), [(96, 0), (97, 1)])
def test_banks_that_fill_an_slr_are_caught(rtl: Path, monkeypatch: pytest.MonkeyPatch, bank: int, status: int):
    """Two banks in an SLR of 320 URAMs."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    report = rtl / "report.json"
    grown = {name: SIZES[name] + 2 * (bank - 6) for name in ("InnerShell", "InnerCore", "Paths", "Path_1", "Table")}
    report.write_text(json.dumps({"modules": uram(SIZES | grown | {"RowMemory": 4 + 2 * bank, "Bank": bank})}))
    done = CliRunner().invoke(importlib.import_module("slr_check").main, ["inner", str(rtl), str(report)])
    assert done.exit_code == status, done.output
    wrong = [f"{board} inner: bound to SLR{slr}: 60.62 % URAM exceed 60 %" for board, slr in NEAR.items()]
    assert [line for line in done.output.splitlines() if "exceed" in line] == wrong[: status * len(wrong)]
