# SPDX-License-Identifier: Apache-2.0
"""The generated tops, as text: values that no elaboration can find wrong."""

from __future__ import annotations

import re

import pytest

from boards import top, xdc
from boards.board import CHIPS, VARIANTS, Board, BoardError

CARDS = [(board, chip) for board in Board.names() for chip in CHIPS]


@pytest.mark.parametrize(("board_name", "chip"), CARDS)
def test_the_monitors_converter_has_a_clock_that_it_takes(board_name: str, chip: str):
    """UG580: 1 to 5.2 MHz, that of the DRP divided by bits 15:8 of configuration register 42h,
    where 0 to 2 are 2."""
    board = Board.load(board_name)
    free, mmcm = board.clocks["free_running"], board.clocks["mmcm"]
    control = free["mhz"] * mmcm["multiply"] / mmcm["control"]
    assert 8 <= control <= 250
    found = re.search(r"SYSMONE4 #\(.*?\.INIT_42\(16'd(\d+)\)", top.text(board, chip), re.DOTALL)
    divisor = max(2, int(found[1]) >> 8) if found else 2
    assert 1 <= control / divisor <= 5.2


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("board_name", Board.names())
def test_the_core_has_the_clock_of_its_variant(board_name: str, variant: str):
    """UG572: the clock's multiplier over the divisor of CLKOUT0, in eighths; the VCO within 800 to
    1600 MHz."""
    board = Board.load(board_name).with_variant(variant)
    text = top.text(board, "crypto")
    period = float(re.search(r"CLKIN1_PERIOD\(([\d.]+)\)", text)[1])
    vco = 1000 / period * float(re.search(r"CLKFBOUT_MULT_F\(([\d.]+)\)", text)[1])
    assert 800 <= vco <= 1600
    core = vco / float(re.search(r"CLKOUT0_DIVIDE_F\((\d+\.\d+)\)", text)[1])
    assert core == pytest.approx(VARIANTS[variant]["core_mhz"], rel=1e-3)
    assert f"coreKhz(20'd{1000 * VARIANTS[variant]['core_mhz']})" in text


def test_a_clock_that_the_mmcm_cannot_make_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(VARIANTS, "odd", {"core_mhz": 299})
    with pytest.raises(BoardError, match="the MMCM makes no 299 MHz for variant odd"):
        Board.load("vcu1525").with_variant("odd")


def test_floorplans_name_pcie_as_the_top_does():
    """Clocks of the transceivers are found below this instance."""
    assert f"pcie4_uscale_plus {xdc.PCIE_CELL} (" in top.text(Board.load("vcu1525"), "inner")


@pytest.mark.parametrize(("board_name", "chip"), CARDS)
def test_no_clock_buffer_of_a_transceiver_follows_another(board_name: str, chip: str):
    """UG949: a BUFG_GT is driven by a transceiver or by ODIV2; PCIe's core has one at sys_clk."""
    text = top.text(Board.load(board_name), chip)
    half = re.search(r"IBUFDS_GTE4 pcie_refclk_buffer .*\.ODIV2\((\w+)\)", text)[1]
    assert f".sys_clk({half})" in text
    assert not re.search(r"^\s*BUFG_GT ", text, re.MULTILINE)
