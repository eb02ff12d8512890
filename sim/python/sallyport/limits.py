"""What a perfect ESP gateway could do: arithmetic only, nothing measured.

A clear frame of F bytes (FCS included) carries an IP packet of F - 18; its ESP frame is E bytes, and the black 100GbE port
carries at most 100e9 / (8 (E + 20)) of them a second (8 B preamble and 12 B gap). In tunnel mode ESP is of that packet, behind
an outer header; in transport mode of what follows the packet's own header, behind that.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sallyport.suites import Suite

WIRE_BITS_PER_SECOND = 100_000_000_000
SLOT_BYTES = 20  # preamble, start delimiter and inter-packet gap
ETHERNET_BYTES = 18  # header and FCS
IPV4_BYTES = 20
ESP_HEADER_BYTES = 8
ESP_TRAILER_BYTES = 2  # pad length and next header
MIN_FRAME, MAX_FRAME = 64, 9600


MODES = ("tunnel", "transport")


def esp_frame_bytes(frame: int, suite: Suite, mode: str = "tunnel") -> int:
    """Bytes of the black frame, FCS included, that carries a red frame of `frame` bytes over IPv4."""
    clear = ETHERNET_BYTES + (IPV4_BYTES if mode == "transport" else 0)
    text = frame - clear + ESP_TRAILER_BYTES
    padded = -(-text // suite.block) * suite.block
    return ETHERNET_BYTES + IPV4_BYTES + ESP_HEADER_BYTES + suite.iv + padded + suite.icv


def line_rate_fps(frame: float | Fraction) -> Fraction:
    """Frames of `frame` bytes a second that fill a 100GbE port."""
    return Fraction(WIRE_BITS_PER_SECOND) / (8 * (Fraction(frame) + SLOT_BYTES))


def theoretical_fraction(mix: dict[int, int], suites: Sequence[Suite], mode: str = "tunnel") -> Fraction:
    """Largest intended load, as a fraction of line rate, that the black wire can carry for a mix {frame size: weight}.

    Each of `suites` has the same share of the frames.
    """
    red = len(suites) * sum(weight * (size + SLOT_BYTES) for size, weight in mix.items())
    black = sum(
        weight * (esp_frame_bytes(size, suite, mode) + SLOT_BYTES) for suite in suites for size, weight in mix.items()
    )
    return Fraction(red, black)


def mean_frame(mix: dict[int, int]) -> Fraction:
    """Average red frame size in bytes."""
    return Fraction(sum(size * weight for size, weight in mix.items()), sum(mix.values()))
