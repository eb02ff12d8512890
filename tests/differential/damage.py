# SPDX-License-Identifier: Apache-2.0
"""Damages packets as a network may: fields with wrong values, bits flipped, its end cut off."""

from __future__ import annotations

import random

from scapy.utils import checksum


def packet(dice: random.Random, data: bytes) -> bytes:
    """An IP packet that is damaged in one way or another; its IPv4 checksum is right, unless that
    is the damage."""
    broken = bytearray(data)
    match dice.randrange(6):
        case 0:
            cut = dice.choice(
                [dice.randrange(len(data)), max(0, len(data) - dice.randrange(1, 9)), dice.randrange(20, 64)]
            )
            return bytes(broken[:cut])
        case 1:
            return flip(dice, data, len(data))
        case 2:
            return flip(dice, data, 44)
        case 3:
            broken[0] = dice.choice([broken[0] & 0x0F | 16 * dice.randrange(16), broken[0] & 0xF0 | dice.randrange(16)])
        case 4:
            at = 2 if broken[0] >> 4 == 4 else 4
            length = int.from_bytes(broken[at : at + 2], "big")
            length = dice.choice(
                [length + dice.randrange(-24, 9), dice.randrange(64), dice.randrange(65536), length - 1, length + 1]
            )
            broken[at : at + 2] = (length & 0xFFFF).to_bytes(2, "big")
        case _:
            if broken[0] >> 4 == 4:
                broken[10:12] = dice.choice([b"\0\0", b"\xff\xff", dice.randbytes(2)])
                return bytes(broken)
            broken[6] = dice.choice([0, 43, 44, 60, 59, 50, 58, dice.randrange(256)])
    return with_checksum(bytes(broken))


def with_checksum(data: bytes) -> bytes:
    """The same packet; if it is IPv4 its header's checksum is right."""
    header = 4 * (data[0] & 15) if data else 0
    if len(data) < 20 or data[0] >> 4 != 4 or not 20 <= header <= len(data):
        return data
    fresh = bytearray(data)
    fresh[10:12] = bytes(2)
    fresh[10:12] = checksum(bytes(fresh[:header])).to_bytes(2, "big")
    return bytes(fresh)


def flip(dice: random.Random, data: bytes, reach: int) -> bytes:
    """One to three bits among the first `reach` bytes are wrong."""
    broken = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        if broken:
            broken[dice.randrange(min(reach, len(broken)))] ^= 1 << dice.randrange(8)
    return bytes(broken)
