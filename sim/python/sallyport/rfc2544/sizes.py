# SPDX-License-Identifier: Apache-2.0
"""Frame sizes and mixes of a command."""

from __future__ import annotations

from sallyport import limits
from sallyport.backend import Setup
from sallyport.errors import InputError
from sallyport.mixes import GENOME, MIXES

GENOME_PREFIX = "imix:"
# RFC 2544 9.1 and what shows a gateway's edges: a beat more than 64 B, a published appliance's
# size, jumbo frames.
STANDARD = (
    "64",
    "65",
    "69",
    "128",
    "256",
    "512",
    "1024",
    "1280",
    "1400",
    "largest",
    "1518",
    "2048",
    "4096",
    "9000",
    "9216",
    "imix",
)

Sizes = list[tuple[str, dict[int, int]]]


def parse(text: str, setup: Setup) -> Sizes:
    """`"64,1400,imix"` as a list of (label, mix); InputError names the entry that is wrong.

    `all` is [STANDARD]; `largest` is the longest frame whose ESP fits a port of 1518 B;
    `imix:aaadg` a mix by RFC 6985's letters. With IPv6, shorter sizes become that of the shortest
    test frame.
    """
    entries = [part for entry in text.split(",") for part in (STANDARD if entry.strip() == "all" else [entry.strip()])]
    least = limits.smallest_frame(setup.ip)
    found: Sizes = []
    for entry in entries:
        label, mix = entry, MIXES.get(entry)
        if entry == "largest":
            size = limits.largest_frame(setup.suites, setup.mode, setup.ip, setup.nat_t, limits.PORT_SIZES[0])
            label, mix = str(size), {size: 1}
        elif entry.startswith(GENOME_PREFIX) and entry[len(GENOME_PREFIX) :]:
            mix = _genome(entry)
        elif mix is None and entry.isdigit() and limits.MIN_FRAME <= int(entry) <= limits.MAX_FRAME:
            mix = {int(entry): 1}
        if mix is None:
            raise InputError(
                f"--frame-size {entry!r}: give sizes of {limits.MIN_FRAME} to {limits.MAX_FRAME} bytes, {', '.join(MIXES)}, "
                f"{GENOME_PREFIX}LETTERS (RFC 6985, {''.join(GENOME)}), largest or all"
            )
        mix = _raised(mix, least)
        label = str(next(iter(mix))) if label.isdigit() else label
        if (label, mix) not in found:
            found.append((label, mix))
    return found


def _genome(entry: str) -> dict[int, int]:
    mix: dict[int, int] = {}
    for letter in entry[len(GENOME_PREFIX) :]:
        if letter not in GENOME:
            raise InputError(
                f"--frame-size {entry!r}: RFC 6985 has no frame size {letter!r}; choose of {''.join(GENOME)}"
            )
        mix[GENOME[letter]] = mix.get(GENOME[letter], 0) + 1
    return mix


def _raised(mix: dict[int, int], least: int) -> dict[int, int]:
    raised: dict[int, int] = {}
    for size, weight in mix.items():
        raised[max(size, least)] = raised.get(max(size, least), 0) + weight
    return raised
