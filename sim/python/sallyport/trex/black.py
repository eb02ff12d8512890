# SPDX-License-Identifier: Apache-2.0
"""Frames of the black wire of a box alone: those that the tester sends for the far gateway or
hosts, and the ESP in those that the box sends."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from sallyport import limits, tunnels
from sallyport.backend import Setup
from sallyport.trex import frames
from sallyport.trex.streams import Way

ESP, UDP = 50, 17
NEXT_HEADER = {4: 4, 6: 41}  # of a tunnel's packets (RFC 4303 2.6)
VERSION = {0x0800: 4, 0x86DD: 6}
VLAN = 0x8100
PROTOCOL_AT = {4: 9, 6: 6}
ADDRESSES_AT = {4: (12, 16), 6: (8, 24)}  # of the source, and length of both is that of the gap
# What a router changes in a packet: TTL and checksum, or hop limit.
CHANGED = {4: ((8, 9), (10, 12)), 6: ((7, 8),)}


def carried(setup: Setup, packet: bytes) -> tuple[bytes, int]:
    """What of a packet ESP carries, and its next header."""
    if setup.mode == "tunnel":
        return packet, NEXT_HEADER[setup.ip]
    return packet[limits.IP_BYTES[setup.ip] :], UDP


def frame(setup: Setup, way: Way, number: int, esp: bytes) -> tuple[bytes, int]:
    """The frame around ESP of flow `number`, and where ESP begins in it."""
    src, dst = _ends(setup, way.number, number)
    behind = len(esp) + (limits.UDP_BYTES if setup.nat_t else 0)
    udp = (
        frames.udp(src, dst, (tunnels.NAT_T_PORT, tunnels.NAT_T_PORT), esp, checked=setup.ip == 6)
        if setup.nat_t
        else b""
    )
    header = frames.ip_header(setup.ip, src, dst, behind, UDP if setup.nat_t else ESP)
    before = frames.ethernet(way.src_mac, way.dst_mac, setup.ip, way.vlan) + header + udp
    padding = limits.MIN_FRAME - frames.FCS - len(before) - len(esp)
    return before + esp + bytes(max(0, padding)), len(before)


def _ends(setup: Setup, way: int, number: int) -> tuple[bytes, bytes]:
    if setup.mode == "transport":
        return frames.addresses(way, number, setup.ip)
    black = tunnels.BLACK[setup.ip]
    return black[way].packed, black[1 - way].packed


def is_between(setup: Setup, way: int, number: int, seen: Packet) -> bool:
    """Whether a packet on the black wire has the addresses of SA `number` of a direction."""
    return (seen.src, seen.dst) == _ends(setup, way, number)


@dataclass(frozen=True)
class Packet:
    """An IP packet: its bytes without a frame's padding, its addresses and what it carries."""

    whole: bytes
    src: bytes
    dst: bytes
    protocol: int
    payload: bytes

    def as_sent(self) -> bytes:
        """Its bytes but for those that a router changes."""
        return unchanged(self.whole)


def unchanged(packet: bytes) -> bytes:
    """A packet's bytes, 0 where a router changes them."""
    made = bytearray(packet)
    for start, end in CHANGED[packet[0] >> 4]:
        made[start:end] = bytes(end - start)
    return bytes(made)


def read(data: bytes) -> Packet | None:
    """The IP packet in a frame, with or without a tag; None for another frame."""
    start = frames.ETHERNET + (frames.VLAN if data[12:14] == VLAN.to_bytes(2, "big") else 0)
    ip = VERSION.get(int.from_bytes(data[start - 2 : start], "big"))
    if ip is None or len(data) < start + limits.IP_BYTES[ip] or data[start] >> 4 != ip:
        return None
    return parse(data[start:])


def parse(data: bytes) -> Packet | None:
    """An IP packet without options or extension headers, perhaps with padding behind it."""
    ip = data[0] >> 4 if data else 0
    if ip not in limits.IP_BYTES or len(data) < limits.IP_BYTES[ip] or (ip == 4 and data[0] != 0x45):
        return None
    (length,) = struct.unpack_from(">H", data, 2 if ip == 4 else 4)
    whole = data[: length if ip == 4 else limits.IP_BYTES[6] + length]
    source, destination = ADDRESSES_AT[ip]
    size = destination - source
    return Packet(
        whole,
        whole[source:destination],
        whole[destination : destination + size],
        whole[PROTOCOL_AT[ip]],
        whole[limits.IP_BYTES[ip] :],
    )


def esp_of(setup: Setup, packet: Packet) -> bytes | None:
    """The ESP that a packet carries as the setup has it, in UDP or not; None if it carries none."""
    if not setup.nat_t:
        return packet.payload if packet.protocol == ESP else None
    ports = struct.pack(">HH", tunnels.NAT_T_PORT, tunnels.NAT_T_PORT)
    if packet.protocol != UDP or packet.payload[:4] != ports or packet.payload[8:12] == bytes(4):  # IKE
        return None
    return packet.payload[limits.UDP_BYTES :]
