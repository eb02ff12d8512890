# SPDX-License-Identifier: Apache-2.0
"""Captures for tests that need a whole file of frames: made by scapy here, with real ones behind
them where they are at hand."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.dns import DNS, DNSQR
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption, fragment
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6ND_NS, IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, LLC, STP, Dot3, Ether
from scapy.packet import Packet, Raw

from tests.support.frames import read_frames, write_frames
from tests.support.paths import SHARED

HOST, SERVER = "02:00:00:00:01:01", "02:00:00:00:01:02"
ETHERNET = Ether(dst=SERVER, src=HOST)
LONGEST = 1460  # bytes of TCP in a frame of 1518


def _real(name: str) -> list[bytes]:
    path = SHARED / "pcaps" / name
    return read_frames(path) if path.exists() else []


def lan(path: Path) -> Path:
    """Writes to `path` the frames that hosts of an office send: a TCP session, DNS, DHCP, ping,
    IPv6, ARP, STP, and faulty ones."""
    write_frames(
        path, [*map(bytes, _sessions()), *map(bytes, _control()), *map(bytes, _broken()), *_real("office-lan.pcap")]
    )
    return path


def _sessions() -> Iterator[Packet]:
    source = random.Random(25)
    ends = {"src": "10.1.0.10", "dst": "10.2.0.20"}
    yield ETHERNET / IP(**ends, flags="DF") / TCP(sport=40000, dport=80, flags="S", options=[("MSS", LONGEST)])
    sequence = 1
    for length in [
        1,
        2,
        3,
        5,
        8,
        13,
        15,
        16,
        17,
        31,
        32,
        33,
        63,
        64,
        65,
        *source.sample(range(66, LONGEST), 40),
        LONGEST,
    ]:
        segment = TCP(sport=40000, dport=80, flags="PA", seq=sequence, ack=1)
        yield ETHERNET / IP(**ends, id=sequence, flags="DF") / segment / Raw(source.randbytes(length))
        sequence += length
    yield ETHERNET / IP(**ends) / TCP(sport=40000, dport=80, flags="FA", seq=sequence, ack=1)
    for number in range(20):
        name = f"host{number}.example.org"
        yield ETHERNET / IP(src=ends["src"], dst="10.2.0.53") / UDP(sport=50000 + number) / DNS(qd=DNSQR(qname=name))
    for size in (0, 18, 56, 57, 1000, 1472):
        yield ETHERNET / IP(**ends, tos=size % 256, ttl=2) / ICMP(id=1, seq=size) / Raw(source.randbytes(size))
    yield ETHERNET / IP(**ends, options=[IPOption(b"\x94\x04\x00\x00")]) / UDP(sport=7, dport=9) / Raw(b"router alert")
    for size in (0, 1, 100, 1400):
        packet = (
            IPv6(src="2001:db8:1::10", dst="2001:db8:2::20", hlim=64)
            / UDP(sport=7, dport=9)
            / Raw(source.randbytes(size))
        )
        yield ETHERNET / packet
    yield (
        ETHERNET
        / IPv6(src="2001:db8:1::10", dst="2001:db8:2::20")
        / IPv6ExtHdrHopByHop()
        / ICMPv6EchoRequest(data=b"x")
    )


def _control() -> Iterator[Packet]:
    to_all = Ether(dst="ff:ff:ff:ff:ff:ff", src=HOST)
    yield to_all / ARP(pdst="10.1.0.1", psrc="10.1.0.10")
    yield Dot3(dst="01:80:c2:00:00:00", src=HOST) / LLC(dsap=0x42, ssap=0x42, ctrl=3) / STP()
    yield ETHERNET / IPv6(src="2001:db8:1::10", dst="2001:db8:1::1", hlim=255) / ICMPv6ND_NS(tgt="2001:db8:1::1")
    request = BOOTP(chaddr=bytes.fromhex(HOST.replace(":", ""))) / DHCP(options=[("message-type", "discover"), "end"])
    yield ETHERNET / IP(src="10.1.0.10", dst="10.2.0.67") / UDP(sport=68, dport=67) / request


def _broken() -> Iterator[Packet]:
    ends = {"src": "10.1.0.10", "dst": "10.2.0.20"}
    yield ETHERNET / IP(**ends, ttl=1) / UDP(sport=7, dport=9)
    yield ETHERNET / IP(**ends, chksum=0x1234) / UDP(sport=7, dport=9)
    yield ETHERNET / IP(**ends, len=1400) / UDP(sport=7, dport=9)
    yield ETHERNET / IPv6(src="2001:db8:1::10", dst="2001:db8:2::20", hlim=1) / UDP(sport=7, dport=9)


def fragments(path: Path) -> Path:
    """Writes to `path` datagrams in pieces, all interleaved and out of order, beside whole ones.

    The last piece of each comes after its others, as scapy's `defrag` asks.
    """
    source = random.Random(791)
    pieces: list[Packet] = []
    for number, length in enumerate((30, 100, 500, 1473, 4000)):
        whole = (
            IP(src="10.1.0.10", dst="10.2.0.20", id=number + 1) / UDP(sport=7, dport=9) / Raw(source.randbytes(length))
        )
        pieces += fragment(IP(bytes(whole)), 8 * source.randint(max(1, length // 160), max(2, length // 24)))
    source.shuffle(pieces)
    pieces.sort(key=lambda piece: not piece.flags.MF)
    whole = [IP(src="10.1.0.10", dst="10.2.0.20", id=100 + size) / UDP() / Raw(bytes(size)) for size in (18, 300)]
    made = [bytes(ETHERNET / piece) for piece in [whole[0], *pieces, whole[1]]]
    write_frames(path, [*made, *_real("fragroute.pcap")])
    return path
