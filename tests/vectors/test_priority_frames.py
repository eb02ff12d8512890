# SPDX-License-Identifier: Apache-2.0
"""The frames that PriorityClassSpec judges the classes of the receive queue by are made by scapy,
and read back by its dissector.

`python -m tests.vectors.test_priority_frames` writes the table anew; the test fails if scapy no
longer makes the committed table.
"""

from collections.abc import Iterator
from itertools import product

from scapy.compat import raw
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6MLReport2,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RA,
    ICMPv6ND_Redirect,
    ICMPv6ND_RS,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.ipsec import ESP
from scapy.layers.isakmp import ISAKMP
from scapy.layers.l2 import ARP, LLC, STP, Dot1Q, Dot3, Ether
from scapy.packet import Packet, Raw

from tests.support.paths import ROOT

TABLE = ROOT / "interface_fpga/test/resources/priority_frames.txt"
HEAD = """\
# Frames that scapy makes, and what its dissector finds in the first 64 bytes; tests/vectors/test_priority_frames.py writes this table and
# checks it. Each line: 1 if it is control, the DSCP of IP or "-", the frame.
"""
TAGS = [
    (),
    (0x8100,),
    (0x88A8,),
    (0x9100,),
    (0x88A8, 0x8100),
    (0x8100, 0x8100),
    (0x9100, 0x88A8),
    (0x8100, 0x8100, 0x8100),
]
SEEN, MAX_TAGS = 64, 2
NEIGHBOURS = (ICMPv6ND_RS, ICMPv6ND_RA, ICMPv6ND_NS, ICMPv6ND_NA, ICMPv6ND_Redirect)
TYPES = {ARP: 0x0806, IP: 0x0800, IPv6: 0x86DD, MPLS: 0x8847, Raw: 0x88CC}


def ip4(dscp: int, **fields: object) -> Packet:
    return IP(src="192.0.2.1", dst="192.0.2.2", tos=dscp << 2 | dscp % 4, **fields)


def ip6(dscp: int, **fields: object) -> Packet:
    return IPv6(src="2001:db8::1", dst="2001:db8::2", tc=dscp << 2 | dscp % 4, fl=0xFFFFF, **fields)


def packets() -> Iterator[Packet]:
    """Every kind of control, what looks like it, and every DSCP of both versions."""
    ike, marker, options = ISAKMP(init_cookie=b"\1" * 8), Raw(bytes(4)), [IPOption_NOP()] * 4
    for op in (1, 2):
        yield ARP(op=op, psrc="10.0.0.1", pdst="10.0.0.2")
    yield MPLS(label=3, s=1) / ip4(48) / UDP(sport=500, dport=500) / ike
    yield Raw(bytes(60))
    for target in (500, 4500):
        udp = UDP(sport=500, dport=target)
        for packet in (udp / ike, udp / marker / ike, udp / Raw(bytes(150)), udp / Raw(b"")):
            yield ip4(0) / packet
            yield ip6(0) / packet
            yield ip4(0, options=options) / packet
            yield ip4(0, flags="MF", proto=17) / packet
            yield ip4(0, flags="DF", proto=17) / packet
            yield ip4(0, frag=1, proto=17) / packet
            yield ip4(0, frag=4096, flags="MF", proto=17) / packet
            yield ip6(0) / IPv6ExtHdrHopByHop() / packet
            yield ip6(0) / IPv6ExtHdrDestOpt() / packet
            yield ip6(0) / IPv6ExtHdrFragment(m=1) / packet
        yield ip4(0) / TCP(sport=500, dport=target)
        yield ip6(0) / TCP(sport=500, dport=target)
        yield ip4(0, proto=50) / Raw(raw(udp / marker / ike))
        yield ip4(0, version=5) / udp / ike
    for kind in NEIGHBOURS:
        yield ip6(0, hlim=255) / kind()
        yield ip6(0, hlim=255) / IPv6ExtHdrDestOpt() / kind()
    for kind in (0, 128, 129, 132, 138, 139, 255):
        yield ip6(0) / ICMPv6EchoRequest(type=kind)
    yield ip6(0) / IPv6ExtHdrHopByHop() / ICMPv6MLReport2()
    yield ip4(0, proto=58) / ICMP(type=135)
    # Ports 500 and 4500 as source, as destination, and as numbers beside them.
    for source, target in product((500, 4500, 1024), (499, 500, 501, 0x01F5, 0xF401, 4499, 4500, 4501)):
        for behind in (
            ike,
            marker / ike,
            Raw(bytes(20)),
            ESP(spi=0x1001, seq=1),
            Raw(b"\xff"),
            Raw(bytes(3) + b"\1" * 17),
        ):
            yield ip4(0) / UDP(sport=source, dport=target) / behind
    for dscp in range(64):
        yield ip4(dscp) / UDP(sport=7, dport=9) / Raw(bytes(dscp))
        yield ip6(dscp) / TCP(sport=7, dport=9) / Raw(bytes(4 * dscp))
        yield ip4(dscp, options=options, frag=dscp) / ESP(spi=0x1001, seq=dscp)
        yield ip6(dscp, nh=50) / ESP(spi=0x1001, seq=dscp)


def frames() -> Iterator[bytes]:
    """The packets behind tags, those of a DSCP behind a few; padded as a MAC does."""
    for number, packet in enumerate(packets()):
        for tags in TAGS if number < 120 else [TAGS[number % len(TAGS)], TAGS[number // 4 % len(TAGS)]]:
            types = [*tags, TYPES[type(packet)]]
            frame = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02", type=types[0])
            for follows in types[1:]:
                frame /= Dot1Q(vlan=0x500 + number, type=follows)
            yield raw(frame / packet).ljust(60, b"\0")
    yield raw(Dot3(dst="01:80:c2:00:00:00", src="02:00:00:00:00:02") / LLC() / STP()).ljust(60, b"\0")


def row(frame: bytes) -> str:
    """What scapy's dissector reads in the frame, less what the first 64 bytes do not show."""
    at = 14
    while int.from_bytes(frame[at - 2 : at], "big") in (0x8100, 0x88A8, 0x9100):
        at += 4
    kind = int.from_bytes(frame[at - 2 : at], "big")
    control, dscp = False, "-"
    if at > 14 + 4 * MAX_TAGS:
        pass
    elif kind == TYPES[ARP]:
        control = True
    elif kind == TYPES[IP]:
        ip = IP(frame[at:])
        dscp = str(ip.tos >> 2)
        whole = ip.version == 4 and ip.ihl == 5 and ip.frag == 0 and ip.proto == 17
        control = whole and is_ike(UDP(frame[at + 20 : SEEN]))
    elif kind == TYPES[IPv6]:
        ip = IPv6(frame[at:])
        dscp = str(ip.tc >> 2)
        if ip.nh == 17 and at + 40 + 4 <= SEEN:
            control = UDP(frame[at + 40 : SEEN].ljust(8, b"\0")).dport == 500
        control |= isinstance(ip.payload, NEIGHBOURS)
    return f"{int(control)} {dscp} {frame.hex()}"


def is_ike(udp: Packet) -> bool:
    """RFC 7296 2.23: port 500, or port 4500 with four bytes of zero in front."""
    return udp.dport == 500 or (udp.dport == 4500 and raw(udp)[8:12] == bytes(4))


def table() -> str:
    return HEAD + "".join(f"{row(frame)}\n" for frame in frames())


def test_committed_frames_are_scapys() -> None:
    assert TABLE.read_text() == table()


if __name__ == "__main__":
    TABLE.write_text(table())
