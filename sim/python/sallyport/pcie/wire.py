# SPDX-License-Identifier: Apache-2.0
"""Frames of vfio-user on a Unix socket: the header of a message, its length, its answer. The source
is QEMU's specification, docs/interop/vfio-user.rst, whose names are used here.

A message has 4,128 bytes at most, and no more is read before its length is known. File descriptors
that come with a message are closed by the kernel, since no call here asks for them.
"""

from __future__ import annotations

import errno
import socket
import struct
from dataclasses import dataclass

# Message ID, command, size, flags, error; in the host's byte order.
HEADER = struct.Struct("=HHIII")
MAX_DATA = 4096  # bytes of one read or write: all of a configuration space
MAX_MESSAGE = HEADER.size + 16 + MAX_DATA

TYPE, COMMAND, REPLY = 0xF, 0, 1
NO_REPLY, ERROR = 1 << 4, 1 << 5


class ConnectionEnds(Exception):
    """The stream cannot be trusted any more, or is over; the message is one sentence about the
    client."""


class Refused(Exception):
    """One message cannot be done: its reply has this error number, and the connection goes on."""

    def __init__(self, number: int = errno.EINVAL) -> None:
        super().__init__(errno.errorcode[number])
        self.number = number


@dataclass(frozen=True)
class Message:
    """A command of the client's."""

    identifier: int
    command: int
    wants_reply: bool
    payload: bytes


class Channel:
    """A connection with one client."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def receive(self) -> Message | None:
        """The next command; None at the end of the connection. [ConnectionEnds] if the header is
        none, or the message too long."""
        header = self._read(HEADER.size)
        if not header:
            return None
        identifier, command, size, flags, _ = HEADER.unpack(header)
        if not HEADER.size <= size <= MAX_MESSAGE:
            raise ConnectionEnds(
                f"it sent a message of {size} bytes, and one has {HEADER.size} to {MAX_MESSAGE}: reads and writes must "
                f"have at most {MAX_DATA} bytes each"
            )
        if flags & TYPE != COMMAND:
            raise ConnectionEnds(f"it sent a message of type {flags & TYPE}, where only commands (0) are expected")
        payload = self._read(size - HEADER.size)
        if len(payload) < size - HEADER.size:
            raise ConnectionEnds("it left in the middle of a message")
        return Message(identifier, command, not flags & NO_REPLY, payload)

    def _read(self, count: int) -> bytes:
        """So many bytes; none at the end of the connection."""
        data = b""
        while len(data) < count:
            try:
                more = self._connection.recv(count - len(data))
            except ConnectionError:
                more = b""
            if not more:
                if data:
                    raise ConnectionEnds("it left in the middle of a message")
                break
            data += more
        return data

    def reply(self, message: Message, payload: bytes) -> None:
        self._send(message, REPLY, 0, payload)

    def refuse(self, message: Message, number: int) -> None:
        """Answer with an error number of Unix, and no payload."""
        self._send(message, REPLY | ERROR, number, b"")

    def _send(self, message: Message, flags: int, number: int, payload: bytes) -> None:
        if not message.wants_reply:
            return
        size = HEADER.size + len(payload)
        try:
            self._connection.sendall(HEADER.pack(message.identifier, message.command, size, flags, number) + payload)
        except OSError as error:
            raise ConnectionEnds("it left before its answer") from error
