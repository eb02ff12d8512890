# SPDX-License-Identifier: Apache-2.0
"""The management CPU's end of a simulated box's punt and inject streams
(docs/reference/simulator-sockets.md), answering as a test says."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet

RED, BLACK = 0, 1
HEADER = struct.Struct("!BBBxHxxQ")
LONGEST = 16 + 9600


@dataclass(frozen=True)
class Punted:
    """A message of the engine's: the header's numbers, and the frame behind it."""

    port: int
    reason: int
    group: int
    cycles: int
    frame: bytes

    @classmethod
    def read(cls, message: bytes) -> Punted:
        port, reason, group, length, cycles = HEADER.unpack_from(message)
        assert length == len(message) - HEADER.size
        return cls(port, reason, group, cycles, message[HEADER.size :])


@dataclass
class FramesClient:
    """Hands every punted frame to `answer`, and injects what that gives into the port it came from,
    until closed."""

    path: Path
    answer: Callable[[Punted], Packet | None]
    seen: list[Punted] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.connect(str(self.path))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while message := self._socket.recv(LONGEST):
            punted = Punted.read(message)
            self.seen.append(punted)
            answer = self.answer(punted)
            if answer is not None:
                self._socket.send(bytes([punted.port]) + bytes(answer))

    def wait_for(self, reason: int, seconds: float) -> Punted:
        """The first frame that was punted for this reason."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for punted in list(self.seen):
                if punted.reason == reason:
                    return punted
            time.sleep(0.05)
        raise AssertionError(f"no frame with reason {reason} among {self.seen}")

    def close(self) -> None:
        """Ends the connection."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()


def arp_reply(frame: bytes, mac: str, address: str) -> Packet | None:
    """What a host with this address says to a request for it; None to any other frame."""
    asked = Ether(frame)
    if ARP not in asked or asked[ARP].op != 1 or asked[ARP].pdst != address:
        return None
    reply = ARP(op=2, hwsrc=mac, psrc=address, hwdst=asked[ARP].hwsrc, pdst=asked[ARP].psrc)
    return Ether(src=mac, dst=asked.src) / reply
