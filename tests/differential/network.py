# SPDX-License-Identifier: Apache-2.0
"""What lies around the box: addresses, and through which neighbour a prefix is reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface, ip_network

from .policy import GROUPS, Network

MAC_OF_PORT = {"red": "02:72:00:00:00:99", "black": "02:62:c0:00:02:01"}
# In place of an Ethernet address: back to black, through another tunnel.
BACK = "back"
# The same of packets that have no station: why the CPU gets them.
NO_HOST, NO_ROUTE = "host", "route"
DEFAULT_HOP = {"red": "02:00:00:00:00:01", "black": "02:00:00:00:00:02"}
LOCAL = {4: "192.0.2.1", 6: "2001:db8:c0::1"}
RED_LOCAL = ("10.1.128.129/25", "2001:db8:1:8000::81/64")  # a part of each SPACE
BLACK_LOCAL = (f"{LOCAL[4]}/24", f"{LOCAL[6]}/64")
BLACK_NEAR = ("10.2.64.129/25", "2001:db8:2:4000::81/64")  # more of black, a part of each SPACE
NETWORKS = {"red": RED_LOCAL, "black": BLACK_LOCAL + BLACK_NEAR}
# Networks of each port with hosts straight behind it.
WITH_HOSTS = {"red": RED_LOCAL, "black": BLACK_NEAR}
HOSTS = {
    port: {
        str(ip_interface(own).ip + n): f"02:{byte}:00:00:{kind:02x}:{n:02x}"
        for kind, own in enumerate(WITH_HOSTS[port])
        for n in (1, 2, 3)
    }
    for port, byte in (("red", "cc"), ("black", "dd"))
}
# The box itself, and hosts with and without a row.
NEAR = {port: tuple(ip_interface(own).ip + n for own in WITH_HOSTS[port] for n in range(6)) for port in HOSTS}
OTHER_LOCAL = "192.0.2.9"  # a second address of black, which is not the one IKE is taken at
SPACE: dict[tuple[str, int], Network] = {
    ("red", 4): ip_network("10.1.0.0/16"),
    ("red", 6): ip_network("2001:db8:1::/48"),
    ("black", 4): ip_network("10.2.0.0/16"),
    ("black", 6): ip_network("2001:db8:2::/48"),
}
MTU_PREFIXES = ("198.51.100.0/24", "2001:db8:cf::/48", "10.2.128.0/17", "2001:db8:2:8000::/49")
# No SA's and no policy's.
STRANGERS = {4: "203.0.113.77", 6: "2001:db8:ce::7"}
PEERS = {4: ("192.0.2.2", "198.51.100.7"), 6: ("2001:db8:c0::2", "2001:db8:cf::7")}
# The rows of those straight behind black, where no other station stands for them.
PEER_HOSTS = {PEERS[4][0]: "02:de:00:00:00:04", PEERS[6][0]: "02:de:00:00:00:06"}


def device_of(vlan: int) -> str:
    """The device of a VLAN of red."""
    return f"red.{vlan}"


@dataclass(frozen=True)
class Gateway:
    """A route to `prefix` on a device, by a router with an Ethernet address of its own, which may
    be unknown (""); `mtu` 0: the device's."""

    device: str
    prefix: Network
    address: str
    mac: str
    mtu: int = 0

    def lines(self) -> list[str]:
        mtu = f" mtu {self.mtu}" if self.mtu else ""
        route = f"route add {self.prefix} via {self.address} dev {self.device}{mtu}"
        return [route, *([f"neigh add {self.address} lladdr {self.mac} dev {self.device}"] if self.mac else [])]


