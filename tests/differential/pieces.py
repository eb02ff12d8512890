# SPDX-License-Identifier: Apache-2.0
"""Fragments that left the black port, put together by scapy, and cut again by scapy to see that
each is as it must be."""

from __future__ import annotations

from scapy.layers.inet import IP, defragment, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, defragment6, fragment6
from scapy.packet import Packet, Raw

from .ethernet import IPV4, IPV6, MINIMUM
from .mtu import piece_bytes

HEADERS = 48  # of an IPv6 fragment; a last one could have up to 7 bytes more than the others


def first_train(frames: list[bytes]) -> int:
    """How many frames from the first on are one packet: 1 if the first is no fragment."""
    begun = None
    for number, frame in enumerate(frames):
        said = _said(frame)
        if said is None or (begun is not None and said[0] != begun):
            return max(number, 1)
        begun = said[0]
        if not said[1]:
            return number + 1
    return len(frames)


def _said(frame: bytes) -> tuple[object, bool] | None:
    """What ties a fragment to others, and whether more follow; None of any other frame."""
    kind, packet = int.from_bytes(frame[12:14], "big"), frame[14:]
    if kind == IPV4:
        ip = IP(packet[:20])
        return ((ip.src, ip.dst, ip.id), bool(ip.flags.MF)) if ip.flags.MF or ip.frag else None
    if kind != IPV6 or packet[6] != 44:
        return None
    return (packet[8:40], packet[44:48]), bool(packet[43] & 1)


def whole(frames: list[bytes]) -> bytes | None:
    """The frame that the fragments would have been; None if they are not of one packet."""
    packets = [_packet(frame) for frame in frames]
    v6 = packets[0].version == 6
    joined = [defragment6(packets)] if v6 else list(defragment(packets))
    return frames[0][:14] + bytes(joined[0]) if len(joined) == 1 else None


def fault(frames: list[bytes], packet: bytes, mtu: int) -> str:
    """The fault of an IP packet's fragments, "" if they have none: sizes, headers,
    checksums, padding."""
    if packet[0] >> 4 == 4:
        pieces = fragment(IP(packet), piece_bytes(False, mtu))
    else:
        number = IPv6ExtHdrFragment(frames[0][54:62]).id
        head = IPv6(packet[:40])
        pieces = fragment6(IPv6(src=head.src, dst=head.dst, tc=head.tc, fl=head.fl, hlim=head.hlim)
                           / IPv6ExtHdrFragment(nh=head.nh, id=number) / Raw(packet[40:]), HEADERS + piece_bytes(True, mtu))  # fmt: skip
    right = [(frames[0][:14] + bytes(piece)).ljust(MINIMUM, b"\0") for piece in pieces]
    return "" if right == frames else f"fragments {[piece.hex() for piece in right]}"


def _packet(frame: bytes) -> Packet:
    """Without padding, which scapy would put together too."""
    packet = frame[14:]
    if packet[0] >> 4 == 4:
        return IP(packet[: int.from_bytes(packet[2:4], "big")])
    return IPv6(packet[: 40 + int.from_bytes(packet[4:6], "big")])
