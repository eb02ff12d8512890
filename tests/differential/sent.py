# SPDX-License-Identifier: Apache-2.0
"""The frames that left a port against those that must, in every order that frames may take."""

from __future__ import annotations

from collections import Counter, deque

from . import black_frame, pieces, transport_frame
from .esp import Opened, Peer, fits
from .identifications import Identifications
from .mismatch import FAR, Mismatch
from .outcome import Clear, Item, Lost, Outcome, Protected, Transported

# The port at which a frame came in, and its number there.
Place = tuple[str, int]
MOST_PIECES = 16  # of 9,582 bytes and the least MTU here there are eight


def sent(port: str, outcomes: dict[str, list[Outcome]], frames: list[bytes]) -> tuple[Mismatch | None, set[Place]]:
    """The first difference between what left at the far side of a port and what must have; and
    which frames came after the hard limit of their SA."""
    return Sent(port, outcomes, frames).compare()


class Sent:
    """Frames keep their order within each class of the crypto chip (docs/decisions/0005) that came
    on one way ([reassembly]), out of a tunnel or not. Each frame, or all that one packet was cut
    into, is the next of one of these.
    """

    def __init__(self, port: str, outcomes: dict[str, list[Outcome]], frames: list[bytes]) -> None:
        self.port, self.frames = port, frames
        self.waiting: dict[tuple[object, ...], deque[tuple[Place, Item]]] = {}
        self.peers: dict[int, Peer] = {}
        self.numbers: Counter[int] = Counter()  # of packets sent, by SPI
        self.gaps: Counter[int] = Counter()  # numbers that no wire will see, by SPI
        # of packets that were for the limit to judge, by SPI
        self.counted: Counter[int] = Counter()
        self.lapsed: set[Place] = set()
        # Lost packets of an SA with a hard limit, by SPI: some came before the limit, the others
        # behind it, and no wire shows which.
        self.limits: dict[int, int] = {}
        self.unseen: dict[int, list[Place]] = {}
        self.identifications = Identifications()
        for index, outcome in enumerate(outcomes.get(port, [])):
            self._expect((outcome.fast, outcome.way), (port, index), outcome.sent)
        far = FAR[port]
        for index, outcome in enumerate(outcomes.get(far, [])):
            self._expect((outcome.fast, outcome.fast_back, outcome.way), (far, index), outcome.back)

    def _expect(self, order: tuple[object, ...], place: Place, items: tuple[Item, ...]) -> None:
        self.waiting.setdefault(order, deque()).extend((place, item) for item in items)
        for item in items:
            if not isinstance(item, Clear):
                self.limits[item.sa.spi] = item.sa.hard_limit
            if isinstance(item, Lost):
                self.gaps[item.sa.spi] += item.numbered
            elif not isinstance(item, Clear) and item.sa.spi not in self.peers:
                self.peers[item.sa.spi] = Peer(item.sa)

    def compare(self) -> tuple[Mismatch | None, set[Place]]:
        place = 0
        self._skip()
        while place < len(self.frames):
            taken, found = self._clear(place) or self._protected(place)
            if found and not self._unseen_count():
                return found, self.lapsed
            place += taken if not found else 0
            self._skip()
        while self._unseen_count():
            self._skip()
        left = [(came, text(item)) for queue in self.waiting.values() for came, item in queue]
        if left:
            came, wanted = min(left)
            return Mismatch(*came, wanted, f"no frame; {len(left)} are missing"), self.lapsed
        return None, self.lapsed

    def _skip(self) -> None:
        """Takes packets that are never seen from the heads of the queues."""
        for queue in self.waiting.values():
            while queue and not isinstance(queue[0][1], Clear):
                came, item = queue[0]
                assert not isinstance(item, Clear)
                spent = item.sa.hard_limit and self.counted[item.sa.spi] >= item.sa.hard_limit
                if not spent and not isinstance(item, Lost):
                    break
                queue.popleft()
                if spent:
                    self.lapsed.add(came)
                else:
                    self.unseen.setdefault(item.sa.spi, []).append(came)

    def _unseen_count(self) -> bool:
        """Counts lost packets of an SA as before its limit, as many as there is room for, if with
        them it is reached; whether there is such an SA."""
        for spi, places in self.unseen.items():
            room = self.limits[spi] - self.counted[spi]
            if self.limits[spi] and places and len(places) >= room:
                self.lapsed.update(places[room:])
                self.counted[spi] += room
                places.clear()
                return True
        return False

    def _clear(self, place: int) -> tuple[int, Mismatch | None] | None:
        for queue in self.waiting.values():
            if queue and isinstance(item := queue[0][1], Clear) and item.frame == self.frames[place]:
                queue.popleft()
                return 1, None
        return None

    def _protected(self, place: int) -> tuple[int, Mismatch | None]:
        """The ESP packet that begins at a place, with the next number of its SA, around the next
        packet in one order.

        Who overtook a packet that was lost with its number is not known: so the gap may
        be anywhere.
        """
        count = pieces.first_train(self.frames[place : place + MOST_PIECES])
        cut = self.frames[place : place + count]
        frame = cut[0] if count == 1 else pieces.whole(cut)
        spi, opened = self._open(frame) if frame else (0, None)
        for queue in self.waiting.values():
            if not opened or not queue:
                continue
            came, item = queue[0]
            if isinstance(item, Protected | Transported) and (item.sa.spi, item.payload) == (spi, opened.payload):
                queue.popleft()
                assert frame
                self._count(frame, spi)
                at, wrong = 14, ""
                if isinstance(item, Transported):
                    at, wrong = item.ip_at, transport_frame.fault(frame, item, opened)
                else:
                    wrong = black_frame.fault(frame, item, opened, self.identifications)
                if not wrong and max(len(piece) for piece in cut) > at + item.mtu:
                    wrong = f"no more than {item.mtu} bytes"
                if not wrong and count > 1:
                    wrong = pieces.fault(cut, frame[14:], item.mtu)
                if wrong:
                    seen = " ".join(piece.hex() for piece in cut)
                    return count, Mismatch(*came, f"{text(item)}: {wrong}", seen)
                return count, None
        heads = [(queue[0][0], text(queue[0][1])) for queue in self.waiting.values() if queue]
        came = min((came for came, _ in heads), default=(self.port, None))
        inside = f" around {opened.payload.hex()}" if opened else ""
        seen = f"frame {place}: {self.frames[place].hex()}{inside}"
        return count, Mismatch(*came, f"next of any order: {heads}", seen)

    def _open(self, frame: bytes) -> tuple[int, Opened | None]:
        """The SPI, and the packet inside if it is authentic under the next number."""
        esp = black_frame.esp_of(frame)
        if esp is None:
            return 0, None
        spi, low = int.from_bytes(esp[:4], "big"), int.from_bytes(esp[4:8], "big")
        peer, number = self.peers.get(spi), self.numbers[spi] + 1
        if peer is None or not number <= low <= number + self.gaps[spi] or not fits(peer.sa, len(esp)):
            return spi, None
        return spi, peer.open(esp, 0)

    def _count(self, frame: bytes, spi: int) -> None:
        """An authentic packet has its number, which is the next or one behind a gap."""
        esp = black_frame.esp_of(frame)
        assert esp
        number = int.from_bytes(esp[4:8], "big")
        self.gaps[spi] -= number - self.numbers[spi] - 1
        self.numbers[spi] = number
        self.counted[spi] += 1


def text(item: Item) -> str:
    if isinstance(item, Clear):
        return item.frame.hex()
    if isinstance(item, Lost):
        return f"a packet of spi {item.sa.spi:#x} that is lost"
    return f"ESP spi {item.sa.spi:#x} {item.sa.suite_name} around {item.payload.hex()}"
