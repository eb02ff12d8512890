# SPDX-License-Identifier: Apache-2.0
"""Headers as bytes, with any values in their fields. Only the lengths and the IPv4 checksum are
worked out.

Written out here instead of made by scapy, which judges them afterwards and takes ten times as long
to make them.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address

from scapy.utils import checksum

Address = IPv4Address | IPv6Address


def ipv4(
    src: Address,
    dst: Address,
    protocol: int,
    payload: bytes,
    ttl: int,
    tos: int,
    ident: int,
    fragment: int,
    options: bytes,
) -> bytes:
    """An IPv4 packet; `fragment` is flags and offset, `options` a multiple of 4 bytes."""
    total = 20 + len(options) + len(payload)
    head = struct.pack("!BBHHHBBH", 0x45 + len(options) // 4, tos, total & 0xFFFF, ident, fragment, ttl, protocol, 0)
    head += src.packed + dst.packed + options
    return head[:10] + checksum(head).to_bytes(2, "big") + head[12:] + payload


def ipv6(
    src: Address, dst: Address, next_header: int, payload: bytes, hop_limit: int, traffic_class: int, label: int
) -> bytes:
    """An IPv6 packet; `payload` includes extension headers, and `next_header` names the first."""
    first = 6 << 28 | traffic_class << 20 | label
    return (
        struct.pack("!IHBB", first, len(payload) & 0xFFFF, next_header, hop_limit) + src.packed + dst.packed + payload
    )


def options_header(next_header: int, contents: bytes) -> bytes:
    """Hop-by-hop or destination options (RFC 8200 4.3, 4.6) of one PadN option around `contents`,
    which fill the header."""
    return bytes([next_header, len(contents) // 8, 1, len(contents)]) + contents


def routing_header(next_header: int, addresses: int, left: int) -> bytes:
    """RFC 8200 4.4, type 0."""
    address = IPv6Address("2001:db8::7").packed
    return struct.pack("!BBBBI", next_header, 2 * addresses, 0, left, 0) + address * addresses


def fragment_header(next_header: int, reserved: int, offset: int, more: bool, ident: int) -> bytes:
    """RFC 8200 4.5; the offset in units of 8 bytes."""
    return struct.pack("!BBHI", next_header, reserved, offset << 3 | more, ident)


def udp(source: int, destination: int, payload: bytes, length: int | None = None, check: int = 0) -> bytes:
    right = 8 + len(payload)
    return struct.pack("!HHHH", source, destination, right & 0xFFFF if length is None else length, check) + payload


def tcp(source: int, destination: int, sequence: int, flags: int, options: bytes = b"", checksum: int = 0) -> bytes:
    """`options` are a multiple of 4 bytes."""
    words = 5 + len(options) // 4
    return struct.pack("!HHIIBBHHH", source, destination, sequence, 0, words << 4, flags, 8192, checksum, 0) + options


def sctp(source: int, destination: int, tag: int) -> bytes:
    return struct.pack("!HHII", source, destination, tag, 0)


def icmp(kind: int, code: int, rest: bytes) -> bytes:
    """ICMP and ICMPv6."""
    return bytes([kind, code, 0, 0]) + rest


def mobility(kind: int, reserved: int, rest: bytes) -> bytes:
    """A mobility header (RFC 6275 6.1.1) of 8 bytes, with nothing behind it; `rest` are its
    checksum and 2 bytes of message."""
    return bytes([59, 0, kind, reserved]) + rest
