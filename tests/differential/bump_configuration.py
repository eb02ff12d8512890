# SPDX-License-Identifier: Apache-2.0
"""A random bump in the wire: SAs between hosts on both sides of it, and policies of hosts and of
networks around them, from a seed."""

from __future__ import annotations

import random
from ipaddress import ip_network

from .configuration import (
    PORT_PROTOCOLS,
    TURN,
    WINDOWS,
    Configuration,
    any_selectors,
    exact_selector,
    ranged,
    selector_of,
)
from .network import LOCAL, SPACE, Bridge
from .policy import Hosts, Network, Policy, Selector
from .sa import Sa

# Addresses of hosts, by IP version; those of 10 are of networks that other policies name too.
NEAR = {4: ("10.1.0.1", "10.1.0.2", "10.1.77.5"), 6: ("2001:db8:1::1", "2001:db8:1::2")}
FAR = {4: ("10.2.0.1", "10.2.0.2", "10.2.200.9"), 6: ("2001:db8:2::1", "2001:db8:2::2")}
LINK_LOCAL = ("fe80::11", "fe80::22")
LINK = ip_network("fe80::/10")
# Two hosts each: the first ones are of one group, whose two first are of the same hosts, an old SA
# and its successor.
PAIRS = {
    4: [(0, 0), (0, 0), (1, 1), (0, 2), (2, 1), (1, 0), (2, 2)],
    6: [(0, 0), (1, 1), (1, 0)],
}
GROUPED = {4: 4, 6: 2}
GROUP = {4: 7004, 6: 7006}


def make(dice: random.Random, suite_names: list[str]) -> Configuration:
    """Suites are taken from those that the chip has been built with."""
    local = {version: LOCAL[version] for version in dice.choice([(4, 6), (4, 6), (4,), (6,), ()])}
    sas = [*_sas(dice, suite_names, outbound=True), *_sas(dice, suite_names, outbound=False)]
    paths = Bridge((), dice.choice([0, 9000, 1500, 1400, 1300]), dice.choice([0, 9000, 1500, 576]), local)
    return Configuration(sas, [*_out_policies(dice, sas), *_in_policies(dice, sas)], paths, bump=True)


def _sas(dice: random.Random, suite_names: list[str], outbound: bool) -> list[Sa]:
    ends = [
        (version, NEAR[version][near], FAR[version][far], GROUP[version] if number < GROUPED[version] else 0)
        for version, pairs in PAIRS.items()
        for number, (near, far) in enumerate(pairs)
    ]
    found = []
    for number, (_, near, far, group) in enumerate([*ends, (6, *LINK_LOCAL, 0)]):
        src, dst = (near, far) if outbound else (far, near)
        base = (0x1000 if outbound else 1 << 31) + dice.randrange(1 << 20) * 16 + number
        sa = Sa(
            outbound,
            dice.choice(suite_names),
            base,
            src,
            dst,
            transport=True,
            group=group,
            **_numbers(dice, number, outbound),
        )
        found.append(sa)
    return found


def _numbers(dice: random.Random, number: int, outbound: bool) -> dict:
    """ESN, window and limit; of some inbound SAs what becomes of a packet does not depend on those
    before, so theirs may come cut."""
    if outbound:
        return {"esn": dice.random() < 0.4, "hard_limit": dice.randrange(1, 200) if number == 5 else 0}
    window = 0 if number in (2, 4, 8) else dice.choice(WINDOWS)
    esn = window > 0 and dice.random() < 0.5
    received = dice.choice([0, 0, 100, 5000, (1 << 31) - 1]) if window else 0
    at_turn = esn and received == 0 and dice.random() < 0.7
    first = TURN - 2 * max(WINDOWS) if at_turn else max(1, received - 30)
    return {"window": window, "esn": esn, "received": received, "first": first}


def _around(dice: random.Random, address: str) -> Network:
    """A network with the host in it, or the host alone."""
    host = ip_network(address)
    if dice.random() < 0.6:
        return host
    return host.supernet(new_prefix=dice.choice([host.max_prefixlen - dice.randrange(1, 25), 10]))


