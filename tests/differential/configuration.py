# SPDX-License-Identifier: Apache-2.0
"""A random configuration: SAs of both versions and of several suites, and policies around them,
from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_network

from .network import LOCAL, MTU_PREFIXES, OTHER_LOCAL, PEERS, SPACE, Paths, gateways
from .policy import PORT_PROTOCOLS, Network, Number, Policy, Selector
from .reading import ICMP_OF, MOBILITY
from .sa import Sa
from .vrf import Vrf

WINDOWS = (0, 64, 65, 128, 1024, 1025, 2048, 4096)
TURN = 1 << 32
WELL_KNOWN_PORTS = (53, 80, 443, 500, 4500, 5000)
# Of 6, 8, 1 and 3 rules: a box has few (docs/reference/sallyctl-policies.md).
PORT_RANGES = ((1024, 65535), (80, 443), (5000, 5003), (52, 57))
RANGED = 0.15
MOST_RANGES = 3  # of a direction: 64 rules are room for its other policies, 38 at most, and these
OTHER_PROTOCOLS = (0, 2, 47, 50, 51, 59, 89, MOBILITY, 253)
# Destinations that are groups alone; the last of each version holds hosts, too.
AT_GROUPS = {
    4: tuple(map(ip_network, ("224.0.0.0/4", "239.0.0.0/8", "239.1.2.3/32", "255.255.255.255/32", "192.0.0.0/2"))),
    6: tuple(map(ip_network, ("ff00::/8", "ff0e::/16", "ff02::1/128", "fe00::/7"))),
}
MOBILITY_TYPES = (0, 1, 5, (4, 7))  # one rule each


@dataclass(frozen=True)
class Configuration:
    """What one box is told, and so what decides over its packets."""

    sas: list[Sa]
    policies: list[Policy]
    paths: Paths
    bump: bool = False
    vrfs: tuple[Vrf, ...] = ()

    def batch(self) -> str:
        lines = [*self.paths.lines(), *(line for vrf in self.vrfs for line in vrf.lines())]
        lines += [*(sa.line() for sa in self.sas), *(policy.line() for policy in self.policies)]
        return "\n".join(lines) + "\n"

    @property
    def outbound(self) -> list[Sa]:
        return [sa for sa in self.sas if sa.outbound]

    @property
    def inbound(self) -> list[Sa]:
        return [sa for sa in self.sas if not sa.outbound]

    def vrf_of(self, vlan: int) -> Vrf | None:
        """The VRF of frames from red, by the ID of their outer tag."""
        return next((vrf for vrf in self.vrfs if vlan in vrf.addresses), None)

    def number(self, vrf: Vrf | None) -> int:
        """That of a VRF's network, as the chips and punted frames have it."""
        return self.vrfs.index(vrf) + 1 if vrf else 0

    def vrf_inside(self, sa: Sa) -> Vrf | None:
        """The VRF of the packets in a tunnel: that of its policies."""
        names = {policy.vrf for policy in self.policies if policy.carried_by(sa)}
        return next((vrf for vrf in self.vrfs if vrf.name in names), None)

    def out(self, vrf: Vrf | None = None) -> list[Policy]:
        """Those that packets of a VRF meet, or those of none."""
        own = vrf.own() if vrf else []
        return [*own, *(policy for policy in self._of(vrf) if policy.direction == "out")]

    def incoming(self, vrf: Vrf | None = None) -> list[Policy]:
        return [policy for policy in self._of(vrf) if policy.direction != "out"]

    def _of(self, vrf: Vrf | None) -> list[Policy]:
        return [policy for policy in self.policies if policy.vrf == (vrf.name if vrf else "")]

    def peers(self) -> set[str]:
        """The far ends of SAs, and of policies for SAs of two hosts, whose SAs may come."""
        ends = {sa.dst if sa.outbound else sa.src for sa in self.sas}
        return ends | {end for policy in self.policies if (end := policy.far_end())}

    def aims(self) -> list[Selector]:
        """What packets to the red port should be of: policies, and twice the SAs of two hosts that
        they ask for."""
        found = [policy.selector for policy in self.out()]
        hosts = [policy.carried_by(sa) for policy in self.out() for sa in self.outbound if sa.transport]
        return [*found, *(selector for selector in 2 * hosts if selector)]

    def carried(self, sa: Sa) -> list[Selector]:
        """What an inbound SA may carry; nothing where no policy names it."""
        found = (policy.carried_by(sa) for policy in self.policies if policy.direction != "out")
        return [selector for selector in found if selector]

    def _between(self, sa: Sa) -> list[Selector]:
        """What of an SA's packets is for other tunnels: by the routes, and by policies there."""
        vrf = self.vrf_inside(sa)
        backs = (vrf or self.paths).backs
        out = [policy.selector for policy in self.out(vrf)] if backs else []
        found = []
        for own in self.carried(sa):
            within = [back for back in backs if back.version == own.version and back.subnet_of(own.dst)]  # type: ignore[arg-type]
            found += [replace(own, dst=back) for back in within]
            found += [selector for selector in out if selector.within(own) and any(map(selector.dst.subnet_of, within))]
        return found

    def inner_aims(self, sa: Sa) -> list[Selector]:
        """What packets in a tunnel should be of: its own selectors and, if there are VRFs, those of
        other networks, and single hosts; and those between tunnels."""
        own, backs = self.carried(sa), self._between(sa)
        if not (self.vrfs or backs) or not own:
            return own
        vrf = self.vrf_inside(sa)
        hosts = [selector for each in ([vrf] if vrf else self.vrfs) for aim in own for selector in each.aims(aim)]
        others = [policy.selector for policy in self.policies if self.vrfs and policy.direction != "out"]
        # Each kind has its share, however many there are of it.
        size = max(len(own), len(hosts), len(others), len(backs))
        kinds = (own, own, hosts, hosts, hosts, others, *(backs,) * 5)
        return [kind[n % len(kind)] for kind in kinds if kind for n in range(size)]


