# SPDX-License-Identifier: Apache-2.0
"""ICMP errors as routers and hosts make them, and as others forge them, beside all other
packets."""

from __future__ import annotations

import random
from ipaddress import ip_address

from . import damage, headers, ip_packets
from .icmp_errors import ERRORS, FIXED, LEAST_BEHIND
from .network import SPACE
from .policy import Selector
from .reading import ICMP_OF, PORTS

SHARE = 0.12
LONG = 0.03


def some(dice: random.Random, source: str, selectors: list[Selector]) -> bytes:
    """A packet from the side `source`, sometimes an error about what some of the selectors take."""
    return (make if dice.random() < SHARE else ip_packets.make)(dice, source, selectors)


def for_red(dice: random.Random, selectors: list[Selector], mtu: int) -> bytes:
    """The same from black, sometimes a packet around the MTU of red."""
    if dice.random() < LONG:
        return ip_packets.make(dice, "black", selectors, ip_packets.around_mtu(dice, mtu))
    return some(dice, "black", selectors)


def make(dice: random.Random, source: str, selectors: list[Selector]) -> bytes:
    """An error to the sender of a packet whose return traffic is mostly one that some of the
    selectors may take."""
    about = _turned(ip_packets.make(dice, source, selectors))
    version = about[0] >> 4
    least = FIXED[version] + LEAST_BEHIND
    held = about[: dice.choice([least - 8, least - 1, *(least,) * 5, least + 1, least + 20, 128, len(about)])]
    if dice.random() < 0.15:
        held = damage.flip(dice, held, least)
    sender, receiver = (ip_address(about[slice(*place)]) for place in _places(version)[::-1])
    if dice.random() < 0.5:
        sender = ip_packets.inside(dice, SPACE[source, version])
    if dice.random() < 0.1:
        receiver = ip_packets.inside(dice, SPACE["red" if source == "black" else "black", version])
    kind = dice.choice(ERRORS[version]) if dice.random() < 0.9 else dice.randrange(256)
    upper = headers.icmp(kind, dice.choice([0, 1, 4, dice.randrange(256)]), dice.randbytes(4)) + held
    return ip_packets.build(dice, sender, receiver, ICMP_OF[version], upper)


def _places(version: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Of the source and the destination in a header."""
    return ((12, 16), (16, 20)) if version == 4 else ((8, 24), (24, 40))


def _turned(packet: bytes) -> bytes:
    """The packet with its addresses, and the ports straight behind its fixed header, in each
    other's place."""
    version = packet[0] >> 4
    (first, _), (middle, end) = _places(version)
    fresh = bytearray(packet)
    fresh[first:end] = packet[middle:end] + packet[first:middle]
    at = FIXED[version]
    if packet[9 if version == 4 else 6] in PORTS and len(packet) >= at + 4:
        fresh[at : at + 4] = packet[at + 2 : at + 4] + packet[at : at + 2]
    return bytes(fresh)