@dataclass(frozen=True)
class Paths:
    """The routes of a box, and the MTUs of its ports, 0 for any; `local` are the addresses at black
    at which it is spoken to, by IP version. `backs`: behind tunnels, for packets out of others.

    `defaults`: by port the default next hop. It stands for hosts and gateways whose Ethernet
    address is not known; without one they have no station."""

    gateways: tuple[Gateway, ...]
    mtu: int  # of black
    red_mtu: int
    local: dict[int, str] = field(default_factory=lambda: LOCAL)
    backs: tuple[Network, ...] = ()
    defaults: dict[str, str] = field(default_factory=lambda: DEFAULT_HOP)

    def to(self, device: str, prefix: Network) -> tuple[str, int]:
        """Ethernet address and route's MTU: the longest route that holds the prefix, else the one
        host or router inside it, else the default; "" without any."""
        gateway, mtu = self._gateway(device, prefix)
        host = None if gateway else self._neighbours(device).get(str(prefix.network_address))
        if host and prefix.prefixlen == prefix.max_prefixlen:
            return host, mtu
        return (gateway.mac if gateway else "") or self.defaults.get(device, ""), mtu

    def _gateway(self, device: str, prefix: Network) -> tuple[Gateway | None, int]:
        """The router that the rows of a prefix name, and the MTU of the route to all of it."""
        routes = [g for g in self.gateways if g.device == device and g.prefix.version == prefix.version]
        holding = [g for g in routes if prefix.subnet_of(g.prefix)]  # type: ignore[arg-type]
        if holding:
            best = max(holding, key=lambda g: g.prefix.prefixlen)
            return best, best.mtu
        inside = {g.address: g for g in routes if g.prefix.subnet_of(prefix)}  # type: ignore[arg-type]
        return (inside.popitem()[1] if len(inside) == 1 else None), 0

    def _neighbours(self, device: str) -> dict[str, str]:
        """Hosts straight behind a port that have rows."""
        peers = PEER_HOSTS if device == "black" and device not in self.defaults else {}
        return HOSTS[device] | peers

    def station(self, device: str, address: IPv4Address | IPv6Address, prefix: Network | None) -> str:
        """Who takes packets to an address behind a port, those of tunnels to black apart: the host
        that has it, else the longest route that holds it; the port's own networks lead to the
        default. Without a route, and for groups of hosts, the next hop of the prefix that their SA
        or policy has, or the default. Without all of these: NO_HOST or NO_ROUTE."""
        own = [ip_interface(own).network for own in NETWORKS[device]]
        near = [g for g in self.gateways if g.device == device and any(ip_address(g.address) in net for net in own)]
        hosts = self._neighbours(device) | {g.address: g.mac for g in near if g.mac}
        default = self.defaults.get(device, "")
        routes = dict.fromkeys(self.backs, BACK) if device == "red" else {}
        routes |= dict.fromkeys(own, default or NO_HOST)
        routes |= {g.prefix: g.mac or default or NO_ROUTE for g in self.gateways if g.device == device}
        to_group = any(address in group for group in GROUPS)
        holding = [] if to_group else [net for net in routes if address in net]
        longest = routes[max(holding, key=lambda net: net.prefixlen)] if holding else ""
        if str(address) in hosts and longest != BACK:
            return hosts[str(address)]
        if longest:
            return longest
        gateway = self._gateway(device, prefix)[0] if prefix else None
        lost = NO_ROUTE if gateway or to_group else NO_HOST
        return (gateway.mac if gateway else "") or default or lost

    def to_host(self, device: str, address: str) -> tuple[str, int]:
        return self.to(device, ip_network(address))

    def mtus(self) -> list[str]:
        """The lines that set them."""
        return [f"link set dev {dev} mtu {mtu}" for dev, mtu in (("black", self.mtu), ("red", self.red_mtu)) if mtu]

    def interfaces(self, port: str) -> tuple[str, ...]:
        """The addresses that the chip there knows as the box's: one of each version."""
        return RED_LOCAL if port == "red" else BLACK_LOCAL

    def lines(self) -> list[str]:
        lines = [
            *(f"addr add {address} dev {port}" for port, own in NETWORKS.items() for address in own),
            f"addr add {OTHER_LOCAL}/24 dev black",
        ]
        hosts = [(port, *host) for port in HOSTS for host in self._neighbours(port).items()]
        lines += [f"neigh add {host} lladdr {mac} dev {port}" for port, host, mac in hosts]
        lines.append(f"link set dev red address {MAC_OF_PORT['red']}")
        lines += [f"route add {prefix} dev black encap xfrm" for prefix in self.backs]
        return [*lines, *self.mtus(), *(line for gateway in self.gateways for line in gateway.lines())]


@dataclass(frozen=True)
class Bridge(Paths):
    """A bump in the wire: no routes, and addresses only if it is spoken to by IKE
    (docs/reference/sallyctl-network.md)."""

    def interfaces(self, port: str) -> tuple[str, ...]:
        bits = {4: 24, 6: 64}
        return tuple(f"{own}/{bits[version]}" for version, own in self.local.items()) if port == "black" else ()

    def lines(self) -> list[str]:
        lines = ["link add br0 type bridge", "link set red master br0", "link set black master br0"]
        return [
            *lines,
            *self.mtus(),
            *(f"addr add {address}/{24 if version == 4 else 64} dev black" for version, address in self.local.items()),
        ]


# Two routers or more on each side and of each version, so that a prefix that holds them all has no
# single one; routes of red inside others.
def gateways(route_mtu: dict[str, int]) -> tuple[Gateway, ...]:
    """`route_mtu`: by prefix."""
    table = [
        ("black", "198.51.100.0/24", "192.0.2.254", "02:bb:00:00:00:01"),
        ("black", "2001:db8:cf::/48", "2001:db8:c0::fe", "02:bb:00:00:00:02"),
        ("black", "10.2.128.0/17", "192.0.2.253", "02:bb:00:00:00:03"),
        ("black", "2001:db8:2:8000::/49", "2001:db8:c0::fd", "02:bb:00:00:00:04"),
        ("black", "10.2.192.0/19", "192.0.2.252", "02:bb:00:00:00:05"),
        ("black", "2001:db8:2:a000::/51", "2001:db8:c0::fc", "02:bb:00:00:00:06"),
        ("red", "10.1.64.0/18", "10.1.0.254", "02:aa:00:00:00:01"),
        ("red", "10.1.192.0/18", "10.1.0.253", "02:aa:00:00:00:02"),
        ("red", "10.1.64.0/20", "10.1.0.252", "02:aa:00:00:00:05"),
        ("red", "10.1.72.0/21", "10.1.0.254", "02:aa:00:00:00:01"),
        ("red", "10.1.224.0/20", "10.1.0.252", "02:aa:00:00:00:05"),
        ("red", "2001:db8:1:7000::/52", "2001:db8:1::fc", "02:aa:00:00:00:06"),
        ("red", "2001:db8:1:7800::/64", "2001:db8:1::fe", "02:aa:00:00:00:03"),
        ("red", "2001:db8:1:4000::/50", "2001:db8:1::fe", "02:aa:00:00:00:03"),
        ("red", "2001:db8:1:c000::/50", "2001:db8:1::fd", "02:aa:00:00:00:04"),
    ]
    return tuple(
        Gateway(device, ip_network(prefix), address, mac, route_mtu.get(prefix, 0))
        for device, prefix, address, mac in table
    )
