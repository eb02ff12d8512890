# SPDX-License-Identifier: Apache-2.0
"""A described chip for the tests of the flow's Tcl."""

from __future__ import annotations

from pathlib import Path

import pytest

from boards import flow
from boards.board import Board


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Describes a chip as `make bitstreams` does, with one file of Verilog and empty files instead
    of corundum's."""

    def describe(board: str = "vcu1525", chip: str = "inner", verilog: str = "") -> Path:
        monkeypatch.setattr(flow.corundum, "FOLDER", tmp_path / "corundum")
        for name in (*flow.corundum.VERILOG, *flow.corundum.CONSTRAINTS):
            (tmp_path / "corundum" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "corundum" / name).write_text("")
        rtl = tmp_path / "rtl"
        rtl.mkdir(exist_ok=True)
        (rtl / "Top.sv").write_text(f"module Top({verilog}); endmodule\n")
        return flow.write_chip(Board.load(board), chip, tmp_path / "build", rtl)

    return describe
