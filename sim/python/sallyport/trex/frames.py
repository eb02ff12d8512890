# SPDX-License-Identifier: Apache-2.0
"""The frames that TRex sends: as the simulated tester's, a UDP datagram of a flow of
[sallyport.tunnels] in a frame of exact size.

UDP checksums are 0 (none) over IPv4. IPv6 demands a checksum (RFC 8200 8.1), so frames whose bytes
stay as they are have a right one. TRex writes a time and a number into latency frames when they
leave, and the field engine writes addresses. Such frames have 0. Payloads are zeros.
"""

from __future__ import annotations

import struct

from sallyport import limits, tunnels
from sallyport.errors import InputError

ETHERNET, UDP, FCS, TTL = 14, 8, 4, 64
VLAN = 4  # bytes of a tag
# Where the low 16 bits of source and destination address are in a packet: all that flows differ in.
LOW_BITS_AT = {4: (14, 18), 6: (22, 38)}


def packet_at(vlan: int | None) -> int:
    """Where the IP packet begins in a frame."""
    return ETHERNET + (VLAN if vlan else 0)


def check(size: int, ip: int, vlan: int | None = None) -> None:
    """[InputError] for a size that is too small."""
    least = limits.smallest_frame(ip)
    if vlan:
        least = max(least, packet_at(vlan) + FCS + limits.IP_BYTES[ip] + UDP + limits.SIGNATURE_BYTES)
    if size < least:
        raise InputError(
            f"--frame-size {size}: TRex measures latency by {limits.SIGNATURE_BYTES} B behind the UDP header; "
            f"choose {least} or more over IPv{ip}{', with a VLAN tag' if vlan else ''}"
        )


def addresses(way: int, number: int, ip: int) -> tuple[bytes, bytes]:
    """Source and destination of flow `number` of those that enter the red port of box `way`."""
    flow = tunnels.flow(way, number, ip)
    return flow.src.packed, flow.dst.packed


def frame(
    way: int, number: int, ip: int, size: int, src_mac: str, dst_mac: str, final: bool = False, vlan: int | None = None
) -> bytes:
    """A frame of flow `number`, of `size` bytes with the FCS that the port adds; `final`: TRex
    changes nothing that UDP protects."""
    check(size, ip, vlan)
    packet = size - FCS - packet_at(vlan)
    datagram = packet - limits.IP_BYTES[ip]
    src, dst = addresses(way, number, ip)
    if ip == 4:
        header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, packet, 0, 0, TTL, 17, 0, src, dst)
        header = header[:10] + struct.pack(">H", _checksum(header)) + header[12:]
    else:
        header = struct.pack(">IHBB16s16s", 6 << 28, datagram, 17, TTL, src, dst)
    tag = struct.pack(">HH", 0x8100, vlan) if vlan else b""
    ethernet = _mac(dst_mac) + _mac(src_mac) + tag + struct.pack(">H", 0x0800 if ip == 4 else 0x86DD)
    checksum = 0
    if final and ip == 6:
        pseudo = src + dst + struct.pack(">IIHHHH", datagram, 17, *tunnels.UDP_PORTS, datagram, 0)
        checksum = _checksum(pseudo) or 0xFFFF
    udp = struct.pack(">HHHH", *tunnels.UDP_PORTS, datagram, checksum)
    return ethernet + header + udp + bytes(datagram - UDP)


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _checksum(header: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
