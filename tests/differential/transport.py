# SPDX-License-Identifier: Apache-2.0
"""The frame that a bump in the wire passes on, and the IP header that stays in front of ESP in
transport mode (RFC 4303 3.1.1)."""

from __future__ import annotations

from . import frame_judge
from .damage import with_checksum
from .ethernet import MINIMUM, Frame
from .reading import Reading

MOST_BYTES = 62  # of Ethernet header, tags and IP header (docs/explanation/transport-mode.md)
IPV6_HEADER = 40


def crossed(frame: Frame, packet: Reading) -> bytes:
    """The frame that a policy lets pass, as it came; what stood behind its packet is padding, and
    the port makes its own."""
    _, at = frame_judge.ether_type(frame)
    return frame.data[: at + packet.total].ljust(MINIMUM, b"\0")


def with_payload(head: bytes, ip_at: int, protocol: int, size: int) -> bytes:
    """Ethernet and IP header, the latter behind `ip_at` bytes, with the protocol and the length of
    another payload."""
    fresh = bytearray(head[ip_at:])
    if fresh[0] >> 4 == 6:
        fresh[4:6] = size.to_bytes(2, "big")
        fresh[6] = protocol
        return head[:ip_at] + bytes(fresh)
    fresh[2:4] = (len(fresh) + size).to_bytes(2, "big")
    fresh[9] = protocol
    return head[:ip_at] + with_checksum(bytes(fresh))


def has_room(head: bytes, ip_at: int) -> bool:
    """ESP may stand behind these headers: directly behind IPv6, or behind an IPv4 header of so
    many bytes."""
    return len(head) == ip_at + IPV6_HEADER if head[ip_at] >> 4 == 6 else len(head) <= MOST_BYTES
