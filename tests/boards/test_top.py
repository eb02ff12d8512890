# SPDX-License-Identifier: Apache-2.0
"""The generated tops, as text: values that no elaboration can find wrong."""

from __future__ import annotations

import re

import pytest

from boards import top
from boards.board import CHIPS, Board

CARDS = [(board, chip) for board in Board.names() for chip in CHIPS]


@pytest.mark.parametrize(("board_name", "chip"), CARDS)
def test_the_monitors_converter_has_a_clock_that_it_takes(board_name: str, chip: str):
    """UG580: 1 to 5.2 MHz, that of the DRP divided by bits 15:8 of configuration register 42h, where 0 to 2 are 2."""
    board = Board.load(board_name)
    free, mmcm = board.clocks["free_running"], board.clocks["mmcm"]
    control = free["mhz"] * mmcm["multiply"] / mmcm["control"]
    assert 8 <= control <= 250
    found = re.search(r"SYSMONE4 #\(.*?\.INIT_42\(16'd(\d+)\)", top.text(board, chip), re.DOTALL)
    divisor = max(2, int(found[1]) >> 8) if found else 2
    assert 1 <= control / divisor <= 5.2
