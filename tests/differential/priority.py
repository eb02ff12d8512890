# SPDX-License-Identifier: Apache-2.0
"""Frames that pass others at their port while no DSCP is marked (docs/explanation/priority.md),
from their first 64 bytes."""

from __future__ import annotations

from .ethernet import IPV4, IPV6, Frame
from .frame_judge import ether_type
from .ip_packets import NEIGHBOUR_DISCOVERY

SEEN = 64
ARP, UDP, ICMPV6 = 0x0806, 17, 58
IKE, NATT = 500, 4500
OFFSET = 0x1FFF


def is_control(frame: Frame) -> bool:
    """ARP, neighbour discovery, or IKE, as far as it can be seen."""
    kind, at = ether_type(frame)
    seen = frame.data[at:SEEN]
    packet = seen.ljust(SEEN, b"\0")

    def number(place: int) -> int:
        return int.from_bytes(packet[place : place + 2], "big")

    if kind == IPV4:
        first = packet[0] == 0x45 and packet[9] == UDP and number(6) & OFFSET == 0
        return first and (number(22) == IKE or (number(22) == NATT and packet[28:32] == bytes(4)))
    if kind == IPV6 and packet[6] == UDP:
        return len(seen) >= 44 and number(42) == IKE
    return kind == ARP or (kind == IPV6 and packet[6] == ICMPV6 and packet[40] in NEIGHBOUR_DISCOVERY)
