# SPDX-License-Identifier: Apache-2.0
"""strongSwan's ha plugin on a pair of boxes: the charon of the box that takes over goes on with the
IKE_SA (docs/how-to/ike.md)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from tests.ike.charons import PLUGINS, Charon, child, skip_without_strongswan
from tests.ike.ends import BEHIND_PEER, NET, Ends
from tests.support.live_box import BOX, PEER, PEER_MAC, RED_HOST, RED_HOST_MAC
from tests.support.pairs import DEAD_S, LINK, PairBox, pair
from tests.support.switch import BRIDGE, Switch

LINES = f"""addr add {BOX[0][0]}/24 dev red
addr add {BOX[1][0]}/24 dev black
neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red
neigh add {PEER} lladdr {PEER_MAC} dev black
route add 10.2.0.0/16 via {PEER} dev black
"""
# The node whose own address is the greater as a string takes the segment when both start, so that
# is side a.
HA = """ha {{
      local = {own}
      remote = {other}
      fifo_interface = no
      heartbeat_delay = 500
      heartbeat_timeout = {timeout} }}"""


ENCAP = "encap = yes"  # which libipsec needs


def skip_without_ha() -> None:
    skip_without_strongswan()
    if not (PLUGINS / "libstrongswan-ha.so").exists():
        pytest.skip("strongSwan's ha plugin is not installed: libcharon-extra-plugins of Debian 12")


@contextmanager
def ends(folder: Path) -> Iterator[tuple[list[PairBox], list[Ends], Switch]]:
    """Each box as the tests of one box have it, with the same host and the same peer."""
    skip_without_ha()
    charons: list[Charon] = []
    with pair(folder, linux=True) as (boxes, red, black):
        for switch, address, mac in ((red, RED_HOST, RED_HOST_MAC), (black, PEER, PEER_MAC)):
            switch.space.run("ip", "link", "set", BRIDGE, "address", mac)
            switch.space.run("ip", "addr", "add", f"{address}/24", "dev", BRIDGE)
            switch.space.run("ip", "link", "set", "lo", "up")
        red.space.run("ip", "route", "add", "default", "via", BOX[0][0])
        black.space.run("ip", "addr", "add", f"{BEHIND_PEER}/32", "dev", "lo")
        for box in boxes:
            box.configure(LINES)
        try:
            peer = Charon(folder, black.space, (PEER, BOX[1][0]), None)
            charons.append(peer)
            for number, box in enumerate(boxes):
                own, other = LINK[number], LINK[1 - number]
                assert box.space is not None
                ha = HA.format(own=own, other=other, timeout=1000 * DEAD_S)
                charons.append(Charon(folder, box.space, (BOX[1][0], PEER), box.daemon.control, {"ha": ha}))
            both = [
                Ends(box.daemon, charon, peer, red.space, black.space)
                for box, charon in zip(boxes, charons[1:], strict=True)
            ]
            yield boxes, both, black
        finally:
            for charon in charons:
                charon.kill()


def ike(charon: Charon) -> dict[str, str]:
    """What charon has of its IKE_SA."""
    return dict(re.findall(r"([\w-]+)=(\S*)", charon.swanctl("--list-sas", "--raw").partition("child-sas")[0]))


def numbers(frame: bytes) -> list[tuple[int, int]]:
    """SPI and sequence number, if it is ESP in UDP from the box (RFC 3948, 2.1)."""
    packet = Ether(frame)
    if UDP not in packet or packet[UDP].sport != 4500 or packet[IP].src != BOX[1][0]:
        return []
    spi, number = struct.unpack("!II", bytes(packet[UDP].payload)[:8])
    return [(spi, number)] if spi else []


def test_the_other_charon_goes_on(tmp_path: Path) -> None:
    """The charon that stands by has the IKE_SA and has the box install the same SAs. When the other
    dies with its box it rekeys them, and then it rekeys, is rekeyed, and deletes as one that was
    there from the start."""
    with ends(tmp_path) as (boxes, (first, second), black):
        boxes[0].wait_until_active()
        first.box.wait_for_log("HA segment 1 activated, now active: 1")
        # A second after its start each charon asks the other for all IKE_SAs: one made before that
        # comes back as a passive one.
        for ends_of in (first, second):
            ends_of.box.wait_for_log("requesting HA resynchronization")
        second.box.load(child("net", 1, 2, NET), ENCAP)
        first.load(options=ENCAP)
        first.box.initiate("net")
        second.box.wait_for(lambda: len(second.spis()) == 2)
        old = first.spis()
        assert second.spis() == old
        assert (ike(first.box)["state"], ike(second.box)["state"]) == ("ESTABLISHED", "PASSIVE")
        ike_spis = {ike(charon)["initiator-spi"] for charon in (first.box, second.box, first.peer)}
        first.ping()

        first.box.process.kill()
        boxes[0].die()
        boxes[1].wait_until_active()
        second.box.wait_for(lambda: len(second.spis()) == 2 and not second.spis() & old)
        second.ping()
        assert ike(second.box)["state"] == "ESTABLISHED"
        assert {ike(charon)["initiator-spi"] for charon in (second.box, second.peer)} == ike_spis and len(ike_spis) == 1
        for charon, kind in ((second.peer, "child"), (second.box, "ike"), (second.peer, "ike")):
            second.rekey(charon, kind)
            second.ping(1)
        second.box.terminate()
        second.box.wait_for(lambda: not second.spis() and not second.peer.children())

    used = [(box, number) for box, frame in black.seen for number in numbers(frame)]
    assert len({number for _, number in used}) == len(used), "no SA of either box used a number twice"
    # Each box sent: the first its answers and requests under the old SA, the other those of all
    # that came later.
    assert {box for box, _ in used} == {0, 1}
    assert {f"0x{spi:08x}" for box, (spi, _) in used if box == 0} <= old
