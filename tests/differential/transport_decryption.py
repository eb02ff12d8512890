# SPDX-License-Identifier: Apache-2.0
"""How transport mode decrypts (RFC 4303 3.1.1, 3.4; docs/explanation/transport-mode.md)."""

from __future__ import annotations

from dataclasses import replace

from .addresses import martian
from .decryption import STATES, TOO_LONG, Inbound, Result
from .reading import Reading, read
from .red_mtu import at_red
from .transport import with_payload

# Bytes of a frame: ports, or the type of a mobility header, that are not all in them are not read.
SEEN = 128


def seen(packet: Reading, at: int) -> Reading:
    """What the inner chip reads of a packet whose upper layer begins at `at` of a frame from
    black."""
    if at + 4 > SEEN and packet.upper in ("ports", "mobility"):
        return replace(packet, upper="", numbers=(0, 0))
    return packet


class HostInbound(Inbound):
    """An SA of two hosts: the packet is what the header in front of ESP says, with the payload and
    the protocol that ESP hid.

    So it cannot be of another version or have a wrong checksum, there is no ECN of another header,
    and no hop to count.
    """

    def _packet(self, data: bytes, next_header: int, outer: Reading, head: bytes, _part: object) -> Result:
        at = len(head) - outer.header
        frame = with_payload(head, at, next_header, len(data)) + data
        packet = read(frame[at:], outer.version)
        packet = seen(packet, at + packet.header)
        if packet.state != "whole":
            return STATES[packet.state]
        if not self.allows(packet):
            return "drop_selector_mismatch"
        if martian(packet):
            return "drop_inner_martian"
        leaving = at_red(frame[:at], frame[at:], packet, self.paths.red_mtu, bump=True)
        return leaving or ([f"punt_{TOO_LONG}"], (TOO_LONG, frame))
