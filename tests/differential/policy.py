# SPDX-License-Identifier: Apache-2.0
"""Selectors and policies (RFC 4301 4.4.1): what packets they name, and which policy of
several decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_network

from .reading import ICMP_OF, MOBILITY, Reading
from .sa import Sa

Network = IPv4Network | IPv6Network
PORT_PROTOCOLS = {6: "tcp", 17: "udp", 132: "sctp"}
Number = int | tuple[int, int]  # one, or the first and the last of a range
# Destinations that are no single host; a policy holds for them if it has nothing else there.
GROUPS = tuple(map(ip_network, ("224.0.0.0/4", "255.255.255.255/32", "ff00::/8")))


@dataclass(frozen=True)
class Selector:
    """What a policy names. None is "any"; `first` and `second` are ports or ranges of them, type
    and code of ICMP, or the type of a mobility header and None."""

    src: Network
    dst: Network
    protocol: int | None = None
    first: Number | None = None
    second: Number | None = None

    @property
    def version(self) -> int:
        return self.src.version

    @property
    def kind(self) -> str:
        """What its numbers are, if it names any."""
        if (self.protocol, self.version) == (MOBILITY, 6):
            return "mobility"
        return "icmp" if self.protocol == ICMP_OF[self.version] else "ports"

    def takes(self, packet: Reading) -> bool:
        """A number that cannot be read (RFC 4301 4.4.1.1: OPAQUE) is none that a selector
        can name. A packet to a group is one of selectors of groups alone."""
        if packet.version != self.version or packet.src not in self.src or packet.dst not in self.dst:
            return False
        if any(packet.dst in group for group in GROUPS) != self.of_groups:
            return False
        if self.protocol not in (None, packet.protocol):
            return False
        wanted = (self.first, self.second)
        if wanted == (None, None):
            return True
        if packet.upper != self.kind:
            return False
        return all(want is None or holds(want, number) for want, number in zip(wanted, packet.numbers, strict=True))

    def within(self, other: Selector) -> bool:
        """Its addresses are all of another one that names nothing else."""
        alike = self.version == other.version and (other.protocol, other.first, other.second) == (None, None, None)
        return alike and self.src.subnet_of(other.src) and self.dst.subnet_of(other.dst)  # type: ignore[arg-type]

    @property
    def of_groups(self) -> bool:
        return any(group.version == self.version and self.dst.subnet_of(group) for group in GROUPS)  # type: ignore[arg-type]

    def of_hosts(self, src: str, dst: str) -> Selector | None:
        """The same of two hosts alone; None if they are not in it."""
        near, far = ip_network(src), ip_network(dst)
        inside = near.version == self.version and near.subnet_of(self.src) and far.subnet_of(self.dst)  # type: ignore[arg-type]
        return replace(self, src=near, dst=far) if inside else None

    @property
    def exact(self) -> bool:
        """Names one 5-tuple: it then wins against any other selector of the same priority number
        (docs/reference/sallyctl-policies.md)."""
        whole = self.src.prefixlen == self.src.max_prefixlen and self.dst.prefixlen == self.dst.max_prefixlen
        numbered = self.protocol in PORT_PROTOCOLS or self.kind != "ports"
        named = (self.first,) if self.kind == "mobility" else (self.first, self.second)
        single = all(isinstance(number, int) for number in named)
        return whole and self.protocol is not None and (not numbered or single)

    def words(self) -> str:
        text = f"src {self.src} dst {self.dst}"
        if self.protocol is None:
            return text
        names = PORT_PROTOCOLS | ({ICMP_OF[4]: "icmp"} if self.version == 4 else {ICMP_OF[6]: "ipv6-icmp"})
        name = names.get(self.protocol, self.protocol)
        text += f" proto {name}"
        for word, number in zip(
            ("sport", "dport") if self.kind == "ports" else ("type", "code"), (self.first, self.second), strict=True
        ):
            if number is not None:
                text += f" {word} {number}" if isinstance(number, int) else f" {word} {number[0]}-{number[1]}"
        return text


@dataclass(frozen=True)
class Hosts:
    """A template in transport mode: of the SA of two hosts that it names, or of the SAs with a
    reqid of any two (RFC 4301 4.4.1)."""

    sas: tuple[Sa, ...]
    named: bool
    reqid: int

    @property
    def template(self) -> str:
        return self.sas[0].template if self.named else f"tmpl proto esp reqid {self.reqid} mode transport"

    def between(self, packet: Reading) -> Sa | None:
        """The newest SA of the packet's two hosts."""
        ends = (str(packet.src), str(packet.dst))
        return next((sa for sa in reversed(self.sas) if (sa.src, sa.dst) == ends), None)


@dataclass(frozen=True)
class Policy:
    """One line: `direction` is out, in or fwd; `action` is allow, block or punt, or what
    protects. `mss`: TCP segments are to fit the SA. `vrf`: of whose packets alone it is."""

    selector: Selector
    direction: str
    priority: int
    action: str | Sa | Hosts
    mss: bool = False
    vrf: str = ""

    def line(self) -> str:
        dev = f"dev {self.vrf} " if self.vrf else ""
        text = f"xfrm policy add {self.selector.words()} {dev}dir {self.direction} priority {self.priority} "
        text += "flag mss " if self.mss else ""
        return text + (f"action {self.action}" if isinstance(self.action, str) else self.action.template)

    def far_end(self) -> str | None:
        """The far one of the two hosts that a policy for SAs in transport mode is for."""
        src, dst = self.selector.src, self.selector.dst
        single = src.prefixlen == src.max_prefixlen and dst.prefixlen == dst.max_prefixlen
        far = dst if self.direction == "out" else src
        return str(far.network_address) if isinstance(self.action, Hosts) and single else None

    def carried_by(self, sa: Sa) -> Selector | None:
        """What of its packets an SA takes: in transport mode those of its own two hosts."""
        if self.action == sa:
            return self.selector
        if not isinstance(self.action, Hosts) or sa not in self.action.sas:
            return None
        return self.selector.of_hosts(sa.src, sa.dst)


def holds(wanted: Number, number: int) -> bool:
    return number == wanted if isinstance(wanted, int) else wanted[0] <= number <= wanted[1]


def decide(policies: list[Policy], packet: Reading) -> Policy | None:
    """The policy that decides: the lowest priority number, then an exact one of `out`, then
    the oldest."""
    matching = [(number, policy) for number, policy in enumerate(policies) if policy.selector.takes(packet)]
    if not matching:
        return None
    return min(
        matching,
        key=lambda item: (item[1].priority, not (item[1].direction == "out" and item[1].selector.exact), item[0]),
    )[1]
