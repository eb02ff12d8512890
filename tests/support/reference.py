# SPDX-License-Identifier: Apache-2.0
"""What a box should do with a frame, by scapy and `cryptography`: an implementation that shares
nothing with the RTL.

Tunnels of any suite over IPv4 or IPv6. Used to judge the output of a port, never to make it.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Packet
from scapy.utils import checksum

from sallyport import suites
from tests.support.scapy_suites import association, keys

NEAR, FAR = "192.0.2.1", "192.0.2.2"
NEAR_V6, FAR_V6 = "2001:db8:c0::1", "2001:db8:c0::2"
ANY = "any"  # in either IP version
NATT_PORT = 4500
ETHERNET_HEADER = 14
VLAN_TAGS = (b"\x81\x00", b"\x88\xa8", b"\x91\x00")
FRAGMENT_BITS = 0x3FFF  # more-fragments and the offset


@dataclass(frozen=True)
class Tunnel:
    """One SA pair, as `ip xfrm` and as scapy take it. Keys follow from the SPIs, so that no two SAs
    share one.

    `far_port`: ESP goes in UDP, between port 4500 here and that port of the peer, which a NAT may
    have changed.
    """

    suite: str = "aes256gcm16"
    spi_out: int = 0x1001
    spi_in: int = 0x2002
    esn: bool = False
    far_port: int | None = None
    near: str = NEAR
    far: str = FAR

    def batch(self, src: str = ANY, dst: str = ANY, back: str = ANY, window: int = 1024) -> str:
        """The box's batch file: protects src → dst outbound and accepts `back` →
        anything inbound."""
        length = 64 if ":" in self.near else 24
        return f"addr add {self.near}/{length} dev black\n" + self.lines(src, dst, back, window)

    def lines(self, src: str, dst: str, back: str, window: int = 1024) -> str:
        """The states and policies of `batch`."""
        esn = "flag esn " if self.esn else ""
        text = ""
        for spi, ends, policies in (
            (self.spi_out, f"src {self.near} dst {self.far} proto esp", _policies(src, dst, "out")),
            (self.spi_in, f"src {self.far} dst {self.near} proto esp", _policies(back, ANY, "in")),
        ):
            algorithms = suites.find(self.suite).with_keys(*keys(self.suite, spi))
            state = f"{ends} spi {spi:#x} reqid {spi} mode tunnel replay-window {window} {esn}{self._encap(spi)}{algorithms}"
            text += f"xfrm state add {state}\n"
            for policy in policies:
                text += f"xfrm policy add {policy} tmpl {ends} reqid {spi} mode tunnel\n"
        return text

    def peer_sender(self) -> SecurityAssociation:
        """The far peer's outbound SA: makes ESP that this box must accept."""
        return self._association(self.spi_in, self.far, self.near)

    def peer_receiver(self) -> SecurityAssociation:
        """The far peer's inbound SA: must decrypt what this box sends."""
        return self._association(self.spi_out, self.near, self.far)

    def _ports(self, spi: int) -> tuple[int, int] | None:
        """Source and destination port of the SA's UDP headers."""
        if self.far_port is None:
            return None
        return (NATT_PORT, self.far_port) if spi == self.spi_out else (self.far_port, NATT_PORT)

    def _encap(self, spi: int) -> str:
        ports = self._ports(spi)
        unknown = "::" if ":" in self.near else "0.0.0.0"
        return f"encap espinudp {ports[0]} {ports[1]} {unknown} " if ports else ""

    def _association(self, spi: int, src: str, dst: str) -> SecurityAssociation:
        ports = self._ports(spi)
        return association(
            self.suite,
            spi,
            self.esn,
            tunnel_header=(IPv6 if ":" in src else IP)(src=src, dst=dst),
            nat_t_header=UDP(sport=ports[0], dport=ports[1]) if ports else None,
        )


def _policies(src: str, dst: str, direction: str) -> list[str]:
    """The selectors of policies: of both IP versions if neither end is given, else of
    that end's."""
    if src == dst == ANY:
        return [f"src {anything} dst {anything} dir {direction}" for anything in ("0.0.0.0/0", "::/0")]
    anything = "::/0" if ":" in src + dst else "0.0.0.0/0"
    return [f"src {anything if src == ANY else src} dst {anything if dst == ANY else dst} dir {direction}"]


