# SPDX-License-Identifier: Apache-2.0
"""A flipped bit of a table of DSCPs: the packets of its row are dropped by name, under no other SA
and with no other DSCP, and all others go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.reference import NEAR, Tunnel

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
EF = 46


def batch(words: str) -> str:
    """Two outbound SAs of a policy, the second with these words."""
    lines = [f"addr add {NEAR}/24 dev black"]
    for spi, more in ((0x1001, ""), (0x1002, words)):
        state = next(line for line in Tunnel(spi_out=spi).batch().splitlines() if f"spi {spi:#x}" in line)
        lines.append(state.replace(f"reqid {spi} ", f"reqid {7 if 'for-dscp' in words else spi} {more} "))
        ends = f"tmpl src {NEAR} dst {Tunnel().far} proto esp mode tunnel reqid"
        lines.append(f"xfrm policy add dst 198.19.{spi & 3}.0/24 dir out {ends} {7 if 'for-dscp' in words else spi}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("words", "memory", "dropped"),
    [
        ("for-dscp ef", "box0.inner.paths.encrypt.chosen.sas.memory.banks_0.memory", "inner.drop_dscp_sa_upset"),
        ("dscp map EF:0", "box0.outer.paths.encrypt.dscps.memory.banks_0.memory", "outer.drop_no_tunnel"),
    ],
)
@pytest.mark.parametrize("bit", [0, -2, -1])
def test_a_row_with_a_flipped_bit(words: str, memory: str, dropped: str, bit: int, tmp_path: Path) -> None:
    """In all rows of EF: the lowest bit, the valid bit, and the parity."""

    def flip(sim: Simulator) -> None:
        boxes.next_hops(sim)
        found = next(each for each in sim.command("memories")["memories"] if each["name"] == memory)
        for row in range(EF, found["rows"], 64):
            sim.command("fault", upset=memory, row=row, bit=bit % found["bits"])

    packets = [
        ETHERNET / IP(src="198.18.0.1", dst=f"198.19.{to}.1", tos=dscp << 2) / UDP(sport=7, dport=9)
        for to in (1, 2)
        for dscp in (0, EF, 63)
    ]
    seen = boxes.run([batch(words)], {"box0.red": packets}, ["box0.black"], tmp_path, flip)
    # Both policies choose by DSCP from the SAs of one reqid; a map is that of one SA.
    lost = 2 if "for-dscp" in words else 1
    assert seen.named == [{dropped: lost}]
    assert len(seen.out["box0.black"]) == len(packets) - lost
