# SPDX-License-Identifier: Apache-2.0
"""A bump in the wire before a host, and Linux in QEMU as the other end of its SAs in
transport mode."""

from __future__ import annotations

from pathlib import Path

from tests.peers.linux_network import PINGS, network
from tests.support.hosts import Pair
from tests.support.live_box import PEER_MAC, RED_HOST_MAC, RED_TAP

PAIRS = (
    Pair(near="198.18.0.1", far="198.18.0.2"),
    Pair(suite="aes128-sha256", spi_out=0x1002, spi_in=0x2003, near="2001:db8:1::1", far="2001:db8:1::2"),
)


def test_transport_mode_by_a_bump(tmp_path: Path) -> None:
    """ARP crosses the bump as it is."""
    text = PAIRS[0].batch() + PAIRS[1].lines()
    with network(tmp_path, text) as bump:
        for pair in PAIRS:
            length, more = (64, "nodad") if ":" in pair.near else (24, "")
            bump.red.run("ip", "addr", "add", f"{pair.near}/{length}", "dev", RED_TAP, *more.split())
            bump.linux.run(f"/bin/ip addr add {pair.far}/{length} dev eth0 {more}")
            # Linux would ask for its neighbour in ESP, since the policies have that, too
            if ":" in pair.near:
                bump.red.run("ip", "neigh", "add", pair.far, "lladdr", PEER_MAC, "dev", RED_TAP)
                bump.linux.run(f"/bin/ip neigh add {pair.near} lladdr {RED_HOST_MAC} dev eth0")
            assert bump.pings_answered(pair.far) == PINGS
            assert [bump.packets(spi) for spi in (pair.spi_out, pair.spi_in)] == [PINGS, PINGS]
