# SPDX-License-Identifier: Apache-2.0
"""A random box with VRFs whose addresses overlap: each has VLANs, hosts, gateways, SAs and policies
of its own, and so has the network without a VRF."""

from __future__ import annotations

import random
from collections.abc import Iterator
from ipaddress import ip_address, ip_interface, ip_network

from .configuration import Configuration, any_selector, exact_selector, inbound_sas, outbound_sas, ranged
from .network import MTU_PREFIXES, RED_LOCAL, SPACE, Gateway, Paths, device_of, gateways
from .policy import Policy, Selector
from .sa import Sa
from .vrf import ANYTHING, Station, Vrf

NAMES = ("blue", "green", "vrf0", "fifteen-letters", "all")
TABLES = (1, 10, 252, 256, (1 << 32) - 1)
VLANS = (1, 2, 10, 4094)
# Networks of VLANs, without an address in common; the first is network 0's, too.
PLACES = (RED_LOCAL, ("10.1.0.129/25", "2001:db8:1::81/64"), ("10.1.16.1/20", "2001:db8:1:4000::1/50"))
CONNECTED = ("10.1.48.0/20", "2001:db8:1:9000::/56")
# Routes inside and around those networks.
ROUTED = ("10.1.64.0/18", "10.1.0.0/17", "10.1.128.160/27", "10.1.64.0/20", "2001:db8:1:7000::/52", "2001:db8:1::/49")
# Of the eight rows of the trees' first level network 0 takes up to four, two stay free, and a VRF
# takes up to two (docs/reference/sallyctl-network.md).
WITH_TREES = 1


def make(dice: random.Random, suite_names: list[str]) -> Configuration:
    """Suites are taken from those that the chip has been built with."""
    suite_of = lambda: dice.choice(suite_names)  # noqa: E731
    count = dice.randint(2, 4)
    vlans = dice.sample([*VLANS, *dice.sample(range(3, 4094), 4)], 2 * count)
    tables, names = dice.sample(TABLES, count), dice.sample(NAMES, count)
    vrfs = [_vrf(dice, names[n], tables[n], vlans[2 * n : 2 * n + dice.choice([1, 2])], n) for n in range(count)]
    outbound = [*outbound_sas(dice, suite_of), *outbound_sas(dice, suite_of)[:count]]
    inbound = [*inbound_sas(dice, suite_of)[:-1], *inbound_sas(dice, suite_of)]
    *inbound, unnamed = inbound
    paths = Paths(
        gateways({prefix: dice.choice([0, 0, 1400, 1280]) for prefix in MTU_PREFIXES}),
        dice.choice([0, 9000, 1500, 1400]),
        dice.choice([0, 9000, 1500, 1280]),
    )
    policies: list[Policy] = []
    for n, name in enumerate(["", *(vrf.name for vrf in vrfs)]):
        # Ranges of ports take many rules, which all networks share.
        selectors = {side: _selectors(dice, *side, ranges=1 if n == 0 else 0) for side in (OUT, IN)}
        policies += _out_policies(dice, outbound[n :: count + 1], name, selectors[OUT])
        policies += _in_policies(dice, inbound[n :: count + 1], name, selectors[IN])
    dice.shuffle(policies)  # the oldest of equal ones decides within a network alone
    return Configuration([*outbound, *inbound, unnamed], policies, paths, vrfs=tuple(vrfs))


OUT, IN = ("red", "black"), ("black", "red")


def _vrf(dice: random.Random, name: str, table: int, vlans: list[int], number: int) -> Vrf:
    places = dice.sample(PLACES, len(vlans))
    addresses = {vlan: place[: dice.choice([1, 2, 2])] for vlan, place in zip(vlans, places, strict=True)}
    hosts = {}
    for at, (vlan, own) in enumerate(addresses.items()):
        for kind, address in enumerate(own):
            for host in dice.sample(range(1, 6), 3):
                mac = f"02:ee:{number:02x}:{at:02x}:{kind:02x}:{host:02x}"
                hosts[str(ip_interface(address).ip + host)] = Station(mac, vlan)
    connected = []
    for prefix in CONNECTED:
        vlan = dice.choice(vlans)
        if dice.random() < 0.4:
            connected.append((ip_network(prefix), vlan))
            hosts[str(ip_network(prefix)[5])] = Station(f"02:ee:{number:02x}:aa:{len(prefix):02x}:05", vlan)
    routes = _gateways(dice, vlans, hosts, number) if number < WITH_TREES else ()
    return Vrf(name, table, addresses, hosts, routes, tuple(connected))


