# SPDX-License-Identifier: Apache-2.0
"""ESP as a peer makes it and as others forge it: payloads, padding, trailers, ICVs and numbers,
right and wrong."""

from __future__ import annotations

import random

from . import damage, error_packets
from .configuration import Configuration
from .esp import Peer, right_padding
from .numbering import Numbering
from .sa import Sa


class Sender:
    """Makes the packets of one inbound SA, each depending on those before as far as their
    numbers go."""

    def __init__(self, sa: Sa, configuration: Configuration, dice: random.Random) -> None:
        self.sa = sa
        self.dice = dice
        self.peer = Peer(sa)
        self.numbering = Numbering(sa, dice)
        self.selectors = configuration.inner_aims(sa)
        self.red_mtu = configuration.paths.red_mtu
        self.last = b""

    def packet(self, now: int) -> bytes:
        chance = self.dice.random()
        if chance < 0.02 and self.last:
            return self.last
        body, pad_length, next_header = self._text()
        number = self.numbering.next(now)
        sealed = self.peer.seal(body, pad_length, next_header, number, self.dice.randbytes(self.sa.suite.iv))
        self.last = sealed
        if chance < 0.06:
            return damage.flip(self.dice, sealed, len(sealed))
        if chance < 0.08:
            return self._misshapen(sealed)
        return sealed

    def carrying(self, inner: bytes, now: int) -> bytes:
        """The packet with all right, around this one."""
        length = -(len(inner) + 2) % self.sa.suite.block
        iv = self.dice.randbytes(self.sa.suite.iv)
        number = self.numbering.next(now)
        return self.peer.seal(inner + right_padding(length), length, 41 if inner[0] >> 4 == 6 else 4, number, iv)

    def _text(self) -> tuple[bytes, int, int]:
        """Payload with padding, pad length and next header."""
        dice = self.dice
        inner = error_packets.for_red(dice, self.selectors, self.red_mtu)
        if dice.random() < 0.15:
            inner = damage.packet(dice, inner)
        next_header = 41 if inner[:1] and inner[0] >> 4 == 6 else 4
        chance = dice.random()
        if chance < 0.03:
            next_header = dice.choice([4, 41, 0, 6, 17, 43, 50, 58, 59, 60, dice.randrange(256)])
        elif chance < 0.05:
            inner, next_header = dice.randbytes(dice.choice([0, 0, 1, 4, 20, 100, 1000])), 59
        elif chance < 0.06:
            inner = dice.randbytes(dice.choice([0, 0, 1, 2, 19, 20, 40]))
        elif chance < 0.12:
            inner += dice.choice([bytes, dice.randbytes])(
                dice.choice([1, 3, 16, dice.randrange(200), dice.randrange(1400)])
            )
        return *self._padded(inner), next_header

    def _padded(self, payload: bytes) -> tuple[bytes, int]:
        """The least padding, sometimes more, sometimes wrong, and the pad length,
        sometimes another."""
        dice, block = self.dice, self.sa.suite.block
        length = -(len(payload) + 2) % block
        if dice.random() < 0.08:
            length += block * dice.randrange((255 - length) // block + 1)
        padding = right_padding(length)
        chance = dice.random()
        if chance < 0.01 and length:
            padding = damage.flip(dice, padding, length)
        elif chance < 0.02:
            length = dice.choice(
                [0, 255, min(255, len(payload) + length), min(255, len(payload) + length + 1), dice.randrange(256)]
            )
        return payload + padding, length

    def _misshapen(self, sealed: bytes) -> bytes:
        """A packet of a length that is not ESP's, or not the suite's."""
        least = 8 + self.sa.suite.iv + self.sa.suite.icv
        cut = self.dice.choice([1, 2, 3, 4, 8, 12, self.dice.randrange(len(sealed)), len(sealed) - least])
        kept = self.dice.choice([len(sealed) - cut, least, least + 4, 28, 32, 35, 36, 40])
        return sealed[: max(0, kept)]
