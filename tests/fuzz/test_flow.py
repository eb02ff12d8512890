# SPDX-License-Identifier: Apache-2.0
"""sallyport-fuzz-pair: two crypto chips with other keys and other red plaintext look alike to black
and to software. It finds flows planted in the Verilog."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fuzz.test_fuzz import BIN, fuzz
from tests.support.planted import chip_with

COUNTS = re.compile(r"(\d+) rounds, (\d+) packets into each, .* (\d+) changes seen alike")


def looked_alike(packets: int) -> None:
    run = fuzz(BIN / "sallyport-fuzz-pair", "--seed", "1", "--packets", str(packets))
    print(run.stdout)
    assert run.returncode == 0, run.stdout[-400:]
    counts = COUNTS.search(run.stdout)
    assert counts
    assert int(counts[2]) >= packets
    assert int(counts[3]) > int(counts[2])


def test_secrets_make_no_difference() -> None:
    looked_alike(4_000)


@pytest.mark.long
def test_secrets_make_no_difference_over_100_000_packets() -> None:
    looked_alike(100_000)


# Text of Dispatcher.sv before and after.
PLANTED = {
    "plaintext in a sequence number": (
        "_0_bits_meta_sequence = stageJob_lane_sequence;",
        "_0_bits_meta_sequence = stageJob_lane_sequence ^ {63'h0, stageBeat_data[12]};",
    ),
    "a key in an SPI": (
        "_1_bits_meta_spi = stageJob_lane_spi;",
        "_1_bits_meta_spi = stageJob_lane_spi ^ {31'h0, stageJob_lane_key[7]};",
    ),
    "plaintext in the time": (
        "~withdraw & (drops | ~stageValid | stageFire)",
        "~withdraw & ~(stageValid & stageBeat_data[12]) & (drops | ~stageValid | stageFire)",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_flow_is_found(name: str, tmp_path: Path) -> None:
    before, after = PLANTED[name]
    run = fuzz(chip_with(tmp_path, "crypto-model", "Dispatcher.sv", before, after, "fuzz-pair"), "--packets", "20000")
    assert run.returncode == 1, run.stdout
    print(run.stdout.splitlines()[-1])
    assert "FLOW" in run.stdout.splitlines()[-1]
