# SPDX-License-Identifier: Apache-2.0
"""Datagrams that come in fragments: in order or not, among other frames. Some met congestion, of
some a fragment comes twice, or the first with other ports, and of some the fragments overlap or do
not agree on ECN."""

from __future__ import annotations

import random
from collections import deque
from itertools import count

from . import ethernet, headers
from .damage import with_checksum
from .ethernet import Frame
from .forwarding import CE, NOT_ECT, with_ecn

CUT = 0.05
# The simulated box has four places for datagrams of one hash (docs/explanation/fragments.md).
MOST_AT_ONCE = 2
MOST_FRAGMENTS = 5
LONGEST = 9500  # the whole has to fit a frame, tags and all (drop_reasm_oversize)
# headers that every router reads go in front of the fragment header (RFC 8200 4.5)
ROUTED = (0, 43)


class Trains:
    """Trains under way to one port. Identifications count, so no two datagrams of a run
    share one."""

    def __init__(self, dice: random.Random, port: str) -> None:
        self.dice = dice
        self.port = port
        self.under_way: list[deque[Frame]] = []
        self.numbers = count(dice.randrange(1 << 16))

    def begin(self, packet: bytes) -> bool:
        """Cuts a whole packet, if there is room for another train, and the packet can be cut."""
        if len(self.under_way) == MOST_AT_ONCE or not 0 < len(packet) <= LONGEST:
            return False
        pieces = cut(self.dice, packet, next(self.numbers))
        if len(pieces) < 2:
            return False
        first, *rest = pieces
        if self.dice.random() < 0.5:
            self.dice.shuffle(rest)
        chance = self.dice.random()
        # Who overtakes whom, of those that wait for the first, decides over wrong datagrams alone.
        at = self.dice.randint(0, len(rest)) if chance >= 0.58 else 0
        pieces = [*rest[:at], first, *rest[at:]]
        if chance < 0.3:
            twice = self.dice.randrange(len(pieces) - 1)
            change = self.dice.choice([bytes, earlier, otherwise])
            again = change(pieces[twice])
            pieces.insert(self.dice.randint(twice + 1, len(pieces) - 1), again)
        elif chance < 0.58:
            pieces = self._marked(pieces)
        frames = [ethernet.unharmed(self.dice, self.port, piece) for piece in pieces]
        # A sender's fragments come by one VLAN, but for one datagram in ten here.
        if int.from_bytes(pieces[0][4:6], "big") % 10:
            head = frames[0].data[: frames[0].data.index(pieces[0])]
            whole = [head + frame.data[frame.data.index(piece) :] for frame, piece in zip(frames, pieces, strict=True)]
            frames = [Frame(data.ljust(ethernet.MINIMUM, b"\0")) for data in whole]
        self.under_way.append(deque(frames))
        return True

    def _marked(self, pieces: list[bytes]) -> list[bytes]:
        """With the ECN fields that a network in congestion makes of them, or with any."""
        marks = [ecn_of(piece) for piece in pieces]
        if self.dice.random() < 0.6 and NOT_ECT not in marks:
            marks = [self.dice.choice([mark, CE]) for mark in marks]
        else:
            marks = [self.dice.randrange(4) for _ in pieces]
        return [with_ecn(piece, mark) for piece, mark in zip(pieces, marks, strict=True)]

    def next(self) -> Frame | None:
        """A frame of a train under way, if there is one and its turn has come."""
        if not self.under_way or self.dice.random() < 0.4:
            return None
        return self._one()

    def rest(self) -> list[Frame]:
        return [self._one() for train in list(self.under_way) for _ in range(len(train))]

    def _one(self) -> Frame:
        train = self.dice.choice(self.under_way)
        frame = train.popleft()
        self.under_way = [train for train in self.under_way if train]
        return frame


def earlier(piece: bytes) -> bytes:
    """The same bytes as a fragment that begins 8 bytes earlier; the first and the last stay
    the same."""
    fresh = bytearray(piece)
    v6 = piece[0] >> 4 == 6
    at = 6 if not v6 else 42 if piece[6] == 44 else 42 + 8 * (piece[41] + 1)
    field, unit, more = int.from_bytes(fresh[at : at + 2], "big"), 8 if v6 else 1, 1 if v6 else 0x2000
    if not field & more or field & ~more < unit:
        return piece
    fresh[at : at + 2] = (field - unit).to_bytes(2, "big")
    return with_checksum(bytes(fresh))


def otherwise(piece: bytes) -> bytes:
    """With another port, type or SPI where an IPv4 packet begins."""
    if piece[0] >> 4 == 6 or int.from_bytes(piece[6:8], "big") & 0x1FFF:
        return piece
    at = 4 * (piece[0] & 15) + 1
    return piece[:at] + bytes([piece[at] ^ 1]) + piece[at + 1 :]


def ecn_of(packet: bytes) -> int:
    return (packet[1] >> 4 if packet[0] >> 4 == 6 else packet[1]) & 3


def cut(dice: random.Random, packet: bytes, number: int) -> list[bytes]:
    """Two to five fragments of any sizes, as some router or the sender made them; fewer if the
    packet has nothing to cut."""
    v6 = packet[0] >> 4 == 6
    head = 40 if v6 else 4 * (packet[0] & 15)
    if len(packet) < head:  # a damaged one
        return []
    if v6 and (packet[6] in ROUTED or packet[6] == 44):
        if packet[6] != 0 or len(packet) < 48 or packet[40] in (*ROUTED, 44):
            return []
        head = 40 + 8 * (packet[41] + 1)
    payload = packet[head:]
    units = -(-len(payload) // 8)
    if units < 2:
        return []
    places = sorted(dice.sample(range(1, units), min(units - 1, dice.randrange(1, MOST_FRAGMENTS))))
    ends = [*places, units]
    make = _ipv6 if v6 else _ipv4
    return [
        make(packet[:head], payload[8 * start : 8 * end], start, end != units, number)
        for start, end in zip([0, *places], ends, strict=True)
    ]


def _ipv4(head: bytes, payload: bytes, offset: int, more: bool, number: int) -> bytes:
    fresh = bytearray(head)
    fresh[2:4] = (len(head) + len(payload)).to_bytes(2, "big")
    fresh[4:6] = (number & 0xFFFF).to_bytes(2, "big")
    fresh[6:8] = (more << 13 | offset).to_bytes(2, "big")
    return with_checksum(bytes(fresh) + payload)


def _ipv6(head: bytes, payload: bytes, offset: int, more: bool, number: int) -> bytes:
    fresh, names = bytearray(head), 6 if len(head) == 40 else 40
    fresh[names] = 44
    behind = headers.fragment_header(head[names], 0, offset, more, number) + payload
    fresh[4:6] = (len(head) - 40 + len(behind)).to_bytes(2, "big")
    return bytes(fresh) + behind
