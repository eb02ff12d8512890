# SPDX-License-Identifier: Apache-2.0
"""sallyport-fuzz finds nothing in the chips, and finds mistakes planted in their Verilog."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.planted import chip_with

BIN = ROOT / "build" / "bin"
COUNTS = re.compile(r"(\d+) rounds, .* out (\d+) (?:ESP|whole), (\d+) (?:verified|in part), .*?(\d+) in bypass; ")
# Drops that show that an attack met its measure.
CRYPTO = ("enc_no_key", "enc_bypass_denied", "enc_not_ready", "enc_mode", "dec_icv", "dec_no_key", "dec_mode")
INTERFACE = {
    "inner": (
        "rx_bad_fcs",
        "ip_checksum",
        "frag_orphan",
        "policy",
        "replayed",
        "no_selector",
        "inner_malformed",
        "hairpin_clear",
    ),
    "outer": ("rx_bad_fcs", "ip_checksum", "reasm_timeout", "policy", "unknown_spi", "no_tunnel", "no_next_hop"),
}


def fuzz(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *options], capture_output=True, text=True, check=False)


def found_nothing(run: subprocess.CompletedProcess[str], rounds: int, packets: int, drops: tuple[str, ...]) -> None:
    print(run.stdout)
    assert run.returncode == 0, run.stdout[-400:]
    counts = COUNTS.search(run.stdout)
    assert counts
    assert int(counts[1]) >= rounds
    # An interface chip cuts few packets.
    for left in (counts[2], counts[3], counts[4]) if " ESP, " in run.stdout else (counts[2], counts[4]):
        assert int(left) >= packets
    found = dict(line.split() for line in run.stdout.splitlines() if line.startswith("  drop_"))
    for name in drops:
        assert int(found[f"drop_{name}"]) > 0


def test_a_fixed_seed_finds_nothing_in_the_crypto_chip() -> None:
    run = fuzz(BIN / "sallyport-fuzz-model", "--seed", "2", "--rounds", "8")
    found_nothing(run, rounds=8, packets=20, drops=CRYPTO)


@pytest.mark.parametrize("chip", INTERFACE)
def test_a_fixed_seed_finds_nothing_in_an_interface_chip(chip: str) -> None:
    run = fuzz(BIN / "sallyport-fuzz-model", "--chip", chip, "--seed", "3", "--rounds", "10")
    found_nothing(run, rounds=10, packets=1, drops=INTERFACE[chip])


@pytest.mark.long
def test_five_minutes_find_nothing() -> None:
    """With the lanes' RTL."""
    run = fuzz(BIN / "sallyport-fuzz", "--seed", "2", "--seconds", "300")
    found_nothing(run, rounds=20, packets=200, drops=CRYPTO)


@pytest.mark.long
@pytest.mark.parametrize("chip", INTERFACE)
def test_five_minutes_find_nothing_in_an_interface_chip(chip: str) -> None:
    run = fuzz(BIN / "sallyport-fuzz-model", "--chip", chip, "--seed", "2", "--seconds", "300")
    found_nothing(run, rounds=40, packets=10, drops=INTERFACE[chip])


@pytest.mark.parametrize(
    "option", [["--seed"], ["--seed", "x"], ["--rounds", "-1"], ["--fast", "1"], ["--chip", "red"]]
)
def test_bad_options_are_refused(option: list[str]) -> None:
    run = fuzz(BIN / "sallyport-fuzz-model", *option)
    assert run.returncode == 2
    assert option[0] in run.stderr


# Verilog of a module, its text before and after, and what must be found.
PLANTED = {
    "merge lets refused packets leave": ("crypto-model/Merge.sv", "(fire & ~_GEN)", "(fire)", "WRONG PACKET"),
    "receiver believes every CRC": (
        "crypto-model/LinkRx.sv",
        "crcGood <= crcDifference == 32'h0;",
        "crcGood <= 1'h1;",
        "",
    ),
    "every packet may bypass": (
        "crypto-model/EncryptFetch.sv",
        "(headAtRow_meta_transport ? io_allowFrames : io_allowBypass)",
        "1'h1",
        "WRONG PACKET: it bypasses IPsec, which no register allows",
    ),
    "the port takes frames with a bad FCS": (
        "inner/MacReceive.sv",
        "write_error <= beat1_error |",
        "write_error <=",
        "WRONG PACKET: a damaged frame leaves",
    ),
    "each policy is BYPASS": (
        "inner/InnerClassifier.sv",
        "verdict_link_REG_1_bypass <= decided & _link_bypass_T;",
        "verdict_link_REG_1_bypass <= decided;",
        "WRONG PACKET: one bypasses IPsec, which no row allows",
    ),
    "packets between tunnels may bypass": (
        "inner/InnerClassifier.sv",
        "decided & _link_bypass_T & hairpin1",
        "1'h0",
        "WRONG PACKET: a packet between tunnels without protection leaves",
    ),
    "a window forgets what it received": (
        "inner/ReplayRing.sv",
        "& _verdict_replayed_T_6[0]);",
        "& 1'h0);",
        "WRONG PACKET: a replay leaves",
    ),
    "the CPU gets ESP of the outer chip": (
        "outer/ClearJoin.sv",
        ": io_in_bits_meta_header_meta_punt_toPunt;",
        ": _slice_io_out_bits_punt_toPunt;",
        "WRONG PACKET: a packet that came in elsewhere leaves to the CPU",
    ),
    "the outer chip believes every CRC": (
        "outer/LinkRx.sv",
        "crcGood <= crcDifference == 32'h0;",
        "crcGood <= 1'h1;",
        "",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, tmp_path: Path) -> None:
    path, before, after, finding = PLANTED[name]
    folder, module = path.split("/")
    program = chip_with(tmp_path, folder, module, before, after, "fuzz-model")
    run = fuzz(program, "--chip", folder.removesuffix("-model"), "--rounds", "30")
    assert run.returncode == 1, run.stdout
    print(run.stdout.splitlines()[-1])
    assert finding in run.stdout.splitlines()[-1]