def forwarded(packet: bytes) -> bytes:
    """The packet after one router: TTL or hop limit one less, IPv4 header checksum right (RFC
    1812 5.3.1), padding gone."""
    if packet[0] >> 4 == 6:
        return packet[:7] + bytes([packet[7] - 1]) + packet[8 : 40 + int.from_bytes(packet[4:6], "big")]
    header = 4 * (packet[0] & 15)
    length = int.from_bytes(packet[2:4], "big")
    fresh = bytearray(packet[:header])
    fresh[8] -= 1
    fresh[10:12] = bytes(2)
    fresh[10:12] = checksum(bytes(fresh)).to_bytes(2, "big")
    return bytes(fresh) + packet[header:length]


# No source of a packet that crosses a router (RFC 1122 3.2.1.3, RFC 1812 5.3.7).
NO_SOURCES = tuple(map(ip_network, ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")))


def classify_red(frame: bytes) -> str:
    """What a box whose policy protects everything does with a red frame: "protect" or the
    counter's name."""
    start = ETHERNET_HEADER
    while start < ETHERNET_HEADER + 8 and frame[start - 2 : start] in VLAN_TAGS:
        start += 4
    match int.from_bytes(frame[start - 2 : start], "big"):
        case 0x0806:
            return "punt_arp"
        case 0x86DD:
            return _classify_ipv6(frame[start:])
        case 0x8100 | 0x88A8 | 0x9100:
            return "punt_vlan"
        case 0x0800:
            return _classify_ipv4(frame[start:])
        case _:
            return "punt_other"


def _classify_ipv4(packet: bytes) -> str:
    parsed = IP(packet)
    header = 4 * (parsed.ihl or 0)
    if parsed.version != 4 or header < 20 or parsed.len < header or len(packet) < parsed.len:
        return "drop_ip_malformed"
    if checksum(packet[:header]):
        return "drop_ip_checksum"
    if any(ip_address(parsed.src) in network for network in NO_SOURCES) and parsed.dst != "255.255.255.255":
        return "drop_martian"
    if any(ip_address(end).is_link_local for end in (parsed.src, parsed.dst)) or parsed.dst.startswith("224.0.0."):
        return "punt_link_local"
    if int.from_bytes(packet[6:8], "big") & FRAGMENT_BITS:
        return "punt_fragment"
    if parsed.ttl <= 1:
        return "punt_ttl"
    if ip_address(parsed.dst).is_multicast or parsed.dst == "255.255.255.255":
        return "drop_policy"  # it is of hosts
    return "protect"


def _classify_ipv6(packet: bytes) -> str:
    parsed = IPv6(packet)
    if parsed.version != 6 or len(packet) < 40 + parsed.plen:
        return "drop_ip_malformed"
    source, destination = ip_address(parsed.src), ip_address(parsed.dst)
    discovery = parsed.nh == 58 and packet[40] in range(133, 138)
    if discovery:
        return "punt_nd"
    if source.is_link_local or destination.is_link_local or (destination.is_multicast and packet[25] & 15 <= 2):
        return "punt_link_local"
    if parsed.nh == 44 and (parsed.payload.m or parsed.payload.offset):
        return "punt_fragment"
    if parsed.hlim <= 1:
        return "punt_ttl"
    if destination.is_multicast:
        return "drop_policy"  # it is of hosts
    return "protect"


def esp_payload(frame: bytes) -> IP | IPv6:
    """The IP packet of a black frame (outer header and ESP)."""
    return (IPv6 if frame[ETHERNET_HEADER] >> 4 == 6 else IP)(frame[ETHERNET_HEADER:])


def with_udp_checksum(packet: Packet) -> Packet:
    """The packet with the UDP checksum that scapy makes of it."""
    fresh = packet.copy()
    del fresh[UDP].chksum
    return type(fresh)(bytes(fresh))


def open_esp(association: SecurityAssociation, outer: Packet) -> Packet:
    """The plain ESP of a packet (`iv`, `data`, `padding`, `padlen`, `nh`); scapy's
    IPSecIntegrityError if it is not authentic."""
    esp, high = outer[ESP], {"esn_en": association.esn_en, "esn": association.esn}
    association.check_spi(outer)
    association.auth_algo.verify(esp, association.auth_key, **high)
    icv = association.crypt_algo.icv_size or association.auth_algo.icv_size
    return association.crypt_algo.decrypt(association, esp, association.crypt_key, icv, **high)
