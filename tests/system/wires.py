# SPDX-License-Identifier: Apache-2.0
"""This machine's end of what a guest reaches by TCP: the sockets of a simulated box, and a folder
by HTTP."""

from __future__ import annotations

import functools
import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.system.guest_sockets import join


@dataclass(frozen=True)
class Ports:
    """Of this machine's loopback."""

    registers: int
    frames: int
    http: int


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def _box_socket(path: Path, messages: bool) -> Iterator[int]:
    """The port whose connections are clients of a socket of the box."""

    def serve() -> None:
        while True:
            try:
                far, _ = listener.accept()
            except OSError:
                return  # closed
            near = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if messages else socket.SOCK_STREAM)
            near.connect(str(path))
            threading.Thread(target=join, args=(near, far, messages), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def _web_server(folder: Path) -> Iterator[int]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


@contextmanager
def wires(box: Path, web: Path) -> Iterator[Ports]:
    """For the box whose registers answer at a path, and a folder."""
    with ExitStack() as stack:
        registers = stack.enter_context(_box_socket(box, False))
        frames = stack.enter_context(_box_socket(box.with_suffix(".frames"), True))
        yield Ports(registers, frames, stack.enter_context(_web_server(web)))
