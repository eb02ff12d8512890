# SPDX-License-Identifier: Apache-2.0
"""Packets to the box's own address at red that come from black (docs/explanation/addresses.md):
the management CPU gets what an SA or a policy lets in, and knows which of the two it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.compat import raw
from scapy.contrib.ospf import OSPF_Hdr, OSPF_Hello, OSPFv3_Hdr, OSPFv3_Hello
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.hosts import TO_RED, Pair, on_the_wire
from tests.support.punts import for_cpu, punted
from tests.support.reference import Tunnel

BLACK_MAC = "02:62:c0:00:02:01"
OWN, OWN_V6, FAR, FAR_V6 = "198.18.0.254", "2001:db8:18::fe", "198.19.0.1", "2001:db8:19::1"
PORTS = f"addr add {OWN}/24 dev red\naddr add {OWN_V6}/64 dev red\n"
TUNNEL = Tunnel()
# Everything is protected; of clear packets BGP alone comes in.
BGP = "xfrm policy add dst 198.18.0.0/16 proto tcp dport 179 dir in action allow priority 9\n"
OPEN = TUNNEL.batch() + PORTS + BGP
OTHER = Tunnel(spi_out=0x1111, spi_in=0x2222)
CLEAR = Ether(dst=BLACK_MAC, src="02:00:00:00:00:99")


def to_box(src: str = FAR, dst: str = OWN, ttl: int = 64) -> Packet:
    return IP(src=src, dst=dst, id=7, ttl=ttl) / TCP(sport=1024, dport=179) / Raw(b"x" * 40)


def esp(*inner: Packet, tunnel: Tunnel = TUNNEL, first: int = 1) -> list[Packet]:
    sender = tunnel.peer_sender()
    return [CLEAR / sender.encrypt(packet, seq_num=first + n) for n, packet in enumerate(inner)]


def run(folder: Path, frames: list[Packet], batch: str = OPEN, before=boxes.next_hops) -> tuple[list, boxes.Seen]:
    watch = ["box0.red", "box0.inner.punt"]
    seen = boxes.run([batch], {"box0.black": frames}, watch, folder, before)
    assert seen.out["box0.red"] == []
    return punted(folder, "inner"), seen


def test_out_of_a_tunnel_as_it_was(tmp_path: Path) -> None:
    """Of any protocol, length and TTL, whole or not; the header names the group and the SA."""
    packets = [
        *(to_box(ttl=ttl) for ttl in (0, 1, 64, 255)),
        IPv6(src=FAR_V6, dst=OWN_V6, hlim=255) / UDP(sport=3784, dport=3784) / Raw(b"bfd"),
        IP(src=FAR, dst=OWN, id=8) / ICMP(id=1, seq=2) / Raw(bytes(1300)),
        IPv6(src=FAR_V6, dst=OWN_V6) / ICMPv6EchoRequest(),
        *fragment(IP(src=FAR, dst=OWN, id=9) / UDP(dport=7) / Raw(bytes(2000)), 800),
        # A tunnel is a link, and its hellos are the box's.
        IP(src=FAR, dst="224.0.0.5", ttl=1) / OSPF_Hdr() / OSPF_Hello(),
        IPv6(src="fe80::2", dst="ff02::5", hlim=1) / OSPFv3_Hdr() / OSPFv3_Hello(),
    ]
    groups = "".join(
        f"xfrm policy add dst {group} dir in tmpl src {TUNNEL.far} dst {TUNNEL.near} proto esp reqid {TUNNEL.spi_in} mode tunnel\n"
        for group in ("224.0.0.0/4", "ff00::/8")
    )
    found, seen = run(tmp_path, esp(*packets), OPEN + groups)
    assert [p.frame for p in found] == [for_cpu(packet) for packet in packets]
    assert {(p.reason, p.port, p.group) for p in found} == {("tunnel", 0, "tunnel")}
    assert len({p.sa for p in found}) == 1 and found[0].sa is not None
    assert seen.named == [{"inner.punt_tunnel": len(packets)}]


def test_the_header_tells_sas_and_clear_packets_apart(tmp_path: Path) -> None:
    """Two SAs and a clear packet, all to the same address: each has its own mark."""
    batch = TUNNEL.batch(back="198.19.0.0/24") + OTHER.lines("198.18.9.0/24", "198.19.9.0/24", "198.19.9.0/24")
    stranger = to_box("203.0.113.9", ttl=1)
    frames = [*esp(to_box()), *esp(to_box("198.19.9.1"), tunnel=OTHER), CLEAR / stranger, *esp(to_box(), first=2)]
    found, seen = run(tmp_path, frames, batch + PORTS + BGP)
    first, other, again = (p.sa for p in found if p.reason == "tunnel")
    assert first == again != other
    clear = [(p.reason, p.group, p.sa, p.frame) for p in found if p.reason != "tunnel"]
    assert clear == [("clear", "clear", None, for_cpu(stranger))]
    assert seen.named == [{"inner.punt_tunnel": 3, "inner.punt_clear": 1}]


def test_what_may_not_come_in_is_not_for_the_box(tmp_path: Path) -> None:
    """Outside the SA's selectors (RFC 4301 5.2), or in clear without a policy."""
    batch = TUNNEL.batch("198.18.9.0/24", "198.19.0.0/16", "198.19.0.0/16") + PORTS
    batch = batch.replace("dst 0.0.0.0/0 dir in", "dst 198.18.9.0/24 dir in")
    found, seen = run(tmp_path, [*esp(to_box()), CLEAR / to_box()], batch)
    assert found == []
    assert seen.named == [{"inner.drop_selector_mismatch": 1, "outer.drop_policy": 1}]


