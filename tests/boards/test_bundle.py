# SPDX-License-Identifier: Apache-2.0
"""The archive of a run: its files, the files that stay out, and a summary of runs that ended in
each way."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from boards import bundle
from boards.board import Board

LOG = """sallyport: vcu1525 inner: ip: done in 312 s
sallyport: vcu1525 inner: synth: done in 5120 s
sallyport: vcu1525 inner: place: done in 9000 s, worst setup slack -0.412 ns
"""
VIVADO = """INFO: [Synth 8-7079] Multithreading enabled
CRITICAL WARNING: [Constraints 18-540] exceptions not applied
CRITICAL WARNING: [Constraints 18-540] exceptions not applied
ERROR: [Place 30-487] The packing of instances into the device could not be obeyed.
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an inner chip whose placement failed; the two others were not begun."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "build/boards/vcu1525-first/inner"
    (folder / "reports/route").mkdir(parents=True)
    (folder / "rtl").mkdir()
    (folder / "flow.log").write_text(LOG)
    (folder / "vivado.log").write_text(VIVADO)
    (folder / "reports/route/timing.rpt").write_text("slack")
    for name in ("rtl/InnerBoard.sv", "synth.dcp", "InnerBoard.bit"):
        (folder / name).write_text("design")
    return folder


def write(tmp_path: Path) -> tuple[str, list[str]]:
    board = Board.load("vcu1525").with_variant("first")
    out = tmp_path / "run.tar.gz"
    told = bundle.write(board, ("inner", "crypto"), out)
    with tarfile.open(out) as archive:
        return told, sorted(archive.getnames())


def test_reports_and_logs_are_sent_and_designs_are_not(run: Path, tmp_path: Path):
    assert run.exists()
    _, names = write(tmp_path)
    assert names == [
        "run/inner/flow.log",
        "run/inner/reports/route/timing.rpt",
        "run/inner/vivado.log",
        "run/summary.txt",
        "run/versions.txt",
    ]


def test_summary_of_a_run_that_stopped(run: Path, tmp_path: Path):
    assert run.exists()
    told, _ = write(tmp_path)
    assert told.splitlines() == [
        "vcu1525 first, xcvu9p-fsgd2104-2L-e",
        "inner: last step place",
        "  ip: done in 312 s",
        "  synth: done in 5120 s",
        "  place: done in 9000 s, worst setup slack -0.412 ns",
        "  gate: not reached",
        "  errors and critical warnings: 2",
        "    CRITICAL WARNING: [Constraints 18-540] exceptions not applied",
        "    ERROR: [Place 30-487] The packing of instances into the device could not be obeyed.",
        "crypto: not begun",
    ]


def test_summary_of_a_gate_that_found_much(run: Path, tmp_path: Path):
    (run / "gate.txt").write_text("".join(f"setup slack -0.{n} ns\n" for n in range(1, 24)))
    told, names = write(tmp_path)
    assert "  gate, violations: 23\n    setup slack -0.1 ns\n" in told
    assert "    and 3 more\n" in told and "-0.21 ns" not in told
    assert "run/inner/gate.txt" in names
