# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames around packets: tags, types, padding, runts, and frames that are not IP."""

from __future__ import annotations

import random
from dataclasses import dataclass

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_RS, IPv6
from scapy.layers.l2 import ARP, LLC, STP, Dot1Q, Dot3, Ether
from scapy.packet import Packet, Raw

from . import damage
from .network import MAC_OF_PORT

MINIMUM, MAXIMUM = 60, 9596  # bytes without the FCS
TAGS = (0x8100, 0x88A8, 0x9100)
IPV4, IPV6 = 0x0800, 0x86DD
OTHER_TYPES = (0x8864, 0x88CC, 0x0801, 0x86DE, 0x22F0)
OTHERS = (*MAC_OF_PORT.values(), "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01", "01:00:5e:00:00:09", "02:00:00:00:00:77")


@dataclass(frozen=True)
class Frame:
    """A frame as it comes to a port, without its FCS, which may be wrong."""

    data: bytes
    bad_fcs: bool = False


def around(dice: random.Random, port: str, packet: bytes) -> Frame:
    """A packet as a frame's payload; 4 frames in 100 say that it is something else, or are damaged
    themselves."""
    ether_type = IPV6 if packet[:1] and packet[0] >> 4 == 6 else IPV4
    if dice.random() < 0.015:
        ether_type = dice.choice([IPV4, IPV6, 0x0806, 0x8847, 0x88CC, dice.randrange(0x10000), dice.randrange(0x600)])
    data = _head(dice, port, ether_type) + packet
    if dice.random() < 0.02:
        data = damage.flip(dice, data, 22)
    return finish(dice, data)


def vlan(frame: Frame) -> int:
    """The ID of the outer tag; 0 without one."""
    tagged = int.from_bytes(frame.data[12:14], "big") in TAGS
    return int.from_bytes(frame.data[14:16], "big") & 0xFFF if tagged else 0


def unharmed(dice: random.Random, port: str, packet: bytes) -> Frame:
    """A packet in a frame that nothing is wrong with; tags and padding it may have."""
    data = _head(dice, port, IPV6 if packet[0] >> 4 == 6 else IPV4) + packet
    if dice.random() < 0.06:
        data += dice.randbytes(dice.randrange(1, 60))
    return Frame(data + dice.randbytes(max(0, MINIMUM - len(data))))


def other(dice: random.Random, port: str, bump: bool = False) -> Frame:
    """Frames that are not IP, or hide it, and IPv6's neighbour discovery."""
    if dice.random() < (0.3 if bump else 0.1):
        return finish(dice, _head(dice, port, IPV6) + neighbours(dice))
    mac = {"dst": _destination(dice, port), "src": _source(dice)}
    asked = dice.choice(["10.1.0.2", "192.0.2.1", "192.0.2.2", "10.1.128.129"])
    stations = {"hwsrc": mac["src"], "psrc": "10.1.0.1", "hwdst": "00:00:00:00:00:00", "pdst": asked}
    ip = bytes(IP(src="10.1.0.1", dst="10.2.0.1")) + dice.randbytes(dice.randrange(60))
    match dice.randrange(6):
        case 0:
            frame: Packet = Ether(**mac) / ARP(**stations, op=dice.choice([1, 2]))
        case 1:
            frame = Ether(**mac) / Dot1Q(vlan=7) / ARP(**stations)
        case 2:
            frame = Ether(**mac) / MPLS(label=dice.randrange(1 << 20), s=1) / Raw(ip)
        case 3:
            frame = Ether(**mac) / Dot1Q(vlan=7) / MPLS(label=3, s=1) / Raw(ip)
        case 4:
            frame = Dot3(**mac) / LLC() / STP()
        case _:
            frame = Ether(**mac, type=dice.choice(OTHER_TYPES)) / Raw(dice.randbytes(dice.randrange(100)))
    return finish(dice, bytes(frame))


def neighbours(dice: random.Random) -> bytes:
    """Neighbour discovery (RFC 4861), right, and sent on by some router."""
    kind = dice.choice([ICMPv6ND_NS(tgt="2001:db8:2::1"), ICMPv6ND_NA(tgt="fe80::11"), ICMPv6ND_RS(), ICMPv6ND_RA()])
    # Groups of the box's addresses and of others, and two addresses that are none.
    groups = [f"ff02::1:ff{end}" for end in ("00:1", "00:81", "00:2", "10:1")] + ["ff02::1", "ff02::1:fe00:1"]
    dst = dice.choice([*groups, "fe80::22", "2001:db8:2::1"])
    return bytes(IPv6(src="fe80::11", dst=dst, hlim=dice.choice([255, 255, 254, 64])) / kind)


def finish(dice: random.Random, data: bytes) -> Frame:
    """Padding (which may be anything), and frames that no port may take: bad FCS, too short,
    too long."""
    chance = dice.random()
    if chance < 0.06:
        data += dice.randbytes(dice.choice([1, 2, 4, dice.randrange(60), dice.randrange(600)]))
    elif chance < 0.07:
        data = data[: dice.randrange(14, len(data) + 1)]
    elif chance < 0.075:
        return Frame(data[: dice.randrange(14, MINIMUM)])
    elif chance < 0.077:
        return Frame(data.ljust(dice.choice([MAXIMUM - 1, MAXIMUM, MAXIMUM + 1, 9700]), b"\0")[:16000])
    if len(data) < MINIMUM:
        data += dice.choice([bytes(MINIMUM), dice.randbytes(MINIMUM)])[len(data) :]
    return Frame(data, bad_fcs=dice.random() < 0.005)


def _head(dice: random.Random, port: str, ether_type: int) -> bytes:
    """Addresses, up to three VLAN tags and the type."""
    tags = dice.choice([1, 1, 1, 2, 2, 3]) if dice.random() < 0.15 else 0
    data = bytes.fromhex((_destination(dice, port) + _source(dice)).replace(":", ""))
    for _ in range(tags):
        data += dice.choice(TAGS).to_bytes(2, "big") + dice.randbytes(2)
    return data + ether_type.to_bytes(2, "big")


def _destination(dice: random.Random, port: str) -> str:
    return MAC_OF_PORT[port] if dice.random() < 0.9 else dice.choice(OTHERS)


def _source(dice: random.Random) -> str:
    return "02:00:00:00:00:01" if dice.random() < 0.99 else dice.choice(["03:00:00:00:00:01", "ff:ff:ff:ff:ff:ff"])
