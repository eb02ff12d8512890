# SPDX-License-Identifier: Apache-2.0
"""Networks apart: VRFs, their VLANs, and the ways to their hosts (docs/explanation/networks.md,
docs/reference/sallyctl-network.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_interface, ip_network

from .network import BACK, NO_HOST, NO_ROUTE, Gateway, device_of
from .policy import Network, Policy, Selector

ANYTHING = {4: "0.0.0.0/0", 6: "::/0"}


@dataclass(frozen=True)
class Station:
    """Where frames go; 0 is no VLAN."""

    mac: str
    vlan: int = 0


@dataclass(frozen=True)
class Vrf:
    """`addresses`: the box's own, each with its network, by VLAN ID. `hosts`: by address.
    `connected`: routes without a gateway, each with its VLAN ID. `backs`: as those of Paths."""

    name: str
    table: int
    addresses: dict[int, tuple[str, ...]]
    hosts: dict[str, Station]
    gateways: tuple[Gateway, ...] = ()
    connected: tuple[tuple[Network, int], ...] = ()
    backs: tuple[Network, ...] = ()

    def lines(self) -> list[str]:
        text = [f"link add {self.name} type vrf table {self.table}"]
        for vlan, own in self.addresses.items():
            dev = device_of(vlan)
            text += [f"link add link red name {dev} type vlan id {vlan}", f"link set {dev} master {self.name}"]
            text += [f"addr add {address} dev {dev}" for address in own]
        text += [f"route add {prefix} dev {device_of(vlan)}" for prefix, vlan in self.connected]
        text += [line for gateway in self.gateways for line in gateway.lines()]
        text += [f"route add {prefix} dev black encap xfrm vrf {self.name}" for prefix in self.backs]
        return [*text, *(f"neigh add {ip} lladdr {to.mac} dev {device_of(to.vlan)}" for ip, to in self.hosts.items())]

    def networks(self) -> list[Network]:
        """Those of its VLANs."""
        return [ip_interface(own).network for these in self.addresses.values() for own in these]

    def aims(self, selector: Selector) -> list[Selector]:
        """What of a selector is to one of its hosts, or to the box."""
        own = [str(ip_interface(own).ip) for these in self.addresses.values() for own in these]
        nets = [type(selector.dst)(host) for host in (*self.hosts, *own) if (":" in host) == (selector.version == 6)]
        return [replace(selector, dst=net) for net in nets if net.subnet_of(selector.dst)]  # type: ignore[arg-type]

    def own(self) -> list[Policy]:
        """The policies before all others: packets to the box's address are for the CPU."""
        hosts = [ip_interface(own) for these in self.addresses.values() for own in these]
        selectors = [Selector(type(ip.network)(ANYTHING[ip.version]), type(ip.network)(ip.ip)) for ip in hosts]
        return [Policy(selector, "out", -1, "punt", vrf=self.name) for selector in selectors]

    def station(self, address: IPv4Address | IPv6Address, prefix: Network | None) -> Station | str:
        """Who takes a packet: its host, unless the longest way leads back; else that way, if a
        gateway or a way back makes the VRF have a tree. Else it is the one station to which all
        prefixes of its SA lead: `prefix`, or, without it, all addresses. Or why there is none."""
        near = {gateway.address: station(gateway) for gateway in self.gateways}
        straight = [*self.networks(), *(net for net, _ in self.connected)]
        row = (self.hosts | near).get(str(address))
        ways: dict[Network, Gateway | str | None] = {}
        if (self.gateways or self.backs) and not address.is_multicast:
            ways = dict.fromkeys(self.backs, BACK) | dict.fromkeys(straight)
            ways |= {gateway.prefix: gateway for gateway in self.gateways}
            ways |= dict.fromkeys(self.networks())
        holding = [net for net in ways if address in net]
        way = ways[max(holding, key=lambda net: net.prefixlen)] if holding else None
        if way == BACK:
            return Station(BACK)
        if row and any(address in net for net in straight):
            return row
        if holding:
            return (station(way) if way.mac else NO_ROUTE) if isinstance(way, Gateway) else NO_HOST
        wanted = [prefix] if prefix else map(ip_network, ANYTHING.values())
        found = {only.mac: only for only in map(self._only, wanted) if only and only.mac}
        return station(next(iter(found.values()))) if len(found) == 1 else NO_ROUTE

    def _only(self, prefix: Network) -> Gateway | None:
        """The gateway of the longest route that holds a prefix, or the only one inside it: the one
        way there is without a prefix of the packet's own."""
        same = [gateway for gateway in self.gateways if gateway.prefix.version == prefix.version]
        holding = [gateway for gateway in same if prefix.subnet_of(gateway.prefix)]  # type: ignore[arg-type]
        if holding:
            return max(holding, key=lambda gateway: gateway.prefix.prefixlen)
        inside = {gateway.address: gateway for gateway in same if _touches(gateway, prefix)}
        return next(iter(inside.values())) if len(inside) == 1 else None


def _touches(gateway: Gateway, prefix: Network) -> bool:
    """Its route is inside, or it is all of the prefix. One inside whose route is not is no way to
    the other addresses."""
    return gateway.prefix.subnet_of(prefix) or prefix == ip_network(gateway.address)  # type: ignore[arg-type]


def station(gateway: Gateway) -> Station:
    return Station(gateway.mac, int(gateway.device.rpartition(".")[2]))