def make(dice: random.Random, suite_names: list[str]) -> Configuration:
    """Suites are taken from those that the chip has been built with."""
    suite_of = lambda: dice.choice(suite_names)  # noqa: E731
    sas = [*outbound_sas(dice, suite_of), *inbound_sas(dice, suite_of)]
    route_mtu = {prefix: dice.choice([0, 0, 1400, 1280]) for prefix in MTU_PREFIXES}
    paths = Paths(gateways(route_mtu), dice.choice([0, 9000, 1500, 1400]), dice.choice([0, 9000, 1500, 1280]))
    return Configuration(sas, [*_out_policies(dice, sas), *_in_policies(dice, sas)], paths)


def outbound_sas(dice: random.Random, suite_of) -> list[Sa]:
    ends = [(4, 0), (4, 1), (6, 0), (6, 1), (4, 0), (4, 1), (6, 0)]
    sas = []
    for number, (version, peer) in enumerate(ends):
        esn = dice.random() < 0.4
        sas.append(
            Sa(
                True, suite_of(), 0x1000 + dice.randrange(1 << 20) * 16 + number, LOCAL[version], PEERS[version][peer], 64, esn,
                far_port=dice.choice([4500, dice.randrange(1, 65536)]) if number >= 4 else None,
                copy_dscp=dice.random() < 0.7, copy_ecn=dice.random() < 0.7, copy_df=dice.random() < 0.7,
                hard_limit=dice.randrange(1, 120) if number == 3 else 0,
            )
        )  # fmt: skip
    return sas


def inbound_sas(dice: random.Random, suite_of) -> list[Sa]:
    ends = [(4, LOCAL[4], False), (4, LOCAL[4], False), (6, LOCAL[6], False), (4, LOCAL[4], True), (4, OTHER_LOCAL, True),
            (6, LOCAL[6], False), (4, OTHER_LOCAL, False), (6, LOCAL[6], True)]  # fmt: skip
    sas = []
    for number, (version, local, encap) in enumerate(ends):
        # Of two SAs at least what becomes of a packet does not depend on those before: theirs may
        # come cut.
        window = 0 if number in (1, 5) else dice.choice(WINDOWS)
        esn = window > 0 and dice.random() < 0.5
        received = dice.choice([0, 0, 100, 5000, (1 << 31) - 1]) if window else 0
        at_turn = esn and received == 0 and dice.random() < 0.7
        first = TURN - 2 * max(WINDOWS) if at_turn else max(1, received - 30)
        spi = (1 << 31) + dice.randrange(1 << 20) * 16 + number
        far_port = dice.randrange(1, 65536) if encap else None
        peer = PEERS[version][number % 2]
        sas.append(Sa(False, suite_of(), spi, peer, local, window, esn, far_port, received=received, first=first))
    return sas


def any_selector(dice: random.Random, version: int, near: str, far: str) -> Selector:
    """Any two prefixes, some single addresses, with and without protocol and numbers."""
    dst = dice.choice(AT_GROUPS[version]) if dice.random() < 0.15 else _prefix(dice, far, version)
    return selector_of(dice, _prefix(dice, near, version), dst)


def any_selectors(dice: random.Random, near: str, far: str) -> Iterator[Selector]:
    """Any without end, as far as a box has room for their ranges of ports."""
    ranges = 0
    while True:
        selector = any_selector(dice, dice.choice([4, 6]), near, far)
        if not ranged(selector) or ranges < MOST_RANGES:
            ranges += ranged(selector)
            yield selector


def ranged(selector: Selector) -> bool:
    return any(port in PORT_RANGES for port in (selector.first, selector.second))


