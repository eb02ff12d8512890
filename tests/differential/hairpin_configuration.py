# SPDX-License-Identifier: Apache-2.0
"""A random hub of spokes: a router whose routes lead some of red's addresses back into tunnels.
Half of the hubs have VRFs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network

from . import configuration, vrf_configuration
from .configuration import Configuration, any_selector, exact_selector, ranged
from .network import SPACE, Network
from .policy import Policy, Selector
from .sa import Sa

# Behind tunnels: inside and around the networks and the routes of red, and beside all of them.
WIDE = {4: ("10.1.0.0/16", "10.1.0.0/17", "10.1.128.0/17"), 6: ("2001:db8:1::/48", "2001:db8:1:8000::/49")}
BACKS = (
    "10.1.32.0/19", "10.1.128.128/27", "10.1.64.0/18", "10.1.72.0/22", "10.1.240.0/20",
    "2001:db8:1:2000::/51", "2001:db8:1:7800::/62", "2001:db8:1:8000::/64", "2001:db8:1:c000::/51",
)  # fmt: skip
LAST = 4_000_000_000


def make(dice: random.Random, suite_names: list[str]) -> Configuration:
    """Suites are taken from those that the chip has been built with."""
    base = (vrf_configuration if dice.random() < 0.5 else configuration).make(dice, suite_names)
    paths = replace(base.paths, backs=_backs(dice))
    vrfs = tuple(replace(vrf, backs=_backs(dice) if dice.random() < 0.7 else ()) for vrf in base.vrfs)
    names = ["", *(vrf.name for vrf in vrfs)]
    further = [policy for name in names for policy in _policies(dice, base, name)]
    spokes = {old: new for name in names for old, new in _spokes(dice, base, name)}
    policies = [spokes.get(policy, policy) for policy in base.policies]
    return replace(base, paths=paths, vrfs=vrfs, policies=[*policies, *further])


def _spokes(dice: random.Random, base: Configuration, vrf: str) -> Iterator[tuple[Policy, Policy]]:
    """Inbound policies of a network that are the only ones of their SAs; and in place of each, one
    that takes a quarter of black's addresses to all of red's, before all others."""
    of_sas = Counter(p.action for p in base.policies if p.direction != "out" and isinstance(p.action, Sa))
    inbound = [p for p in base.policies if p.vrf == vrf and p.direction != "out" and of_sas[p.action] == 1]
    quarters = zip(*(SPACE["black", version].subnets(2) for version in (4, 6)), strict=True)
    selectors = [Selector(quarter, SPACE["red", quarter.version]) for both in quarters for quarter in both]
    known = {policy.selector for policy in base.policies if policy.vrf == vrf}
    selectors = [selector for selector in selectors if selector not in known]
    for old, selector in zip(dice.sample(inbound, len(inbound)), selectors, strict=False):
        yield old, replace(old, selector=selector, priority=0)


def _backs(dice: random.Random) -> tuple[Network, ...]:
    wide = [dice.choice(these) for these in WIDE.values()]
    return tuple(map(ip_network, [*wide, *dice.sample(BACKS, dice.randint(0, 4))]))


def _policies(dice: random.Random, base: Configuration, vrf: str) -> list[Policy]:
    """Those of packets from tunnel to tunnel, from black's addresses to red's; few, since they
    share the rules with all others."""
    known = [policy for policy in base.policies if policy.vrf == vrf and policy.direction == "out"]
    sas = [policy.action for policy in known if isinstance(policy.action, Sa)]
    found: dict[Selector, Policy] = {policy.selector: policy for policy in known}

    def add(selector: Selector, priority: int, action: str | Sa) -> None:
        mss = isinstance(action, Sa) and dice.random() < 0.5
        found.setdefault(selector, Policy(selector, "out", priority, action, mss, vrf))

    actions = ["block", "punt", *([] if vrf else ["allow"]), *dice.sample(sas, min(3, len(sas)))]
    for _ in range(1 if base.vrfs else 4):
        selector = any_selector(dice, dice.choice([4, 6]), "black", "red")
        if not ranged(selector):
            add(selector, dice.randrange(1, 5), dice.choice(actions))
    for _ in range(4):
        selector = exact_selector(dice, dice.choice([4, 6]))
        add(replace(selector, src=selector.dst, dst=selector.src), dice.randrange(1, 5), dice.choice(actions))
    for version in (4, 6):
        for half in SPACE["black", version].subnets(0 if base.vrfs else 1):
            if sas and dice.random() < 0.8:
                add(Selector(half, SPACE["red", version]), LAST, dice.choice(sas))
    return [policy for policy in found.values() if policy not in known]
