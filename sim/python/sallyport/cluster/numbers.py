# SPDX-License-Identifier: Apache-2.0
"""What left a cluster's black ports: that no SA used a number or an IV twice, whichever node
sent it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

ENHANCED_PACKET = 6  # a pcapng block
DATA_AT, LENGTH_AT = 28, 20  # in it: the frame, and its length
ESP_AT = {0x0800: 14 + 20, 0x86DD: 14 + 40}  # in a frame of that EtherType without options
ESP = 50


def frames(path: Path) -> Iterator[bytes]:
    """The frames of a capture that the engine wrote."""
    text = path.read_bytes()
    at = 0
    while at < len(text):
        kind, length = struct.unpack_from("<II", text, at)
        if kind == ENHANCED_PACKET:
            captured = struct.unpack_from("<I", text, at + LENGTH_AT)[0]
            yield text[at + DATA_AT : at + DATA_AT + captured]
        at += length


def repeated(captures: Iterable[Path], iv: int) -> list[str]:
    """A sentence if an (SPI, number) or an (SPI, IV) of `iv` bytes is in the captures twice."""
    numbers: set[bytes] = set()
    ivs: set[bytes] = set()
    count = 0
    for path in captures:
        for frame in frames(path):
            ether_type = int.from_bytes(frame[12:14], "big")
            at = ESP_AT.get(ether_type, 0)
            if not at or frame[23 if ether_type == 0x0800 else 20] != ESP:
                continue
            count += 1
            numbers.add(frame[at : at + 8])
            ivs.add(frame[at : at + 4] + frame[at + 8 : at + 8 + iv])
    found = []
    if len(numbers) != count:
        found.append(f"{count - len(numbers)} of {count} packets have a number of another packet of their SA")
    if iv and len(ivs) != count:
        found.append(f"{count - len(ivs)} of {count} packets have the IV of another packet of their SA")
    return found
