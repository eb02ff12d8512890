# SPDX-License-Identifier: Apache-2.0
"""sallyport-fuzz finds nothing in the crypto chip, and finds mistakes planted in its Verilog."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.planted import chip_with

BIN = ROOT / "build" / "bin"
COUNTS = re.compile(r"seed (\d+), (\d+) rounds, .* out (\d+) ESP, (\d+) verified, (\d+) in bypass; (\d+) register")


def fuzz(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *options], capture_output=True, text=True, check=False)


def found_nothing(run: subprocess.CompletedProcess[str], rounds: int, packets: int) -> None:
    print(run.stdout)
    assert run.returncode == 0, run.stdout[-400:]
    counts = COUNTS.search(run.stdout)
    assert counts
    assert int(counts[2]) >= rounds
    for left in (counts[3], counts[4], counts[5]):
        assert int(left) >= packets
    # Each attack met its measure.
    drops = dict(line.split() for line in run.stdout.splitlines() if line.startswith("  drop_"))
    for name in ("enc_no_key", "enc_bypass_denied", "enc_not_ready", "enc_mode", "dec_icv", "dec_no_key", "dec_mode"):
        assert int(drops[f"drop_{name}"]) > 0


def test_a_fixed_seed_finds_nothing() -> None:
    found_nothing(fuzz(BIN / "sallyport-fuzz-model", "--seed", "2", "--rounds", "4"), rounds=4, packets=20)


@pytest.mark.long
def test_five_minutes_find_nothing() -> None:
    """With the lanes' RTL."""
    found_nothing(fuzz(BIN / "sallyport-fuzz", "--seed", "2", "--seconds", "300"), rounds=20, packets=200)


@pytest.mark.parametrize("option", [["--seed"], ["--seed", "x"], ["--rounds", "-1"], ["--fast", "1"]])
def test_bad_options_are_refused(option: list[str]) -> None:
    run = fuzz(BIN / "sallyport-fuzz-model", *option)
    assert run.returncode == 2
    assert option[0] in run.stderr


# Verilog of a module, its text before and after, and what must be found.
PLANTED = {
    "merge lets refused packets leave": ("Merge.sv", "(fire & ~_GEN)", "(fire)", "WRONG PACKET"),
    "receiver believes every CRC": ("LinkRx.sv", "crcGood <= crcDifference == 32'h0;", "crcGood <= 1'h1;", ""),
    "every packet may bypass": (
        "EncryptFetch.sv",
        "(headAtRow_meta_transport ? io_allowFrames : io_allowBypass)",
        "1'h1",
        "WRONG PACKET: it bypasses IPsec, which no register allows",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, tmp_path: Path) -> None:
    module, before, after, finding = PLANTED[name]
    run = fuzz(chip_with(tmp_path, "crypto-model", module, before, after, "fuzz-model"), "--rounds", "30")
    assert run.returncode == 1, run.stdout
    assert finding in run.stdout.splitlines()[-1]