def _gateways(dice: random.Random, vlans: list[int], hosts: dict[str, Station], number: int) -> tuple[Gateway, ...]:
    """Routers with a neighbour line, straight behind a VLAN or beyond it, and one without."""
    found, routers = [], {}
    for n, prefix in enumerate(dice.sample(ROUTED, dice.randint(0, len(ROUTED)))):
        version = ip_network(prefix).version
        beside = ["10.1.255.9", "10.1.255.10"] if version == 4 else ["2001:db8:1:ffff::9", "2001:db8:1:ffff::a"]
        near = [host for host in hosts if ip_address(host).version == version]
        address = dice.choice([*beside, *near[:2]])
        known = Station("" if dice.random() < 0.15 else f"02:ef:{number:02x}:00:00:{n:02x}", dice.choice(vlans))
        to = hosts.get(address) or routers.setdefault(address, known)
        found.append(Gateway(device_of(to.vlan), ip_network(prefix), address, to.mac))
    return tuple(found)


def _selectors(dice: random.Random, near: str, far: str, ranges: int) -> Iterator[Selector]:
    while True:
        selector = any_selector(dice, dice.choice([4, 6]), near, far)
        if not ranged(selector) or ranges > 0:
            ranges -= ranged(selector)
            yield selector


def _out_policies(dice: random.Random, sas: list[Sa], vrf: str, selectors: Iterator[Selector]) -> list[Policy]:
    """Few, since all networks share the rules; in a VRF nothing leaves in clear."""
    found: dict[Selector, Policy] = {}
    actions = ["block", "punt", *sas, *sas, *([] if vrf else ["allow", "allow"])]

    def add(selector: Selector, priority: int, action: str | Sa) -> None:
        mss = isinstance(action, Sa) and dice.random() < 0.5
        found.setdefault(selector, Policy(selector, "out", priority, action, mss, vrf))

    for _ in range(3):
        add(next(selectors), 1 + dice.randrange(4), dice.choice(actions))
    for _ in range(6):
        add(exact_selector(dice, dice.choice([4, 6])), 1 + dice.randrange(4), dice.choice(actions))
    for n, sa in enumerate(sas):
        version = (4, 6)[n % 2] if dice.random() < 0.8 else dice.choice([4, 6])
        half = dice.choice(list(SPACE["red", version].subnets()))
        add(Selector(half, SPACE["black", version]), 5 + dice.randrange(2), sa)
    for version in (4, 6):
        if sas and dice.random() < 0.6:
            add(Selector(SPACE["red", version], SPACE["black", version]), 4_000_000_000, dice.choice(sas))
    return list(found.values())


def _in_policies(dice: random.Random, sas: list[Sa], vrf: str, selectors: Iterator[Selector]) -> list[Policy]:
    found: dict[Selector, Policy] = {}

    def add(selector: Selector, priority: int, action: str | Sa) -> bool:
        mss = isinstance(action, Sa) and dice.random() < 0.5
        policy = Policy(selector, dice.choice(["in", "fwd"]), priority, action, mss, vrf)
        return found.setdefault(selector, policy) is policy

    for n, sa in enumerate(sas):
        if n == 0 and dice.random() < 0.6:
            for anything in ANYTHING.values():
                add(Selector(ip_network(anything), ip_network(anything)), dice.choice([99, dice.randrange(100)]), sa)
            continue
        version = dice.choice([4, 6])
        wide = Selector(SPACE["black", version], SPACE["red", version])
        selector = wide if dice.random() < 0.6 else next(selectors)
        while not add(selector, dice.randrange(100), sa):
            selector = next(selectors)
    # A block in front of a protected policy is refused (docs/reference/sallyctl-policies.md).
    for _ in range(1 if vrf else 5):
        action = "block" if vrf else dice.choice(["allow", "allow", "punt", "block"])
        priority = 100 + dice.randrange(4) if action == "block" else dice.randrange(104)
        add(next(selectors), priority, action)
    return list(found.values())
