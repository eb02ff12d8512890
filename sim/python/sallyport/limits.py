# SPDX-License-Identifier: Apache-2.0
"""What a perfect ESP gateway could do: arithmetic only, nothing measured.

A clear frame of F bytes (FCS included) carries an IP packet of F - 18 bytes. With an ESP frame of E
bytes, the black 100GbE port carries at most 100e9 / (8 (E + 20)) frames a second. The 20 bytes are
the preamble (8) and the gap (12). In tunnel mode ESP carries the whole packet, behind an outer
header. In transport mode ESP follows the packet's own header and carries the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sallyport.suites import Suite

LINE_GBPS = 100
WIRE_BITS_PER_SECOND = LINE_GBPS * 10**9
SLOT_BYTES = 20  # preamble, start delimiter and inter-packet gap
ETHERNET_BYTES = 18  # header and FCS
IP_BYTES = {4: 20, 6: 40}  # by version
UDP_BYTES = 8
ESP_HEADER_BYTES = 8
ESP_TRAILER_BYTES = 2  # pad length and next header
SIGNATURE_BYTES = 16  # of a tester's frame, the simulated one's as TRex's
MIN_FRAME, MAX_FRAME = 64, 9600
# Largest frame of a tester's red port for the black frame to be no larger than the usual ports of
# this size.
PORT_SIZES = (1518, 9216)


MODES = ("tunnel", "transport")


def esp_frame_bytes(frame: int, suite: Suite, mode: str = "tunnel", ip: int = 4, nat_t: bool = False) -> int:
    """Bytes of the black frame, FCS included, that carries a red frame of `frame` bytes; in a
    tunnel over IP version `ip`."""
    clear = ETHERNET_BYTES + (IP_BYTES[ip] if mode == "transport" else 0)
    text = frame - clear + ESP_TRAILER_BYTES
    padded = -(-text // suite.block) * suite.block
    udp = UDP_BYTES if nat_t else 0
    return ETHERNET_BYTES + IP_BYTES[ip] + udp + ESP_HEADER_BYTES + suite.iv + padded + suite.icv


def smallest_frame(ip: int) -> int:
    """The shortest frame that carries a tester's packet: RFC 2544's 64 B over IPv4, 82 B over IPv6
    (RFC 5180 5.1.1)."""
    return max(MIN_FRAME, ETHERNET_BYTES + IP_BYTES[ip] + UDP_BYTES + SIGNATURE_BYTES)


def largest_frame(suites: Sequence[Suite], mode: str, ip: int, nat_t: bool, port: int) -> int:
    """The longest red frame whose black frame is at most `port` bytes with each of `suites`."""
    size = port
    while any(esp_frame_bytes(size, suite, mode, ip, nat_t) > port for suite in suites):
        size -= 1
    return size


def line_rate_fps(frame: float | Fraction, gbps: int = LINE_GBPS) -> Fraction:
    """Frames of `frame` bytes a second that fill a port of `gbps` Gb/s."""
    return Fraction(gbps * 10**9) / (8 * (Fraction(frame) + SLOT_BYTES))


def theoretical_fraction(
    mix: dict[int, int], suites: Sequence[Suite], mode: str = "tunnel", ip: int = 4, nat_t: bool = False
) -> Fraction:
    """Largest intended load, as a fraction of line rate, that the black wire can carry for a mix
    {frame size: weight}.

    Each of `suites` has the same share of the frames.
    """
    red = len(suites) * sum(weight * (size + SLOT_BYTES) for size, weight in mix.items())
    black = sum(
        weight * (esp_frame_bytes(size, suite, mode, ip, nat_t) + SLOT_BYTES)
        for suite in suites
        for size, weight in mix.items()
    )
    return Fraction(red, black)


def mean_frame(mix: dict[int, int]) -> Fraction:
    """Average red frame size in bytes."""
    return Fraction(sum(size * weight for size, weight in mix.items()), sum(mix.values()))