def _of_groups(dice: random.Random, src: Network, dst: Network) -> Selector:
    """Each of its hosts takes its rules, so it has no range of ports."""
    while ranged(selector := selector_of(dice, src, dst)):
        pass
    return selector


def _of_hosts(dice: random.Random, sa: Sa) -> Selector:
    return selector_of(dice, _around(dice, sa.src), _around(dice, sa.dst))


def _group(sas: list[Sa], version: int, outbound: bool) -> Hosts:
    members = tuple(sa for sa in sas if sa.group == GROUP[version] and sa.outbound == outbound)
    return Hosts(members, named=False, reqid=GROUP[version])


def _out_policies(dice: random.Random, sas: list[Sa]) -> list[Policy]:
    """Rules and flows with few priority numbers, as for tunnels; behind them all packets of hosts
    that have SAs."""
    single = [sa for sa in sas if sa.outbound and not sa.group]
    found: dict[Selector, Policy] = {}

    def add(selector: Selector, priority: int, action: str | Hosts) -> None:
        found.setdefault(selector, Policy(selector, "out", priority, action))

    def of(sa: Sa) -> Hosts:
        return Hosts((sa,), named=True, reqid=sa.reqid)

    selectors = any_selectors(dice, "red", "black")
    for _ in range(6):
        add(next(selectors), dice.randrange(4), dice.choice(["allow", "allow", "block", "punt"]))
    for _ in range(6):
        add(exact_selector(dice, dice.choice([4, 6])), dice.randrange(4), dice.choice(["allow", "block", "punt"]))
    for sa in single:
        add(_of_hosts(dice, sa), dice.randrange(4), of(sa))
        if dice.random() < 0.7:
            hosts = Selector(
                ip_network(sa.src), ip_network(sa.dst), dice.choice(list(PORT_PROTOCOLS)), 80, dice.choice([443, 53])
            )
            add(hosts, dice.randrange(4), of(sa))
        add(Selector(ip_network(sa.src), ip_network(sa.dst)), 5 + dice.randrange(2), of(sa))
    add(Selector(LINK, LINK, dice.choice([None, 17])), dice.randrange(8), dice.choice(["allow", "block", "punt"]))
    for version in (4, 6):
        group = _group(sas, version, outbound=True)
        networks = SPACE["red", version], SPACE["black", version]
        add(_of_groups(dice, *networks), dice.randrange(4), group)
        add(Selector(*networks), 4_000_000_000, dice.choice([group, group, "allow"]))
    return list(found.values())


def _in_policies(dice: random.Random, sas: list[Sa]) -> list[Policy]:
    """One policy for each inbound SA or group of them but one; clear traffic that crosses, is
    refused and punted."""
    found: dict[Selector, Policy] = {}

    def add(selector: Selector, priority: int, action: str | Hosts) -> bool:
        policy = Policy(selector, dice.choice(["in", "fwd"]), priority, action)
        return found.setdefault(selector, policy) is policy

    for sa in [sa for sa in sas if not sa.outbound and not sa.group][:-1]:
        while not add(_of_hosts(dice, sa), dice.randrange(100), Hosts((sa,), named=True, reqid=sa.reqid)):
            pass
    for version in (4, 6):
        networks = SPACE["black", version], SPACE["red", version]
        wide = Selector(*networks) if dice.random() < 0.5 else _of_groups(dice, *networks)
        add(wide, dice.randrange(100), _group(sas, version, outbound=False))
    # A block in front of a protected policy is refused (docs/reference/sallyctl-policies.md): these
    # come behind all of them.
    selectors = any_selectors(dice, "black", "red")
    for _ in range(8):
        action = dice.choice(["allow", "allow", "punt", "block"])
        priority = 100 + dice.randrange(4) if action == "block" else dice.randrange(104)
        add(next(selectors), priority, action)
    add(Selector(LINK, LINK, dice.choice([None, 17])), dice.randrange(104), dice.choice(["allow", "punt"]))
    return list(found.values())
