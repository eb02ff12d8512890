"""What is longer than an MTU: what an SA takes (RFC 4301 8.2.1), and in how many pieces a packet leaves (RFC 791 3.2, RFC 8200 4.5)."""

from __future__ import annotations

from functools import cache

from scapy.layers.inet import IP, fragment

from .sa import Sa


@cache
def inner_mtu(sa: Sa, mtu: int) -> int:
    """The longest packet whose outer packet is no longer than the MTU."""
    return max((size for size in range(mtu) if sa.outer_header + sa.esp_bytes(size) <= mtu), default=0)


def clear_pieces(packet: bytes, mtu: int) -> list[bytes]:
    """The fragments of an IPv4 packet without options."""
    return [bytes(piece) for piece in fragment(IP(packet), (mtu - 20) // 8 * 8)]


def piece_bytes(v6: bool, mtu: int) -> int:
    """Payload of every fragment of an outer packet but the last."""
    return (mtu - (48 if v6 else 20)) // 8 * 8


def esp_pieces(sa: Sa, size: int, mtu: int) -> int:
    """The frames in which a packet of `size` bytes leaves behind ESP."""
    total = sa.outer_header + sa.esp_bytes(size)
    payload = total - (40 if sa.v6 else 20)
    return 1 if total <= mtu else -(-payload // piece_bytes(sa.v6, mtu))
