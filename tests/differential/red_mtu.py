# SPDX-License-Identifier: Apache-2.0
"""What becomes of a packet for the red port there: it leaves whole or cut (RFC 791 3.2), or the CPU
gets it, which tells its sender (docs/explanation/decrypt-path.md)."""

from __future__ import annotations

from .ethernet import MINIMUM
from .mtu import LONGEST_PACKET, clear_pieces
from .outcome import Clear
from .reading import Reading

PLAIN = 20  # bytes of an IPv4 header without options
UNTAGGED = 14  # bytes of an Ethernet header
LONGEST_DATAGRAM = 65535  # RFC 791 3.1
OFFSET = 0x1FFF  # its bits in bytes 6 and 7 of the IPv4 header

# What leaves, and the counters of that.
Leaving = tuple[list[str], tuple[Clear, ...]]


def at_red(head: bytes, packet: bytes, said: Reading, mtu: int, bump: bool) -> Leaving | None:
    """What leaves of an IP packet behind an Ethernet header, with these values in its own; None if
    it is for the CPU. An MTU of 0 is none. `bump`: the header is the one that came."""
    if said.total <= (mtu or LONGEST_PACKET):
        return ["tx_frames"], (Clear((head + packet).ljust(MINIMUM, b"\0")),)
    beyond = said.version == 4 and _end(packet) > LONGEST_DATAGRAM
    if said.dont_fragment or said.header != PLAIN or (bump and len(head) != UNTAGGED) or beyond:
        return None
    pieces = clear_pieces(packet[: said.total], mtu)
    counters = ["red_frag_packets", *["red_frag_split"] * (len(pieces) - 1), *["tx_frames"] * len(pieces)]
    return counters, tuple(Clear((head + piece).ljust(MINIMUM, b"\0")) for piece in pieces)


def _end(packet: bytes) -> int:
    """The byte of its datagram at which an IPv4 packet without options ends."""
    return 8 * (int.from_bytes(packet[6:8], "big") & OFFSET) + int.from_bytes(packet[2:4], "big") - PLAIN
