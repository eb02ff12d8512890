# SPDX-License-Identifier: Apache-2.0
"""Frames to both interface chips, the fragments that scapy cuts them into, and the packets as which
those go on that are not put together.

`python -m tests.vectors.test_chip_fragments` writes the table anew; the test fails if scapy no
longer makes the committed table. The policies are those of InnerSetup.scala and OuterFrames.scala.
"""

from collections.abc import Iterator

from scapy.compat import raw
from scapy.layers.inet import IP, TCP, UDP, IPOption, fragment
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    fragment6,
)
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw

from tests.support.paths import ROOT
from tests.support.reference import forwarded

TABLE = ROOT / "interface_fpga/test/resources/chip_fragments.txt"
HEAD = """\
# Whole frames and what scapy cuts them into; tests/vectors/test_chip_fragments.py writes this table and checks it. A line a frame:
# chip name frame fragment fragment ..., of fragments that go on as such fragment,packet
"""
INNER = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
OUTER = Ether(dst="02:5a:00:00:00:01", src="02:00:00:00:00:99")
LOAD = bytes(range(251)) * 40


def v4(link: Packet, header: Packet, payload: Packet, size: int) -> list[bytes]:
    """The whole frame, then its fragments."""
    whole = IP(raw(header / payload))
    return [raw(link / packet) for packet in (whole, *fragment(whole, size))]


def v6(link: Packet, headers: Packet, payload: Packet, size: int) -> list[bytes]:
    whole = IPv6(raw(headers / payload))
    cut = fragment6(headers / IPv6ExtHdrFragment(id=7) / payload, size)
    return [raw(link / packet) for packet in (whole, *cut)]


def cases() -> Iterator[tuple[str, str, list[bytes]]]:
    """Chip, name, the frame and its fragments."""
    host = {"src": "10.0.0.1", "dst": "10.1.0.9"}
    tags, twice = Dot1Q(vlan=5), Dot1AD(vlan=7) / Dot1Q(vlan=5)
    udp, ports = UDP(sport=7, dport=8), UDP(sport=1, dport=5000)
    options = IPOption(bytes([0x94, 40]) + bytes(38))
    yield "inner", "protect", v4(INNER, IP(**host, id=11), udp / Raw(LOAD[:1400]), 576)
    yield "inner", "bypass", v4(INNER, IP(src="10.0.0.1", dst="10.2.0.9", id=12), udp / Raw(LOAD[:700]), 400)
    # A rule of ports, which only the first fragment has.
    yield "inner", "ports", v4(INNER, IP(src="10.0.0.1", dst="10.5.0.9", id=13), ports / Raw(LOAD[:3000]), 1480)
    yield "inner", "tagged", v4(INNER / tags, IP(**host, id=14, tos=0xB9), udp / Raw(LOAD[:900]), 304)
    yield "inner", "options", v4(INNER / twice, IP(**host, id=15, options=options), TCP() / Raw(LOAD[:900]), 304)
    yield "inner", "long", v4(INNER, IP(**host, id=16), udp / Raw(LOAD[:9490]), 1480)
    yield "inner", "tiny", v4(INNER, IP(**host, id=17), udp / Raw(LOAD[:9]), 8)
    there = {"src": "2001:db8::1", "dst": "2001:db8:1::1"}
    yield "inner", "protect6", v6(INNER, IPv6(**there, fl=5), udp / Raw(LOAD[:1400]), 800)
    yield "inner", "ports6", v6(INNER, IPv6(src="2001:db8::1", dst="2001:db8:5::1"), ports / Raw(LOAD[:3000]), 1280)
    yield (
        "inner",
        "headers6",
        v6(INNER / twice, IPv6(**there) / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt(), udp / Raw(LOAD[:1000]), 500),
    )
    # First fragments with just all of the upper-layer header (RFC 7112), and of a protocol whose
    # header is unknown.
    head6, echo = IPv6(**there), ICMPv6EchoRequest(seq=3, data=LOAD[:60])
    yield "inner", "tcp6", v6(INNER, head6, TCP() / Raw(LOAD[:60]), 72)
    yield "inner", "udp6", v6(INNER, head6, udp / Raw(LOAD[:40]), 56)
    yield "inner", "icmp6", v6(INNER, head6, echo, 56)
    yield "inner", "sctp6", v6(INNER, head6, SCTP(sport=7, dport=8) / Raw(LOAD[:60]), 64)
    yield "inner", "other6", v6(INNER, head6, GRE() / Raw(LOAD[:29]), 56)
    yield "inner", "behind6", v6(INNER, head6, IPv6ExtHdrDestOpt() / udp / Raw(LOAD[:40]), 64)
    peer = {"src": "192.0.2.77", "dst": "203.0.113.1"}
    esp, natt = ESP(spi=0x1001, seq=1, data=LOAD[:1456]), ESP(spi=0x4001, seq=1, data=LOAD[:1456])
    yield "outer", "esp", v4(OUTER, IP(**peer, id=21), esp, 1456)
    yield "outer", "esp_tagged", v4(OUTER / twice, IP(**peer, id=22), esp, 744)
    yield "outer", "esp_in_udp", v4(OUTER, IP(**peer, id=23), UDP(sport=4500, dport=4500, chksum=0) / natt, 744)
    elsewhere = IP(src="198.51.100.7", dst="203.0.113.2", id=24)
    yield "outer", "bypass", v4(OUTER, elsewhere, UDP(sport=9, dport=7000) / Raw(LOAD[:1200]), 576)
    peer6 = IPv6(src="2001:db8:64::7", dst="2001:db8:71::1")
    yield "outer", "esp6", v6(OUTER, peer6, esp, 1280)
    yield "outer", "esp6_tiny", v6(OUTER, peer6, ESP(spi=0x1001, seq=1, data=LOAD[:36]), 56)
    # Of one link, of a host and of a group: whole to a bump in the wire alone.
    link_local, group = IPv6(src="fe80::1", dst="fe80::2"), IPv6(src="2001:db8::1", dst="ff02::1:3")
    yield "link", "link_local", v6(OUTER, link_local, udp / Raw(LOAD[:1400]), 600)
    yield "link", "multicast", v6(OUTER / tags, group / IPv6ExtHdrDestOpt(), udp / Raw(LOAD[:300]), 200)
    yield "outer", "esp6_headers", v6(OUTER / tags, peer6 / IPv6ExtHdrDestOpt(), esp, 600)


def onward(chip: str, name: str, fragment: bytes) -> str:
    """A frame, and the packet as which it goes on: from red behind a hop, from black as it came."""
    packet = Ether(fragment)
    while packet.name != "IP" and packet.name != "IPv6":
        packet = packet.payload
    padded = fragment.ljust(60, bytes(1)).hex()
    if chip == "inner":
        return f"{padded},{forwarded(raw(packet)).hex()}"
    return f"{padded},{raw(packet).hex()}" if (chip, name) == ("outer", "bypass") else padded


def table() -> str:
    rows = [
        f"{chip} {name} {frame.ljust(60, bytes(1)).hex()} {' '.join(onward(chip, name, each) for each in cut)}\n"
        for chip, name, (frame, *cut) in cases()
    ]
    return HEAD + "".join(rows)


def test_committed_fragments_are_scapys() -> None:
    assert TABLE.read_text() == table(), f"run python -m {__name__}"


if __name__ == "__main__":
    TABLE.write_text(table())
