# SPDX-License-Identifier: Apache-2.0
"""Datagrams that tunnels carry in fragments, in any order, among those of other tunnels (RFC 4301
7.3): of some the first fragment comes twice, with other ports."""

from __future__ import annotations

import random
from collections import deque
from itertools import count

from . import ip_packets
from .esp_packets import Sender
from .trains import cut, otherwise

CONFLICTING = 0.15
TRIES = 20


class FragmentsInside:
    """One datagram at a time of each SA. An SA without a window has none: others may overtake its
    packets, and the first of them is not known."""

    def __init__(self, dice: random.Random, senders: list[Sender]) -> None:
        self.dice = dice
        # Ports decide for few SAs, which have most of the fragments.
        able = [sender for sender in senders if sender.sa.window and sender.selectors]
        by_port = [sender for sender in able if any(each.first or each.second for each in sender.selectors)]
        self.senders = [*able, *by_port * 3]
        self.parts: dict[int, deque[bytes]] = {}
        self.numbers = count(dice.randrange(1 << 16))

    def next(self) -> tuple[Sender, bytes] | None:
        """A fragment and the sender that carries it, unless no packet can be cut."""
        for _ in range(TRIES if self.senders else 0):
            sender = self.dice.choice(self.senders)
            parts = self.parts.setdefault(sender.sa.spi, deque())
            if not parts:
                parts.extend(self._datagram(sender))
            if parts:
                return sender, parts.popleft()
        return None

    def _datagram(self, sender: Sender) -> list[bytes]:
        parts = cut(self.dice, ip_packets.make(self.dice, "black", sender.selectors), next(self.numbers))
        if len(parts) < 2:
            return []
        again = [otherwise(parts[0])] if self.dice.random() < CONFLICTING else []
        parts += again
        self.dice.shuffle(parts)
        return parts
