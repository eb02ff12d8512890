# SPDX-License-Identifier: Apache-2.0
"""The fields of an IP packet, by scapy's dissection of its raw bytes and the limits that
docs/explanation/chips.md sets to it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6Unknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    MIP6MH_Generic,
)
from scapy.layers.sctp import SCTP
from scapy.packet import Packet
from scapy.utils import checksum

EXTENSIONS: dict[int, type[Packet]] = {
    0: IPv6ExtHdrHopByHop,
    43: IPv6ExtHdrRouting,
    44: IPv6ExtHdrFragment,
    60: IPv6ExtHdrDestOpt,
}
MOST_EXTENSIONS, MOST_EXTENSION_BYTES = 4, 64
PORTS: dict[int, type[Packet]] = {6: TCP, 17: UDP, 132: SCTP}
ICMP_OF = {4: 1, 6: 58}
MOBILITY = 135  # the mobility header, of IPv6 alone (RFC 6275 6.1.1)
NOWHERE = IPv4Address(0)


@dataclass(frozen=True)
class Reading:
    """`state`: "whole", or why nothing more is known: "malformed", "checksum", "unread" (more
    extension headers than are read).

    `upper` says what `numbers` are: "ports", "icmp" (type and code), "mobility" (type and 0), or ""
    where none can be read. `total` counts the bytes of the IP packet, `header` those in front of
    the upper layer. `fragment`: of several; `later`: not the first of them.
    """

    state: str
    version: int = 0
    header: int = 0
    total: int = 0
    tos: int = 0
    ttl: int = 0
    dont_fragment: bool = True
    src: IPv4Address | IPv6Address = NOWHERE
    dst: IPv4Address | IPv6Address = NOWHERE
    protocol: int = 0
    upper: str = ""
    numbers: tuple[int, int] = (0, 0)
    fragment: bool = False
    later: bool = False
    payload: bytes = b""


def read(packet: bytes, version: int | None = None) -> Reading:
    """The packet at the beginning of some bytes, which an EtherType or a next header says to be of
    `version`."""
    found = packet[0] >> 4 if packet else 0
    if version not in (None, found) or found not in (4, 6):
        return Reading("malformed")
    return _ipv4(packet) if found == 4 else _ipv6(packet)


def _ipv4(packet: bytes) -> Reading:
    if len(packet) < 20:
        return Reading("malformed")
    ip = IP(packet[:20])
    header = 4 * ip.ihl
    if header < 20 or not header <= ip.len <= len(packet):
        return Reading("malformed", version=4)
    if checksum(packet[:header]) != 0:
        return Reading("checksum", version=4)
    later = ip.frag != 0
    payload = packet[header : ip.len]
    upper, found = numbers(4, ip.proto, payload, later)
    return Reading(
        "whole", 4, header, ip.len, ip.tos, ip.ttl, bool(ip.flags.DF), IPv4Address(ip.src), IPv4Address(ip.dst), ip.proto,
        upper, found, bool(ip.flags.MF) or later, later, payload,
    )  # fmt: skip


def _ipv6(packet: bytes) -> Reading:
    if len(packet) < 40:
        return Reading("malformed", version=6)
    ip = IPv6(packet[:40])
    if 40 + ip.plen > len(packet):
        return Reading("malformed", version=6)
    rest, protocol, at = packet[40 : 40 + ip.plen], ip.nh, 0
    fragment = later = False
    read_headers = 0
    # RFC 8200 4: each header says what follows. What a later fragment begins with is no
    # header (4.5).
    while protocol in EXTENSIONS and not later:
        if (protocol == 0 and read_headers > 0) or len(rest) < at + 8:
            return Reading("malformed", version=6)
        # Options, which may be anything, are not dissected: zeros stand in their place.
        header = EXTENSIONS[protocol](rest[at : at + 8] if protocol == 44 else rest[at : at + 2] + bytes(6))
        size = 8 if protocol == 44 else 8 * (header.len + 1)
        if read_headers == MOST_EXTENSIONS or at + size > MOST_EXTENSION_BYTES:
            return Reading("unread", version=6)
        if at + size > len(rest):
            return Reading("malformed", version=6)
        if protocol == 44:
            later = header.offset != 0
            fragment = fragment or later or bool(header.m)
        protocol, at, read_headers = header.nh, at + size, read_headers + 1
    upper, found = numbers(6, protocol, rest[at:], later)
    return Reading(
        "whole", 6, 40 + at, 40 + ip.plen, ip.tc, ip.hlim, True, IPv6Address(ip.src), IPv6Address(ip.dst), protocol,
        upper, found, fragment, later, rest[at:],
    )  # fmt: skip


def numbers(version: int, protocol: int, payload: bytes, later: bool) -> tuple[str, tuple[int, int]]:
    """Ports, or type and code, or a mobility header's type, if the packet has them in its first 4
    bytes behind the headers."""
    if later or len(payload) < 4:
        return "", (0, 0)
    if protocol in PORTS:
        header = PORTS[protocol](payload[:4] + bytes(16))
        return "ports", (header.sport, header.dport)
    if protocol == ICMP_OF[version]:
        header = (ICMP if version == 4 else ICMPv6Unknown)(payload[:4] + bytes(60))
        return "icmp", (header.type, header.code)
    if protocol == MOBILITY and version == 6:
        return "mobility", (MIP6MH_Generic(payload[:4] + bytes(4)).mhtype, 0)
    return "", (0, 0)
