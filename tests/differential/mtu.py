# SPDX-License-Identifier: Apache-2.0
"""Packets longer than an MTU: the longest packet that an SA takes (RFC 4301 8.2.1), and in how many
pieces a packet leaves (RFC 791 3.2, RFC 8200 4.5)."""

from __future__ import annotations

from functools import cache

from scapy.layers.inet import IP, fragment
from scapy.packet import Raw

from .sa import Sa

LONGEST_PACKET = 9582  # what a frame of 9600 B holds
LONGEST_ESP = 9582  # docs/explanation/crypto-chip.md
CUT_FIRST = 9518  # longer ones may fit no ESP


@cache
def inner_mtu(sa: Sa, mtu: int) -> int:
    """The longest packet that leaves in no more than the MTU; in transport mode of those
    without options."""
    kept = ip_header(sa) if sa.transport else 0
    sizes = range(kept, mtu)
    return max((size for size in sizes if sa.outer_header + sa.esp_bytes(size - kept) <= mtu), default=0)


@cache
def esp_limit(sa: Sa) -> int:
    """The longest packet that one packet of ESP holds."""
    return max(size for size in range(CUT_FIRST, LONGEST_ESP) if sa.esp_bytes(size) <= LONGEST_ESP)


def ip_header(sa: Sa) -> int:
    """Bytes of the IP header in front of its ESP, without options."""
    return 40 if sa.v6 else 20


def clear_pieces(packet: bytes, mtu: int) -> list[bytes]:
    """The fragments of an IPv4 packet without options."""
    # scapy would make an ICMP error anew, and pad the packet in it (RFC 4884 5.1).
    whole = IP(packet[:20]) / Raw(packet[20:])
    return [bytes(piece) for piece in fragment(whole, (mtu - 20) // 8 * 8)]


def piece_bytes(v6: bool, mtu: int) -> int:
    """Payload of every fragment of an outer packet but the last."""
    return (mtu - (48 if v6 else 20)) // 8 * 8


def esp_pieces(sa: Sa, size: int, mtu: int) -> int:
    """The frames in which ESP around `size` bytes leaves."""
    total = sa.outer_header + sa.esp_bytes(size)
    payload = total - ip_header(sa)
    return 1 if total <= mtu else -(-payload // piece_bytes(sa.v6, mtu))
