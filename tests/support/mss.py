# SPDX-License-Identifier: Apache-2.0
"""The maximum segment size of a TCP packet, lowered as a gateway lowers it."""

from __future__ import annotations

from scapy.layers.inet import IP, in4_chksum
from scapy.layers.inet6 import IPv6, in6_chksum


def place(options: bytes) -> int | None:
    """Where the value of the first MSS option begins that a receiver reads (RFC 9293 3.1)."""
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2:
            return None
        if options[at] == 2 and length == 4 and at + 4 <= len(options):
            return at + 2
        at += length
    return None


def clamped(packet: bytes, mtu: int) -> bytes:
    """An IP packet whose TCP segments are to fit `mtu`, with the checksum that follows from its own
    (RFC 1624 equation 3); unchanged if it opens no connection, or TCP is not where it should be."""
    start = _tcp_at(packet)
    segment = packet[start:] if start else b""
    if len(segment) < 20 or segment[13] & 0x06 != 0x02:
        return packet
    header = 4 * (segment[12] >> 4)
    at = place(segment[20:header]) if header <= len(segment) else None
    most = max(mtu - start - 20, 0)
    if not mtu or at is None or int.from_bytes(segment[20 + at : 22 + at], "big") <= most:
        return packet
    at += start + 20
    lowered = packet[:at] + most.to_bytes(2, "big") + packet[at + 2 :]
    sums = [sum(int.from_bytes(bytes(part), "big") for part in _words(p[start:])) for p in (packet, lowered)]
    old = int.from_bytes(segment[16:18], "big")
    new = (~old & 0xFFFF) + (sums[1] - sums[0]) % 0xFFFF
    new = ~((new & 0xFFFF) + (new >> 16)) & 0xFFFF
    return lowered[: start + 16] + new.to_bytes(2, "big") + lowered[start + 18 :]


def _tcp_at(packet: bytes) -> int:
    """Where TCP begins directly behind a fixed IP header; 0 if it does not."""
    if packet[0] >> 4 == 6:
        return 40 if packet[6] == 6 else 0
    return 20 if packet[0] == 0x45 and packet[9] == 6 and not int.from_bytes(packet[6:8], "big") & 0x3FFF else 0


def _words(data: bytes) -> list[bytes]:
    return [data[at : at + 2].ljust(2, b"\0") for at in range(0, len(data), 2)]


def with_checksum(packet: bytes) -> bytes:
    """The IP packet with the TCP checksum that scapy gives it; its options stay as they are."""
    v6 = packet[0] >> 4 == 6
    start = 40 if v6 else 4 * (packet[0] & 15)
    segment = packet[start : start + 16] + bytes(2) + packet[start + 18 :]
    right = in6_chksum(6, IPv6(packet), segment) if v6 else in4_chksum(6, IP(packet), segment)  # type: ignore[arg-type]
    return packet[: start + 16] + right.to_bytes(2, "big") + packet[start + 18 :]
