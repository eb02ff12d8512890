# SPDX-License-Identifier: Apache-2.0
"""The client's end of vfio-user, by the numbers of its specification, and a box of one's own behind
the server."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sallyport.pcie.box import ALL_ONES, Box
from sallyport.pcie.card import Card
from sallyport.pcie.config_space import ConfigSpace
from sallyport.pcie.identity import identity
from sallyport.pcie.session import Session
from sallyport.pcie.wire import Channel, ConnectionEnds

VERSION, DMA_MAP, DMA_UNMAP, INFO, REGION_INFO, IRQ_INFO, SET_IRQS, READ, WRITE, RESET = 1, 2, 3, 4, 5, 7, 8, 9, 10, 13
BAR0, CONFIG = 0, 7
HEADER = 16
PROPOSAL = b'{"capabilities": {"max_msg_fds": 8, "max_data_xfer_size": 1048576}}\0'
VCU1525 = 1
WAIT_S = 20


class FakeBox(Box):
    """Registers in a dictionary; those that are not there fail."""

    def __init__(self) -> None:
        self.registers: dict[tuple[str, int], int] = {}
        self.accesses = 0

    def read(self, chip: str, address: int) -> int | None:
        self.accesses += 1
        return self.registers.get((chip, address), ALL_ONES)

    def write(self, chip: str, address: int, value: int) -> None:
        self.accesses += 1
        self.registers[chip, address] = value


@dataclass(frozen=True)
class Reply:
    identifier: int
    command: int
    flags: int
    error: int
    payload: bytes


class Client:
    """A connection, and what the server said of its end."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.ends: list[str] = []
        self.gone = threading.Event()

    def send(self, command: int, payload: bytes = b"", flags: int = 0, identifier: int = 7) -> None:
        self.raw(struct.pack("=HHIII", identifier, command, HEADER + len(payload), flags, 0) + payload)

    def raw(self, data: bytes) -> None:
        self.connection.sendall(data)

    def reply(self) -> Reply | None:
        """The next one; None at the end of the connection."""
        header = self._exactly(HEADER)
        if not header:
            return None
        identifier, command, size, flags, error = struct.unpack("=HHIII", header)
        return Reply(identifier, command, flags, error, self._exactly(size - HEADER))

    def _exactly(self, count: int) -> bytes:
        data = b""
        # A server that leaves with something unread resets the connection.
        with contextlib.suppress(ConnectionResetError):
            while len(data) < count and (more := self.connection.recv(count - len(data))):
                data += more
        return data

    def ask(self, command: int, payload: bytes = b"") -> Reply:
        self.send(command, payload)
        reply = self.reply()
        assert reply and (reply.identifier, reply.command) == (7, command), (reply, self.ends)
        return reply

    def get(self, command: int, payload: bytes = b"") -> bytes:
        """The payload of a reply that is no error."""
        reply = self.ask(command, payload)
        assert (reply.flags, reply.error) == (1, 0), reply
        return reply.payload

    def read(self, region: int, offset: int, count: int) -> bytes:
        asked = struct.pack("=QII", offset, region, count)
        payload = self.get(READ, asked)
        assert payload[:16] == asked
        return payload[16:]

    def write(self, region: int, offset: int, data: bytes) -> None:
        asked = struct.pack("=QII", offset, region, len(data))
        assert self.get(WRITE, asked + data) == asked

    def word(self, offset: int) -> int:
        return int.from_bytes(self.read(BAR0, offset, 4), "little")


@contextmanager
def connected(box: Box | None = None, chip: str = "crypto", agreed: bool = True) -> Iterator[Client]:
    """A client of the crypto card; with the version agreed and memory space on, unless it is to
    begin itself."""
    near, far = socket.socketpair()
    near.settimeout(WAIT_S)
    client = Client(near)
    config = ConfigSpace(identity(VCU1525, chip))
    card = Card(chip, box or FakeBox(), client.ends.append)

    def serve() -> None:
        with far:
            try:
                Session(Channel(far), card, config, client.gone).run()
            except ConnectionEnds as end:
                client.ends.append(str(end))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        if agreed:
            client.get(VERSION, struct.pack("=HH", 0, 0) + PROPOSAL)
            client.write(CONFIG, 4, b"\x02\0")
        yield client
    finally:
        near.close()
        thread.join(WAIT_S)
        assert not thread.is_alive()
