# SPDX-License-Identifier: Apache-2.0
"""The addresses that a box takes at a port, and those that it takes no packet from or to
(docs/explanation/addresses.md)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_interface

from .configuration import Configuration
from .network import MAC_OF_PORT
from .reading import Reading

THIS_NETWORK = IPv4Network("0.0.0.0/8")
CLASS_E = IPv4Network("240.0.0.0/4")
BROADCAST = IPv4Address("255.255.255.255")
LINK_LOCAL = (IPv4Network("169.254.0.0/16"), IPv6Network("fe80::/10"))
LINK_GROUPS = IPv4Network("224.0.0.0/24")
LINK_SCOPE = 2
SOLICITED_NODE = IPv6Address("ff02::1:ff00:0").packed[:13]


@dataclass(frozen=True)
class Port:
    """`bump`: of a bump in the wire, which takes frames to any station. `interfaces`: the box's own
    addresses there, each with its network. `apart`: of packets in a VRF, in which these are those
    of others; but ARP and neighbour discovery have no network."""

    bump: bool = False
    mac: str = ""
    interfaces: tuple[str, ...] = ()
    apart: bool = False

    @classmethod
    def at(cls, name: str, configuration: Configuration) -> Port:
        """Of "red" or "black"."""
        return cls(configuration.bump, MAC_OF_PORT[name], configuration.paths.interfaces(name))

    def takes(self, frame: bytes) -> bool:
        """A frame to it, or to a group."""
        return self.bump or bool(frame[0] & 1) or frame[:6] == bytes.fromhex(self.mac.replace(":", ""))

    def owns(self, address: IPv4Address | IPv6Address) -> bool:
        return not self.apart and any(ip_interface(own).ip == address for own in self.interfaces)

    def near(self, address: IPv4Address | IPv6Address) -> bool:
        """In a network of the port."""
        return any(address in ip_interface(own).network for own in self.interfaces)

    def _own(self, version: int) -> IPv4Address | IPv6Address | None:
        return next((ip for own in self.interfaces if (ip := ip_interface(own).ip).version == version), None)

    def arp_for_others(self, arp: bytes) -> bool:
        """Its target (RFC 826) is not the port's address."""
        own = self._own(4)
        return own is not None and arp[24:28].ljust(4, b"\0") != own.packed

    def solicits_others(self, packet: Reading) -> bool:
        """To the group of addresses (RFC 4291 2.7.1) that end otherwise than the port's address and
        its MAC address do."""
        own, group = self._own(6), packet.dst.packed
        ends = (own.packed[-3:] if own else b"", bytes.fromhex(self.mac.replace(":", ""))[-3:])
        return own is not None and group[:13] == SOLICITED_NODE and group[13:] not in ends


def to_group(packet: Reading) -> bool:
    return packet.dst.is_multicast or packet.dst == BROADCAST


def martian(packet: Reading) -> bool:
    """From or to what no packet on a wire has (RFC 1812 5.3.7, RFC 4291 2.5, RFC 6890 2.2.3), but
    for a host that has no address yet."""
    asks = packet.src.is_unspecified and (packet.dst == BROADCAST if packet.version == 4 else _to_link(packet.dst))
    if (_nowhere(packet.src) or packet.src.is_multicast or packet.src in CLASS_E) and not asks:
        return True
    return _nowhere(packet.dst) or (packet.dst in CLASS_E and packet.dst != BROADCAST)


def of_one_link(packet: Reading) -> bool:
    """From or to a link-local address (RFC 3927 7, RFC 4291 2.5.6), or to a group that no router
    forwards (RFC 5771 4, RFC 4291 2.7)."""
    local = any(address in network for address in (packet.src, packet.dst) for network in LINK_LOCAL)
    return local or _to_link(packet.dst)


def _to_link(group: IPv4Address | IPv6Address) -> bool:
    if isinstance(group, IPv4Address):
        return group in LINK_GROUPS
    return group.is_multicast and group.packed[1] & 15 <= LINK_SCOPE


def _nowhere(address: IPv4Address | IPv6Address) -> bool:
    mapped = isinstance(address, IPv6Address) and address.ipv4_mapped is not None
    loopback = address.is_loopback if isinstance(address, IPv4Address) else address == ip_address("::1")
    return address.is_unspecified or loopback or mapped or address in THIS_NETWORK