def selector_of(dice: random.Random, src: Network, dst: Network) -> Selector:
    """Of two prefixes, with and without protocol and numbers."""
    version = src.version
    match dice.randrange(8):
        case 0 | 1 | 2:
            return Selector(src, dst)
        case 3 | 4 | 5:
            protocol = dice.choice(list(PORT_PROTOCOLS))
            ports: list[Number | None] = [
                dice.choice(WELL_KNOWN_PORTS) if dice.random() < 0.5 else None for _ in range(2)
            ]
            if dice.random() < RANGED:
                ports[dice.randrange(2)] = dice.choice(PORT_RANGES)
            return Selector(src, dst, protocol, *ports)
        case 6 if version == 6 and dice.random() < 0.4:
            return Selector(src, dst, MOBILITY, dice.choice(MOBILITY_TYPES))
        case 6:
            code = dice.choice([None, 0, 1])
            return Selector(src, dst, ICMP_OF[version], dice.choice([0, 3, 8, 128, 129]), code)
        case _:
            return Selector(src, dst, dice.choice(OTHER_PROTOCOLS[1:]))


def _prefix(dice: random.Random, side: str, version: int):
    space = SPACE[side, version]
    if dice.random() < 0.1:
        return ip_network("0.0.0.0/0" if version == 4 else "::/0")
    length = dice.choice(
        [space.prefixlen, space.prefixlen, dice.randint(space.prefixlen, space.max_prefixlen), space.max_prefixlen]
    )
    host = dice.choice([1, 2, dice.randrange(1 << (space.max_prefixlen - space.prefixlen))])
    return ip_network((int(space.network_address) + host, length), strict=False)


def exact_selector(dice: random.Random, version: int) -> Selector:
    src, dst = (ip_network(SPACE[side, version].network_address + dice.choice([1, 2])) for side in ("red", "black"))
    protocol = dice.choice([6, 17, 132, ICMP_OF[version], 47 if version == 4 else dice.choice([47, MOBILITY])])
    if protocol == 47:
        return Selector(src, dst, protocol)
    if protocol == MOBILITY:
        return Selector(src, dst, protocol, dice.choice([1, 5]))
    if protocol in PORT_PROTOCOLS:
        return Selector(src, dst, protocol, dice.choice(WELL_KNOWN_PORTS), dice.choice(WELL_KNOWN_PORTS))
    return Selector(src, dst, protocol, dice.choice([8, 128]), 0)


def _out_policies(dice: random.Random, sas: list[Sa]) -> list[Policy]:
    """Rules and flows with few priority numbers, so that many are equal; behind them, mostly,
    tunnels for all the rest."""
    outbound = [sa for sa in sas if sa.outbound]
    found: dict[Selector, Policy] = {}

    def add(selector: Selector, priority: int, action: str | Sa) -> None:
        mss = isinstance(action, Sa) and dice.random() < 0.5
        found.setdefault(selector, Policy(selector, "out", priority, action, mss))

    selectors = any_selectors(dice, "red", "black")
    for _ in range(12):
        action = dice.choice(["allow", "allow", "block", "punt", *outbound])
        add(next(selectors), dice.randrange(4), action)
    for _ in range(8):
        action = dice.choice(["allow", "block", "punt", *outbound])
        add(exact_selector(dice, dice.choice([4, 6])), dice.randrange(4), action)
    for sa in outbound:
        for version in (4, 6):
            length = 2 + SPACE["red", version].prefixlen
            quarter = dice.choice(list(SPACE["red", version].subnets(new_prefix=length)))
            add(Selector(quarter, SPACE["black", version]), 5 + dice.randrange(2), sa)
    for version in (4, 6):
        if dice.random() < 0.8:
            add(Selector(SPACE["red", version], SPACE["black", version]), 4_000_000_000, dice.choice(outbound))
    return list(found.values())


def _in_policies(dice: random.Random, sas: list[Sa]) -> list[Policy]:
    """One selector for each inbound SA but one; clear traffic that is let in, refused
    and punted."""
    found: dict[Selector, Policy] = {}

    def add(selector: Selector, priority: int, action: str | Sa) -> bool:
        mss = isinstance(action, Sa) and dice.random() < 0.5
        policy = Policy(selector, dice.choice(["in", "fwd"]), priority, action, mss)
        return found.setdefault(selector, policy) is policy

    selectors = any_selectors(dice, "black", "red")
    inbound = [sa for sa in sas if not sa.outbound]
    for number, sa in enumerate(inbound[:-1]):
        version = dice.choice([4, 6])
        if number == 0:
            for anything in ("0.0.0.0/0", "::/0"):
                add(Selector(ip_network(anything), ip_network(anything)), dice.choice([99, dice.randrange(100)]), sa)
            continue
        wide = Selector(SPACE["black", version], SPACE["red", version])
        selector = wide if dice.random() < 0.5 else next(selectors)
        while not add(selector, dice.randrange(100), sa):
            selector = next(selectors)
    # A block in front of a protected policy is refused (docs/reference/sallyctl-policies.md): these
    # come behind all of them.
    for _ in range(8):
        action = dice.choice(["allow", "allow", "punt", "block"])
        priority = 100 + dice.randrange(4) if action == "block" else dice.randrange(104)
        add(next(selectors), priority, action)
    return list(found.values())
