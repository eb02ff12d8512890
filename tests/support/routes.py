# SPDX-License-Identifier: Apache-2.0
"""Routes of a port, drawn at random, and the longest one of an address by Python's `ipaddress`."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
GATEWAYS = {4: [f"10.0.0.{n}" for n in range(1, 9)], 6: [f"2001:db8::{n}" for n in range(1, 9)]}


@dataclass
class Routes:
    """Written routes of a device, and where they lead."""

    gateways: dict[Network, str] = field(default_factory=dict)

    def leads(self, to: str) -> str | None:
        address = ip_address(to)
        holding = [net for net in self.gateways if net.version == address.version and address in net]
        return self.gateways[max(holding, key=lambda net: net.prefixlen)] if holding else None

    def lines(self, dev: str) -> str:
        return "".join(f"route add {net} via {gateway} dev {dev}\n" for net, gateway in self.gateways.items())


def drawn(dice: random.Random, count: int) -> Routes:
    """Nested and neighbouring networks of both versions, none of them on the port's own."""
    routes: dict[Network, str] = {}
    while len(routes) < count:
        if dice.random() < 0.5:
            near = int(ip_address("172.16.0.0")) | dice.getrandbits(20) >> dice.randrange(14)
            net: Network = IPv4Network((near, dice.choice([12, 13, 14, 16, 19, 20, 23, 24, 27, 30, 32])), strict=False)
        else:
            near = int(ip_address("2001:db8:100::")) | dice.getrandbits(88) >> dice.randrange(24)
            net = IPv6Network((near, dice.choice([32, 40, 41, 47, 48, 56, 60, 63, 64, 126, 127, 128])), strict=False)
        if not net.overlaps(ip_network("10.0.0.0/24" if net.version == 4 else "2001:db8::/64")):
            routes[net] = dice.choice(GATEWAYS[net.version])
    return Routes(routes)


def around(dice: random.Random, net: Network) -> str:
    """An address at an end of a network, beside it, or in the midst."""
    first, last = int(net.network_address), int(net.broadcast_address)
    at = dice.choice([first, first - 1, last, last + 1, dice.randint(first, last)])
    return str(IPv4Address(at) if net.version == 4 else IPv6Address(at))
