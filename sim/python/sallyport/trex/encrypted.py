# SPDX-License-Identifier: Apache-2.0
"""Files of ESP for a box that decrypts: frames with the tester's keys and numbers that increase,
and a hostile sender's frames between them.

TRex's streams repeat their packets, and its field engine reaches the first 512 B of a packet alone,
so it cannot write an ICV behind more. But its server sends a file of any length (`push_remote`).
"""

from __future__ import annotations

import random
import struct
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path

from sallyport import limits
from sallyport.backend import Setup
from sallyport.backend_sim.attack import UNKNOWN_SPI
from sallyport.errors import InputError
from sallyport.trex import black, frames
from sallyport.trex.esp import MOST_NUMBERS, Association
from sallyport.trex.streams import Way
from sallyport.tunnels import Tunnels

WAY = 1  # of frames that enter the black port
# How many frames of an honest sender come before the copy of one: less than any window.
REPLAYED_AFTER = 16
MOST_KNOWN = 10_000  # packets of flows and sizes, which are kept while a file is made
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)  # of Ethernet frames
RECORD = 16  # bytes in front of each

Frame = tuple[bytes, int]  # and where ESP begins


class Sender:
    """The far gateway or hosts of a setup: SAs whose numbers go on from trial to trial."""

    def __init__(self, setup: Setup, tunnels: Tunnels, order: str, tag: int) -> None:
        """`tunnels` are those of the setup; `tag`: bytes that the red port's frames have of one, as
        a part of their size."""
        self._setup, self._order, self._tag = setup, order, tag
        self._sas = [Association(*each) for each in tunnels.keys(WAY)]
        self._numbers = [0] * len(self._sas)

    def room(self, count: int) -> bool:
        """Whether no SA can run out of numbers in so many frames."""
        return max(self._numbers) + count < MOST_NUMBERS

    def frames(self, mix: dict[int, int], way: Way, count: int) -> Iterator[Frame]:
        """So many frames, of the sizes of the mix in its shares, spread over the SAs."""
        setup, source = self._setup, random.Random(self._setup.seed)

        @lru_cache(maxsize=MOST_KNOWN)
        def carried(number: int, size: int) -> tuple[bytes, int]:
            length = size - limits.ETHERNET_BYTES - self._tag
            return black.carried(setup, frames.packet(WAY, number, setup.ip, length))

        sizes = [size for size, weight in mix.items() for _ in range(weight)]
        source.shuffle(sizes)
        for at, size in enumerate(islice(cycle(sizes), count)):
            number = source.randrange(len(self._sas)) if self._order == "random" else at % len(self._sas)
            self._numbers[number] += 1
            esp = self._sas[number].seal(self._numbers[number], *carried(number, size))
            yield black.frame(setup, way, number, esp)


def attacked(honest: Iterator[Frame], kind: str) -> Iterator[bytes]:
    """Each honest frame with a hostile one beside it (RFC 4303 3.4.2 to 3.4.4)."""
    recent: deque[bytes] = deque(maxlen=REPLAYED_AFTER)
    for frame, start in honest:
        recent.append(frame)
        if kind == "replay":
            yield frame
            yield recent[0]
        elif kind == "bad-icv":  # of a number that the honest frame still needs
            yield frame[:-1] + bytes((frame[-1] ^ 1,))
            yield frame
        else:
            yield frame[:start] + UNKNOWN_SPI.to_bytes(4, "big") + frame[start + 4 :]
            yield frame


def length(setup: Setup, way: Way, count: int, parts: int) -> int:
    """Bytes of the file of so many honest frames, at most."""
    weight = sum(setup.mix.values())
    tag = frames.VLAN if way.vlan else 0
    outer = sum(
        part * max(limits.esp_frame_bytes(size, suite, setup.mode, setup.ip, setup.nat_t) for suite in setup.suites)
        for size, part in setup.mix.items()
    )
    return len(PCAP_HEADER) + parts * count * (outer // weight + 1 - frames.FCS + tag + RECORD)


def write(file: Path, sent: Iterator[bytes]) -> None:
    """The frames as a capture file; [InputError] if it cannot be written."""
    try:
        with file.open("wb") as out:
            out.write(PCAP_HEADER)
            for frame in sent:
                out.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror}); name another folder as trex.captures") from None
