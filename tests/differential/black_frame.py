# SPDX-License-Identifier: Apache-2.0
"""An ESP packet that left the black port, field by field (RFC 4301 5.1.2, RFC 6040 4.1, RFC
3948 2.1), opened by scapy."""

from __future__ import annotations

from hashlib import sha256
from ipaddress import ip_address

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, in6_chksum
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import checksum

from .esp import Opened, right_padding
from .ethernet import IPV4, IPV6, Frame
from .frame_judge import ether_type
from .identifications import Identifications
from .network import MAC_OF_PORT
from .outcome import Protected, Transported
from .sa import NATT_PORT, Sa

ESP, UDP_NUMBER = 50, 17
TTL = 64


def esp_of(frame: bytes) -> bytes | None:
    """The ESP packet of a frame; None if it has none, as far as its headers say."""
    kind, at = ether_type(Frame(frame))
    packet = frame[at:]
    if kind == IPV6 and len(packet) >= 40:
        header, protocol, total = 40, packet[6], 40 + int.from_bytes(packet[4:6], "big")
    elif kind == IPV4 and len(packet) >= 20:
        header, protocol, total = 4 * (packet[0] & 15), packet[9], int.from_bytes(packet[2:4], "big")
    else:
        return None
    if protocol == UDP_NUMBER and int.from_bytes(packet[header : header + 2], "big") == NATT_PORT:
        header, protocol = header + 8, ESP
    esp = packet[header:total]
    return esp if protocol == ESP and len(esp) >= 8 else None


def fault(frame: bytes, wanted: Protected, opened: Opened, identifications: Identifications) -> str:
    """The frame's fault, "" if it has none. Its identification is the next of its port's."""
    sa = wanted.sa
    ethernet = Ether(frame[:14])
    if (ethernet.dst, ethernet.src) != (wanted.mac, MAC_OF_PORT["black"]):
        return f"from {MAC_OF_PORT['black']} to {wanted.mac}"
    tos = (wanted.tos & 0xFC if sa.copy_dscp else 0) | (wanted.tos & 3 if sa.copy_ecn else 0)
    length = sa.esp_bytes(len(wanted.payload))
    protocol, udp = (ESP, 0) if sa.far_port is None else (UDP_NUMBER, 8)
    if sa.v6:
        outer = IPv6(frame[14:54])
        fields = {
            "version": 6,
            "tc": tos,
            "fl": flow_label(sa),
            "plen": udp + length,
            "nh": protocol,
            "hlim": TTL,
            "src": sa.src,
            "dst": sa.dst,
        }
        esp = frame[54:]
    else:
        outer, esp, fields = _ipv4(frame, wanted, tos, udp + length, protocol)
        if checksum(frame[14:34]):
            return "a right header checksum"
        if again := identifications.fault(outer.id):
            return again
    wrong = _different(outer, fields)
    if not wrong and sa.far_port is not None:
        sport, dport = sa.ports
        check = _udp_checksum(outer, esp) if sa.v6 else 0
        wrong = _different(UDP(esp[:8]), {"sport": sport, "dport": dport, "len": 8 + length, "chksum": check})
        esp = esp[8:]
    return wrong or esp_fault(esp, wanted, opened)


def flow_label(sa: Sa) -> int:
    """One for each SA (RFC 6438 3), of what everyone can read in its packets
    (docs/explanation/encrypt-path.md)."""
    ends = ip_address(sa.src).packed + ip_address(sa.dst).packed
    return max(int.from_bytes(sha256(ends + sa.spi.to_bytes(4, "big")).digest()[:4], "big") >> 12, 1)


def _udp_checksum(outer: Packet, udp: bytes) -> int:
    """What it must be over IPv6 (RFC 8200 8.1), whatever it is."""
    return in6_chksum(UDP_NUMBER, outer, udp[:6] + bytes(2) + udp[8:]) or 0xFFFF


def _ipv4(
    frame: bytes, wanted: Protected, tos: int, length: int, protocol: int
) -> tuple[Packet, bytes, dict[str, object]]:
    sa = wanted.sa
    flags = "DF" if sa.copy_df and wanted.dont_fragment else ""
    fields = {
        "version": 4,
        "ihl": 5,
        "tos": tos,
        "len": 20 + length,
        "flags": flags,
        "frag": 0,
        "ttl": TTL,
        "proto": protocol,
    }
    return IP(frame[14:34]), frame[34:], {**fields, "src": sa.src, "dst": sa.dst}


def _different(header, fields: dict[str, object]) -> str:
    wrong = [f"{name} {value}, not {got}" for name, value in fields.items() if (got := getattr(header, name)) != value]
    return "; ".join(wrong)


def esp_fault(esp: bytes, wanted: Protected | Transported, opened: Opened) -> str:
    """The authentic packet must have the least padding and the right trailer."""
    sa: Sa = wanted.sa
    if len(esp) != sa.esp_bytes(len(wanted.payload)):
        return "a frame that ends with its packet"
    if opened.next_header != wanted.next_header or opened.padding != right_padding(opened.pad_length):
        return f"next header {wanted.next_header} and padding 1, 2, 3 …, not {opened.next_header} and {opened.padding.hex()}"
    return ""
