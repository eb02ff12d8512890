# SPDX-License-Identifier: Apache-2.0
"""A policy that protects but has no SA (RFC 4301 5.1 step 3b): the management CPU gets the packets,
the black side none of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapReader

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.hosts import BRIDGE, TO_BLACK, Pair, opened
from tests.support.reference import ANY, Tunnel, esp_payload, forwarded

TUNNEL = Tunnel()
BLACK, PUNTS = "box0.black", "box0.inner.punt"
LAST = "".join(  # what would let the packets out in clear if their own policy did not decide
    f"xfrm policy add src {network} dst {network} dir out priority 4000000000 action allow\n"
    for network in ("198.18.0.0/15", "2001:db8::/32")
)


def packets(count: int) -> list[Packet]:
    """Of both versions, from a network that is protected."""
    heads = [IP(src="198.18.0.1", dst="198.19.0.1"), IPv6(src="2001:db8:1::1", dst="2001:db8:2::1")]
    return [heads[n % 2] / UDP(sport=7, dport=9) / Raw(bytes([n % 256]) * (20 + n % 400)) for n in range(count)]


def framed(these: list[Packet]) -> list[bytes]:
    return [bytes(Ether(dst="02:00:00:00:00:72", src="02:00:00:00:00:99") / packet) for packet in these]


def without_states(batch: str, words: str = "") -> str:
    """The batch file without its SAs, or without those that are written with some words."""
    return "".join(line for line in batch.splitlines(True) if "xfrm state" not in line or words not in line)


def punts(folder: Path) -> list[tuple[str, bytes]]:
    """Reason with group, and frame."""
    with RawPcapReader(str(folder / f"{PUNTS}.pcapng")) as reader:
        found = [
            (frame, re.match(r"punt: (\w+), port 0, group (\w+)", b"".join(meta.comments).decode()))
            for frame, meta in reader
        ]
    return [(f"{words[1]} {words[2]}", frame) for frame, words in found if words]


ROUTER = TUNNEL.batch(ANY, ANY, ANY) + LAST


@pytest.mark.parametrize("sas", ["none", "inbound", "deleted"])
def test_what_has_no_sa_asks_for_one(tmp_path: Path, sas: str) -> None:
    """Whole frames, for the reason of a policy; none leaves, in clear or not."""
    batch = {
        "none": without_states(ROUTER),
        "inbound": without_states(ROUTER, f"spi {TUNNEL.spi_out:#x} "),
        "deleted": ROUTER,
    }[sas]

    def before(sim: Simulator) -> None:
        boxes.next_hops(sim)
        if sas == "deleted":
            sim.sallyctl(0, "xfrm", "state", "delete", "dst", TUNNEL.far, "proto", "esp", "spi", TUNNEL.spi_out)

    frames = framed(packets(40))
    seen = boxes.run([batch], {"box0.red": frames}, [BLACK, PUNTS], tmp_path, before)
    assert seen.out[BLACK] == []
    assert punts(tmp_path) == [("policy other", frame) for frame in frames]
    assert seen.named == [{"inner.punt_policy": len(frames)}]


def test_an_sa_that_is_used_up_asks_for_nothing(tmp_path: Path) -> None:
    """It is there until it is deleted, and its limit was an event."""
    spi = TUNNEL.spi_out
    batch = ROUTER.replace(f"reqid {spi} mode tunnel replay", f"reqid {spi} limit packet-hard 1 mode tunnel replay")
    assert batch.count("limit") == 1
    frames = framed(packets(40))
    seen = boxes.run([batch], {"box0.red": frames}, [BLACK], tmp_path, boxes.next_hops)
    assert len(seen.out[BLACK]) == 1
    assert seen.named == [{"inner.drop_lifetime": len(frames) - 1}]


def test_questions_are_policed(tmp_path: Path) -> None:
    """More than the group's burst are dropped by the group's name, and go nowhere either."""

    def before(sim: Simulator) -> None:
        boxes.next_hops(sim)
        sim.sallyctl(0, "punt", "set", "other", "rate", 5, "burst", 3, "dev", "red")

    frames = framed(packets(50))
    seen = boxes.run([without_states(ROUTER)], {"box0.red": frames}, [BLACK, PUNTS], tmp_path, before)
    assert seen.out[BLACK] == []
    assert [frame for _, frame in punts(tmp_path)] == frames[:3]
    assert seen.named == [{"inner.punt_policy": 3, "inner.drop_punt_other": 47}]


def test_the_sa_that_was_asked_for_takes_what_follows(tmp_path: Path) -> None:
    """The same policies, and SAs that come by a batch of their own, as a daemon's would."""
    states = tmp_path / "states.xfrm"
    states.write_text("".join(line for line in ROUTER.splitlines(True) if "xfrm state" in line))

    def before(sim: Simulator) -> None:
        boxes.next_hops(sim)
        sim.sallyctl(0, "-batch", states)

    these = packets(30)
    seen = boxes.run([without_states(ROUTER)], {"box0.red": framed(these)}, [BLACK], tmp_path, before)
    receiver = TUNNEL.peer_receiver()
    inside = [bytes(receiver.decrypt(esp_payload(frame))) for frame in seen.out[BLACK]]
    assert inside == [forwarded(bytes(packet)) for packet in these]
    assert seen.named == [{}]


def test_hosts_without_an_sa_ask_beside_those_that_have_one(tmp_path: Path) -> None:
    """A bump in the wire: a policy of networks asks for each two hosts by themselves; frames are as
    the host sent them."""
    pair = Pair(near="198.18.0.1", far="198.19.0.1")
    policy = "src 198.18.0.0/16 dst 198.19.0.0/16 dir out tmpl proto esp reqid 7 mode transport"
    batch = f"{BRIDGE}{pair.states(reqid=7)}xfrm policy add {policy}\n{LAST}"
    strangers = [Pair(near="198.18.0.1", far="198.19.0.2"), Pair(near="198.18.0.2", far="198.19.0.1")]
    known = [bytes(TO_BLACK / pair.packet(size)) for size in (10, 20, 300)]
    asked = [bytes(TO_BLACK / other.packet(size)) for size in (30, 500) for other in strangers]
    seen = boxes.run([batch], {"box0.red": [*asked[:2], *known, *asked[2:]]}, [BLACK, PUNTS], tmp_path)
    assert [opened(pair.far_receiver(), frame) for frame in seen.out[BLACK]] == known
    assert punts(tmp_path) == [("policy other", frame) for frame in asked]
    assert seen.named == [{"inner.punt_policy": len(asked)}]
