# SPDX-License-Identifier: Apache-2.0
"""ICMP errors by scapy about flows of a tunnel (RFC 4301 6.2), for both IP versions alike."""

from __future__ import annotations

from dataclasses import dataclass

from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6PacketTooBig,
    ICMPv6ParamProblem,
    ICMPv6TimeExceeded,
    IPv6,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.reference import Tunnel, esp_payload

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")


@dataclass(frozen=True)
class Net:
    """Networks at both ends of a tunnel, a host of each, another host, and a router of neither."""

    ip: type[Packet]
    here_net: str
    there_net: str
    here: str
    there: str
    other: str
    router: str
    anything: str

    @property
    def least(self) -> int:
        """Bytes of a packet that an error about it holds at least: RFC 792, fixed header and 8."""
        return len(self.ip()) + 8

    def kinds(self) -> list[Packet]:
        """The headers of errors of every type."""
        if self.ip is IP:
            return [ICMP(type=3, code=3), ICMP(type=3, code=4, nexthopmtu=1300), ICMP(type=4), ICMP(type=11),
                    ICMP(type=12, ptr=9)]  # fmt: skip
        return [
            ICMPv6DestUnreach(code=4),
            ICMPv6PacketTooBig(mtu=1300),
            ICMPv6TimeExceeded(),
            ICMPv6ParamProblem(ptr=6),
        ]

    def error(self, about: bytes, receiver: str, sender: str = "", kind: Packet | None = None) -> Packet:
        """An error that holds these bytes, from a router unless told otherwise."""
        head = self.ip(src=sender or self.router, dst=receiver)
        return head / (kind or self.kinds()[0]).copy() / Raw(about)

    def errors(self, about: Packet) -> list[Packet]:
        """Errors of every type to the sender of a packet, with as much of it as they must hold."""
        return [self.error(bytes(about)[: self.least], about.src, kind=kind) for kind in self.kinds()]

    def batch(self, tunnel: Tunnel, kind: str) -> str:
        """A tunnel between both networks for one kind of packets, such as `proto udp`."""
        batch = tunnel.batch(self.here_net, f"{self.there_net} {kind}", self.there_net)
        return batch.replace(" dir in", f" {kind} dir in")


V4 = Net(IP, "198.18.0.0/16", "198.19.0.0/16", "198.18.0.1", "198.19.0.1", "203.0.113.5", "203.0.113.9", "0.0.0.0/0")
V6 = Net(
    IPv6, "2001:db8:1::/48", "2001:db8:2::/48", "2001:db8:1::1", "2001:db8:2::1", "2001:db8:f::5", "2001:db8:f::9",
    "::/0",
)  # fmt: skip


def opened(outcome, tunnel: Tunnel) -> list[bytes]:
    """The packets in the ESP of some frames."""
    peer = tunnel.peer_receiver()
    return [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out]


def through(tunnel: Tunnel, packets: list[Packet], first: int = 2001) -> list[Packet]:
    """Frames with the packets, in the tunnel from the far peer."""
    sender = tunnel.peer_sender()
    return [ETHERNET / sender.encrypt(packet, seq_num=first + n) for n, packet in enumerate(packets)]


def framed(packets: list[Packet]) -> list[Packet]:
    return [ETHERNET / packet for packet in packets]
