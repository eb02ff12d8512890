# SPDX-License-Identifier: Apache-2.0
"""The frames that TRex sends: as the simulated tester's, a UDP datagram of a flow of
[sallyport.tunnels] in a frame of exact size.

UDP checksums are 0 (none) over IPv4. IPv6 demands a checksum (RFC 8200 8.1), so frames have a right
one, which TRex corrects where it writes addresses. Only latency frames have 0: TRex writes a time
and a number into them when they leave. Payloads are zeros.
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
    way: int,
    number: int,
    ip: int,
    size: int,
    src_mac: str,
    dst_mac: str,
    checked: bool = False,
    vlan: int | None = None,
) -> bytes:
    """A frame of flow `number`, of `size` bytes with the FCS that the port adds; `checked`: with
    a UDP checksum where IPv6 demands it."""
    check(size, ip, vlan)
    data = packet(way, number, ip, size - FCS - packet_at(vlan), checked)
    return ethernet(src_mac, dst_mac, ip, vlan) + data


def packet(way: int, number: int, ip: int, length: int, checked: bool = True) -> bytes:
    """The IP packet of `length` bytes in such a frame."""
    datagram = length - limits.IP_BYTES[ip]
    src, dst = addresses(way, number, ip)
    payload = bytes(datagram - UDP)
    header = udp(src, dst, tunnels.UDP_PORTS, payload, checked=checked and ip == 6)
    return ip_header(ip, src, dst, datagram, 17) + header + payload


def ethernet(src_mac: str, dst_mac: str, ip: int, vlan: int | None) -> bytes:
    """The header of a frame, with its tag if there is one."""
    tag = struct.pack(">HH", 0x8100, vlan) if vlan else b""
    return _mac(dst_mac) + _mac(src_mac) + tag + struct.pack(">H", 0x0800 if ip == 4 else 0x86DD)


def ip_header(ip: int, src: bytes, dst: bytes, length: int, protocol: int) -> bytes:
    """The header in front of `length` bytes."""
    if ip == 6:
        return struct.pack(">IHBB16s16s", 6 << 28, length, protocol, TTL, src, dst)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, limits.IP_BYTES[4] + length, 0, 0, TTL, protocol, 0, src, dst)
    return header[:10] + struct.pack(">H", _checksum(header)) + header[12:]


def udp(src: bytes, dst: bytes, ports: tuple[int, int], payload: bytes, checked: bool) -> bytes:
    """The header in front of a payload."""
    length = UDP + len(payload)
    checksum = 0
    if checked:
        pseudo = src + dst + struct.pack(">IIHHHH", length, 17, *ports, length, 0)
        checksum = _checksum(pseudo + payload + bytes(length % 2)) or 0xFFFF
    return struct.pack(">HHHH", *ports, length, checksum)


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _checksum(header: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
