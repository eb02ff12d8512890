# SPDX-License-Identifier: Apache-2.0
"""What both interface chips ask of a frame first (docs/explanation/encrypt-path.md, down
to fragments).

A fragment is what [judge] would punt as one; before its verdict counts, [reassembly] puts fragments
together."""

from __future__ import annotations

from scapy.layers.l2 import Dot1Q

from .addresses import Port, martian, of_one_link, to_group
from .ethernet import IPV4, IPV6, MAXIMUM, MINIMUM, TAGS, Frame
from .ip_packets import NEIGHBOUR_DISCOVERY
from .reading import Reading, read

MOST_TAGS = 2
ARP = 0x0806
UNROUTED = 255  # no router lowered this hop limit (RFC 4861 6.1, 7.1)
CROSSES = "crosses"
VERSIONS = {IPV4: 4, IPV6: 6}
STATES = {"malformed": "drop_ip_malformed", "checksum": "drop_ip_checksum", "unread": "punt_extension_headers"}


def of_mac(frame: Frame) -> str:
    """The counter of a frame that the MAC's rules drop, or ""."""
    if frame.bad_fcs:
        return "drop_rx_bad_fcs"
    if len(frame.data) < MINIMUM:
        return "drop_rx_undersize"
    return "drop_rx_oversize" if len(frame.data) > MAXIMUM else ""


def judge(frame: Frame, port: Port) -> tuple[str, Reading]:
    """The counter of a frame that the MAC took and that goes no further, or "" and what its IP
    packet says.

    At a bump in the wire (docs/explanation/transport-mode.md) the answer is [CROSSES] of what finds
    neighbours.
    """
    bump = port.bump
    nothing = Reading("malformed")
    if not port.takes(frame.data):
        return "drop_mac_filter", nothing
    if frame.data[6] & 1:
        return "drop_mac_source", nothing
    kind, at = ether_type(frame)
    packet = frame.data[at:]
    if kind not in VERSIONS:
        if kind == ARP:
            if bump:
                return CROSSES, nothing
            return "punt_resolution" if port.arp_for_others(packet) else "punt_arp", nothing
        return "punt_vlan" if kind in TAGS else "punt_other", nothing
    reading = read(packet, VERSIONS[kind])
    if reading.state != "whole":
        return STATES[reading.state], reading
    if not bump and frame.data[0] & 1 and not to_group(reading):
        return "drop_mac_group", reading
    if martian(reading):
        return "drop_martian", reading
    if bump and neighbour_discovery(reading) and reading.ttl == UNROUTED:
        return CROSSES, reading
    if not bump and neighbour_discovery(reading):
        return "punt_resolution" if port.solicits_others(reading) else "punt_nd", reading
    if not bump and of_one_link(reading):
        return "punt_link_local", reading
    if port.owns(reading.src):
        return "drop_own_source", reading
    return "punt_fragment" if reading.fragment else "", reading


def ether_type(frame: Frame) -> tuple[int, int]:
    """The type behind up to two tags, and where its header begins; 802.3 lengths count as
    unknown types."""
    kind, at = int.from_bytes(frame.data[12:14], "big"), 14
    for _ in range(MOST_TAGS):
        if kind in TAGS:
            kind, at = Dot1Q(frame.data[at : at + 4]).type, at + 4
    return kind, at


def neighbour_discovery(packet: Reading) -> bool:
    return packet.version == 6 and packet.upper == "icmp" and packet.numbers[0] in NEIGHBOUR_DISCOVERY
