# SPDX-License-Identifier: Apache-2.0
"""ESP in transport mode as a far host makes it, and as others forge it: behind that host's own
IP header."""

from __future__ import annotations

from ipaddress import ip_network

from . import damage, error_packets, headers
from .damage import with_checksum
from .esp_packets import Sender
from .headers import options_header, routing_header
from .policy import Selector
from .reading import EXTENSIONS
from .sa import NATT_PORT

ESP, UDP, IPV6_HEADER = 50, 17, 40
FLAGS = 0xC0  # without the bit that says that more fragments follow


class HostSender(Sender):
    """Makes the packets of one inbound SA of two hosts."""

    head = b""

    def in_packet(self, now: int) -> bytes:
        """An IP packet with ESP; 2 in 100 have it in UDP, 2 behind extension headers, and some are
        of other hosts."""
        esp, protocol, chance = self.packet(now), ESP, self.dice.random()
        if chance < 0.02:
            far, protocol = self.dice.choice([NATT_PORT, self.dice.randrange(65536)]), UDP
            esp = headers.udp(far, NATT_PORT, esp)
        elif chance < 0.04 and self.sa.v6:
            protocol = self.dice.choice([0, 43, 60])
            esp = (routing_header(ESP, 1, 0) if protocol == 43 else options_header(ESP, bytes(4))) + esp
        return _around(self.head, protocol, esp)

    def _text(self) -> tuple[bytes, int, int]:
        """Behind the IP header is what ESP hides: with extension headers in it, and sometimes what
        no packet has there."""
        dice, hosts = self.dice, Selector(ip_network(self.sa.src), ip_network(self.sa.dst))
        packet = error_packets.for_red(dice, self.selectors or [hosts], self.red_mtu)
        while (packet[0] >> 4 == 6) != self.sa.v6:
            packet = error_packets.for_red(dice, self.selectors or [hosts], self.red_mtu)
        size = IPV6_HEADER if self.sa.v6 else 4 * (packet[0] & 15)
        self.head, payload = packet[:size], packet[size:]
        next_header = packet[6] if self.sa.v6 else packet[9]
        if not self.sa.v6:  # no fragment: those are cut from the whole
            self.head = packet[:6] + bytes([packet[6] & FLAGS, 0]) + packet[8:size]
        chance = dice.random()
        if chance < 0.08 and payload:
            payload = damage.flip(dice, payload, 24) if dice.random() < 0.5 else payload[: dice.randrange(len(payload))]
        elif chance < 0.12:
            next_header = dice.choice([4, 41, *EXTENSIONS, 6, 17, 50, 58, 59, 1, 253, dice.randrange(256)])
        elif chance < 0.14:
            payload, next_header = dice.randbytes(dice.choice([0, 0, 1, 4, 100])), 59
        elif chance < 0.16:
            payload = dice.randbytes(dice.choice([0, 0, 1, 2, 8, 40]))
        elif chance < 0.20:  # padding that hides how long the packet is (RFC 4303 2.7)
            payload += bytes(dice.randrange(300))
        return *self._padded(payload), next_header


def _around(head: bytes, protocol: int, payload: bytes) -> bytes:
    fresh = bytearray(head)
    if head[0] >> 4 == 6:
        fresh[4:6], fresh[6] = len(payload).to_bytes(2, "big"), protocol
    else:
        fresh[2:4], fresh[9] = (len(head) + len(payload)).to_bytes(2, "big"), protocol
    return with_checksum(bytes(fresh)) + payload