def test_forged_replayed_and_from_the_box_itself(tmp_path: Path) -> None:
    good = esp(to_box(), to_box(OWN))
    forged = Ether(raw(good[0])[:-1] + bytes([raw(good[0])[-1] ^ 1]))
    found, seen = run(tmp_path, [forged, good[0], good[0], good[1]])
    assert [p.frame for p in found] == [for_cpu(to_box())]
    dropped = {"crypto.drop_dec_icv": 1, "inner.drop_replayed": 1, "inner.drop_inner_own_source": 1}
    assert seen.named == [{"inner.punt_tunnel": 1, **dropped}]


@pytest.mark.parametrize("count", [6, 7, 20])
def test_a_flood_out_of_a_tunnel_takes_nothing_from_others(tmp_path: Path, count: int) -> None:
    """The policer lets the burst pass; clear packets and forwarded ones have no part in it."""

    def before(sim: Simulator) -> None:
        boxes.next_hops(sim)
        sim.sallyctl(0, "punt", "set", "tunnel", "rate", "5", "burst", "7")

    clear = CLEAR / to_box("203.0.113.9")
    on = IP(src=FAR, dst="198.18.1.1", id=1) / UDP() / Raw(b"on")
    frames = [*esp(*(to_box() for _ in range(count)), on), *(5 * [clear])]
    batch = TUNNEL.batch(back="198.19.0.0/24") + PORTS + BGP
    seen = boxes.run([batch], {"box0.black": frames}, ["box0.red"], tmp_path, before)
    assert len(seen.out["box0.red"]) == 1
    refused = {"inner.drop_punt_tunnel": count - 7} if count > 7 else {}
    assert seen.named == [{"inner.punt_tunnel": min(count, 7), "inner.punt_clear": 5, **refused}]


def test_a_bump_in_the_wire_ends_no_packet(make_box) -> None:
    """It stands in for its hosts, whose packets are theirs."""
    pair = Pair()
    packet = pair.packet(40, back=True)
    frame = TO_RED / pair.far_sender().encrypt(packet, seq_num=1)
    outcome = make_box(pair.batch() + f"addr add {pair.near}/24 dev red\n").black([frame])
    assert outcome.named() == {} and outcome.out == [on_the_wire(TO_RED / packet)]
