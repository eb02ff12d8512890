# SPDX-License-Identifier: Apache-2.0
"""Boxes whose clear packets may find no station at black: hosts and gateways whose Ethernet address
is not known, with and without a default next hop that stands for them."""

from __future__ import annotations

import random
from dataclasses import replace
from ipaddress import ip_address, ip_network

from .configuration import Configuration
from .network import Gateway

WITHOUT_DEFAULT = 0.5  # of all boxes
UNKNOWN = 0.4  # of the gateways of black, but for those of peers
# Routes to more of those, where exact policies have their hosts.
FURTHER = (("10.2.0.0/24", "192.0.2.251"), ("2001:db8:2::/64", "2001:db8:c0::fb"))
HAVE_FURTHER = 0.5


def change(dice: random.Random, configuration: Configuration) -> Configuration:
    """The box with fewer stations at black; a bump in the wire has none."""
    if configuration.bump:
        return configuration
    paths = configuration.paths
    peers = [ip_address(peer) for peer in configuration.peers()]

    def changed(gateway: Gateway) -> Gateway:
        of_peers = any(peer in gateway.prefix for peer in peers)
        lost = dice.random() < UNKNOWN and gateway.device == "black" and not of_peers
        return replace(gateway, mac="") if lost else gateway

    defaults = dict(paths.defaults)
    if dice.random() < WITHOUT_DEFAULT:
        del defaults["black"]
    gateways = [*map(changed, paths.gateways)]
    for prefix, address in FURTHER:
        if dice.random() < HAVE_FURTHER:
            gateways.append(Gateway("black", ip_network(prefix), address, ""))
    return replace(configuration, paths=replace(paths, gateways=tuple(gateways), defaults=defaults))
