# SPDX-License-Identifier: Apache-2.0
"""Mixes of frame sizes, {size: weight}, by name and as RFC 6985 writes them."""

from __future__ import annotations

# TRex's IMIX (stl/imix.py) and Spirent's.
MIXES = {"imix": {64: 7, 594: 4, 1518: 1}, "imix-spirent": {64: 7, 570: 4, 1518: 1}}
# Mean 1188 B, standard deviation 525 B. No distribution with one peak, such as a truncated normal,
# has both between 64 and 1518 B: with this mean its deviation is at most 459 B. Three sizes have.
CLUSTER_MIX = {64: 69, 800: 90, 1518: 341}
# RFC 6985 4: sizes by letter.
GENOME = {"a": 64, "b": 128, "c": 256, "d": 512, "e": 1024, "f": 1280, "g": 1518, "h": 2112, "i": 9000}


def genome(mix: dict[int, int]) -> str:
    """A mix as RFC 6985 writes it: a letter for each frame, a capital one for sizes of its own,
    which it tells (section 5)."""
    letters = {size: letter for letter, size in GENOME.items()}
    own = [size for size in mix if size not in letters]
    letters |= {size: chr(ord("A") + number) for number, size in enumerate(own)}
    sequence = "".join(letters[size] * weight for size, weight in mix.items())
    return sequence + (f" ({', '.join(f'{letters[size]}={size}' for size in own)})" if own else "")
