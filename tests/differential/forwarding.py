# SPDX-License-Identifier: Apache-2.0
"""What a router changes in a packet (RFC 1812 5.3.1, RFC 8200 3), and what decapsulation does to
ECN (RFC 6040 4.2)."""

from __future__ import annotations

from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import checksum

from tests.support.reference import forwarded

from .ethernet import IPV4, IPV6, MINIMUM
from .network import MAC_OF_PORT

NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3

# Figure 4: by arriving inner, then by arriving outer header; None is "drop".
FIGURE_4: dict[int, dict[int, int | None]] = {
    NOT_ECT: {NOT_ECT: NOT_ECT, ECT0: NOT_ECT, ECT1: NOT_ECT, CE: None},
    ECT0: {NOT_ECT: ECT0, ECT0: ECT0, ECT1: ECT1, CE: CE},
    ECT1: {NOT_ECT: ECT1, ECT0: ECT1, ECT1: ECT1, CE: CE},
    CE: {NOT_ECT: CE, ECT0: CE, ECT1: CE, CE: CE},
}


# The cells of the figure that are marked "(!!!)" and "(!)", currently unused, but for the one that
# is dropped: inner, outer.
UNUSED = {(NOT_ECT, ECT0), (NOT_ECT, ECT1), (ECT1, ECT0), (CE, ECT1)}


def unexpected(inner_tos: int, outer_tos: int) -> bool:
    """No tunnel makes such headers."""
    return (inner_tos & 3, outer_tos & 3) in UNUSED


def ecn_behind_tunnel(inner_tos: int, outer_tos: int) -> int | None:
    """The ECN field of a decapsulated packet; None if it must be dropped."""
    return FIGURE_4[inner_tos & 3][outer_tos & 3]


def with_ecn(packet: bytes, ecn: int) -> bytes:
    """The IP packet with another ECN field and a right checksum."""
    fresh = bytearray(packet)
    if packet[0] >> 4 == 6:
        fresh[1] = packet[1] & 0xCF | ecn << 4
        return bytes(fresh)
    header = 4 * (packet[0] & 15)
    fresh[1] = packet[1] & 0xFC | ecn
    fresh[10:12] = bytes(2)
    fresh[10:12] = checksum(bytes(fresh[:header])).to_bytes(2, "big")
    return bytes(fresh)


def header(port: str, mac: str, packet: bytes, vlan: int = 0) -> bytes:
    """The Ethernet header that takes an IP packet from a port to its next hop; 0 is no VLAN."""
    ether_type = IPV6 if packet[0] >> 4 == 6 else IPV4
    stations = {"dst": mac, "src": MAC_OF_PORT[port]}
    if vlan:
        return bytes(Ether(**stations) / Dot1Q(vlan=vlan, type=ether_type))
    return bytes(Ether(**stations, type=ether_type))


def framed(port: str, mac: str, packet: bytes) -> bytes:
    """The frame with that header, padded to the shortest there is."""
    return (header(port, mac, packet) + packet).ljust(MINIMUM, b"\0")


def for_cpu(packet: bytes, port: str = "red") -> bytes:
    """The frame that the chip of a port makes of a packet that was to leave there: the port's
    address at both ends, and no padding."""
    return header(port, MAC_OF_PORT[port], packet) + packet


__all__ = ["ecn_behind_tunnel", "for_cpu", "forwarded", "framed", "unexpected", "with_ecn"]
