# SPDX-License-Identifier: Apache-2.0
"""Runs in a guest: the sockets of a simulated box (docs/reference/simulator-sockets.md). Each
client has a TCP connection to the test. `guest_sockets.py FOLDER PORT PORT` is for registers and
frames. It needs Python's own library alone, and the test imports `join` from it."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

TEST = "10.0.2.2"  # as QEMU's user network has it
LONGEST = 65536


class Messages:
    """Messages in a TCP connection, each behind its length."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._file = connection.makefile("rb")

    def send(self, message: bytes) -> None:
        self._connection.sendall(len(message).to_bytes(4, "big") + message)

    def recv(self) -> bytes:
        """The next one; empty at the end of the connection."""
        return self._file.read(int.from_bytes(self._file.read(4), "big"))


def pump(receive: Callable[[], bytes], send: Callable[[bytes], object], *ends: socket.socket) -> None:
    """Hands data on until it ends; then both ends are shut down."""
    with contextlib.suppress(OSError):
        while data := receive():
            send(data)
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def join(near: socket.socket, far: socket.socket, messages: bool) -> None:
    """Joins a socket of Unix with a TCP connection, until one of them ends."""
    far.settimeout(None)
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    framed = Messages(far)
    receive, send = (framed.recv, framed.send) if messages else (lambda: far.recv(LONGEST), far.sendall)
    back = threading.Thread(target=pump, args=(receive, near.sendall, near, far))
    back.start()
    pump(lambda: near.recv(LONGEST), send, near, far)
    back.join()
    near.close()
    far.close()


def connected(port: int) -> socket.socket:
    """A connection to the test, as soon as the network of the guest is up."""
    while True:
        try:
            return socket.create_connection((TEST, port), 10)
        except OSError:
            time.sleep(0.5)


def serve(path: str, port: int, messages: bool) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if messages else socket.SOCK_STREAM) as listener:
        listener.bind(path)
        Path(path).chmod(0o666)
        listener.listen()
        while True:
            near, _ = listener.accept()
            threading.Thread(target=lambda near=near: join(near, connected(port), messages)).start()


def main(folder: str, registers: str, frames: str) -> None:
    threading.Thread(target=serve, args=(f"{folder}/box0.frames", int(frames), True)).start()
    serve(f"{folder}/box0.sock", int(registers), False)


if __name__ == "__main__":
    main(*sys.argv[1:])
