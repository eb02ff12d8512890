# SPDX-License-Identifier: Apache-2.0
"""A relay between charon and a sallyportd. It notes requests, refuses some that the chips would
take, and tells of events that did not happen."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def nothing_refused(_: str) -> None:
    """The requests that it refuses, unless a test says otherwise."""


def nothing_lost(_: str) -> bool:
    """Each answer reaches charon, unless a test says otherwise."""
    return False


class Relay:
    """Answers at `path` what the daemon at `upstream` does (docs/reference/control-socket.md).
    `refuse` may object to a line of a batch with a sentence; then the daemon does not hear of
    the batch. Of a line that `lose` names, charon does not hear the answer."""

    def __init__(self, path: Path, upstream: Path) -> None:
        self.path, self._upstream = path, upstream
        self.lines: list[str] = []  # of batches that were carried out
        self.refuse: Callable[[str], str | None] = nothing_refused
        self.lose: Callable[[str], bool] = nothing_lost
        self.lock = threading.Lock()  # held while a request is carried out and noted
        self._monitors: list[socket.socket] = []
        self._connections: list[socket.socket] = []
        self._server: socketserver.ThreadingUnixStreamServer | None = None

    def start(self) -> None:
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                # one of them has gone
                with suppress(OSError), socket.socket(socket.AF_UNIX) as daemon:
                    daemon.connect(str(outer._upstream))
                    outer._serve(self.connection, self.rfile, daemon)

        self._server = socketserver.ThreadingUnixStreamServer(str(self.path), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        """The relay stops listening at `path`, and every connection ends."""
        if self._server is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._server = None
        self.path.unlink()
        with self.lock:
            for connection in self._connections:
                with suppress(OSError):  # gone already
                    connection.shutdown(socket.SHUT_RDWR)
            self._connections.clear()
            self._monitors.clear()

    def emit(self, **event: object) -> int:
        """Sends an event to every monitor; how many there are."""
        with self.lock:
            for monitor in self._monitors:
                monitor.sendall(json.dumps(event).encode() + b"\n")
            return len(self._monitors)

    def _serve(self, charon: socket.socket, requests: Any, daemon: socket.socket) -> None:
        with self.lock:
            self._connections += [charon, daemon]
        answers = daemon.makefile("rb")
        for line in requests:
            request = json.loads(line)
            reasons = [reason for words in request.get("lines", []) if (reason := self.refuse(words))]
            with self.lock:
                if reasons:
                    answer = json.dumps({"id": request["id"], "ok": False, "error": reasons[0]}).encode() + b"\n"
                else:
                    daemon.sendall(line)
                    answer = answers.readline()
                if not answer:
                    return
                if json.loads(answer)["ok"]:
                    self.lines += request.get("lines", [])
                if any(self.lose(words) for words in request.get("lines", [])):
                    return
                charon.sendall(answer)
            if request["do"] == "monitor":
                self._monitor(charon, answers)
                return

    def _monitor(self, charon: socket.socket, events: Any) -> None:
        with self.lock:
            self._monitors.append(charon)
        for event in events:
            with self.lock:
                charon.sendall(event)
