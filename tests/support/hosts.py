# SPDX-License-Identifier: Apache-2.0
"""Hosts behind bumps in the wire: their SAs in transport mode, as `ip xfrm` and as scapy take them,
and their frames."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import SecurityAssociation
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from sallyport import suites
from tests.support.scapy_suites import association, keys

NEAR, FAR = "198.18.0.1", "198.19.0.1"
NEAR_V6, FAR_V6 = "2001:db8:1::1", "2001:db8:2::1"
BRIDGE = "link add br0 type bridge\nlink set red master br0\nlink set black master br0\n"
TO_BLACK = Ether(src="02:00:00:00:00:11", dst="02:00:00:00:00:22")
TO_RED = Ether(src="02:00:00:00:00:22", dst="02:00:00:00:00:11")
# Frames' Ethernet headers: as they are, in a VLAN, and in two; 0x88A8 is 802.1ad's.
TAGS = {
    "untagged": lambda ether: ether,
    "VLAN": lambda ether: ether / Dot1Q(vlan=9, prio=5),
    "QinQ": lambda ether: Ether(src=ether.src, dst=ether.dst, type=0x88A8) / Dot1Q(vlan=7, prio=1) / Dot1Q(vlan=9),
}
MINIMUM = 60  # bytes of the shortest frame without its FCS


@dataclass(frozen=True)
class Pair:
    """Two hosts with an SA each way, one of them behind the box's red port. Keys follow from
    the SPIs."""

    suite: str = "aes256gcm16"
    spi_out: int = 0x1001
    spi_in: int = 0x2002
    esn: bool = False
    near: str = NEAR
    far: str = FAR

    def batch(self, more: str = "", window: int = 1024) -> str:
        """The batch file of the box: a bridge, and these SAs for what the selector `more` narrows
        of the hosts' packets."""
        return BRIDGE + self.lines(more, window)

    def lines(self, more: str = "", window: int = 1024) -> str:
        """The states and policies of `batch`."""
        text = self.states(window=window)
        for spi, ends, way in self._ways():
            text += f"xfrm policy add {ends} {more} dir {way} tmpl {ends} proto esp reqid {spi} mode transport\n"
        return text

    def states(self, reqid: int | None = None, window: int = 1024) -> str:
        """The states, each with its SPI as reqid, or both with another one."""
        esn = "flag esn " if self.esn else ""
        text = ""
        for spi, ends, way in self._ways():
            algorithms = suites.find(self.suite).with_keys(*keys(self.suite, spi))
            state = f"{ends} proto esp spi {spi:#x} reqid {reqid or spi} mode transport dir {way}"
            text += f"xfrm state add {state} replay-window {window} {esn}{algorithms}\n"
        return text

    def _ways(self) -> list[tuple[int, str, str]]:
        return [
            (self.spi_out, f"src {self.near} dst {self.far}", "out"),
            (self.spi_in, f"src {self.far} dst {self.near}", "in"),
        ]

    def far_sender(self) -> SecurityAssociation:
        """The far host's outbound SA: makes ESP that this box must accept."""
        return self._association(self.spi_in)

    def far_receiver(self) -> SecurityAssociation:
        """The far host's inbound SA: must decrypt what this box sends."""
        return self._association(self.spi_out)

    def mirrored(self) -> Pair:
        """The same SAs as the box before the other host has them."""
        return replace(self, spi_out=self.spi_in, spi_in=self.spi_out, near=self.far, far=self.near)

    def _association(self, spi: int) -> SecurityAssociation:
        return association(self.suite, spi, self.esn)

    def packet(self, size: int, back: bool = False, **fields: Any) -> Packet:
        """A UDP packet from near to far with `size` bytes of payload, or back."""
        src, dst = (self.far, self.near) if back else (self.near, self.far)
        version = IPv6 if ":" in src else IP
        packet = version(src=src, dst=dst, **fields) / UDP(sport=7, dport=9) / Raw(random.Random(size).randbytes(size))
        return version(bytes(packet))


def on_the_wire(frame: bytes | Packet) -> bytes:
    """A frame as a port sends it, padded to the least length."""
    return bytes(frame).ljust(MINIMUM, b"\0")


def header_length(frame: bytes) -> int:
    """Bytes of a frame's Ethernet header with its tags."""
    length = 14
    while frame[length - 2 : length] in (b"\x81\x00", b"\x88\xa8", b"\x91\x00"):
        length += 4
    return length


def ip_of(frame: bytes) -> Packet:
    """The IP packet of a frame, without padding."""
    packet = frame[header_length(frame) :]
    if packet[0] >> 4 == 6:
        return IPv6(packet[: 40 + int.from_bytes(packet[4:6], "big")])
    return IP(packet[: int.from_bytes(packet[2:4], "big")])


def opened(association: SecurityAssociation, frame: bytes) -> bytes:
    """The frame that a host would have sent in clear: its Ethernet header, tags and all, and what
    scapy decrypts of the rest."""
    return frame[: header_length(frame)] + bytes(association.decrypt(ip_of(frame)))


def sealed(association: SecurityAssociation, frame: Packet, **options: int) -> bytes:
    """The frame with its payload replaced by scapy's ESP, behind the same headers."""
    data = bytes(frame)
    return data[: header_length(data)] + bytes(association.encrypt(ip_of(data), **options))
