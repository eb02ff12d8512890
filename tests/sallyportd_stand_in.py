"""A stand-in of sallyportd for those who speak to its control socket: it answers as docs/interfaces.md, section 6, says, refuses whatever is
not said there, and has no chips. What it was told stays when it stops, and is there when it starts again."""

from __future__ import annotations

import json
import os
import random
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ike_words import Policy, Refused, State, Words, policy, policy_name, state, state_name

FIELDS = {
    "batch": {"lines"},
    "alloc-spi": {"src", "dst", "min", "max"},
    "query-state": {"src", "dst", "proto", "spi"},
    "query-policy": {"src", "dst", "dir"},
    "monitor": set(),
}
SELECTOR = {"proto", "sport", "dport", "type", "code"}


def nothing_refused(_: str) -> None:
    """What a stand-in objects to, unless a test says otherwise."""


class StandIn:
    """The daemon. `wait` waits until something is so; `refuse` may object to a line of a batch with a sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.states: dict[tuple[str, int], State] = {}
        self.policies: dict[tuple[tuple[str, str], ...], Policy] = {}
        self.lines: list[str] = []  # of batches that were carried out
        self.requests: list[str] = []  # by `do`
        self.usage = {"bytes": 0, "packets": 0, "use_time": 0}  # of any SA, outbound or inbound
        self.refuse: Callable[[str], str | None] = nothing_refused
        self._spis: set[int] = set()
        self._random = random.Random(str(path))
        self._changed = threading.Condition()
        self._monitors: list[socket.socket] = []
        self._connections: list[socket.socket] = []
        self._server: socketserver.ThreadingUnixStreamServer | None = None

    def start(self) -> None:
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                outer._serve(self.connection, self.rfile)

        self.path.unlink(missing_ok=True)
        self._server = socketserver.ThreadingUnixStreamServer(str(self.path), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        """Goes away in the middle of everything, as a killed daemon does."""
        if self._server is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self.path.unlink()
        with self._changed:
            for connection in self._connections:
                with suppress(OSError):  # gone already
                    connection.shutdown(socket.SHUT_RDWR)
            self._connections.clear()
            self._monitors.clear()
        self._server = None

    def wait(self, condition: Callable[[], object], seconds: float = 30) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: bool(condition()), seconds), (
                f"never came: {self.states}\n{self.policies}\n{self.lines[-5:]}"
            )

    def wait_until_empty(self) -> None:
        self.wait(lambda: not self.states and not self.policies)

    def emit(self, **event: object) -> None:
        """Sends an event to every monitor, of which there must be one."""
        self.wait(lambda: self._monitors)
        with self._changed:
            for monitor in self._monitors:
                monitor.sendall(json.dumps(event).encode() + b"\n")

    def only(self, direction: str) -> State:
        """The one SA of a direction."""
        (found,) = [s for s in self.states.values() if s.dir == direction]
        return found

    def policy(self, direction: str) -> Policy:
        """The one policy of a direction."""
        (found,) = [p for p in self.policies.values() if p["dir"] == direction]
        return found

    def _serve(self, connection: socket.socket, lines: Any) -> None:
        with self._changed:
            self._connections.append(connection)
        try:
            for line in lines:
                request = json.loads(line)
                with self._changed:
                    try:
                        answer = self._answer(request) | {"ok": True}
                    except (Refused, KeyError, ValueError) as wrong:
                        answer = {"ok": False, "error": f"{wrong}"}
                    self.requests.append(request.get("do"))
                    connection.sendall(json.dumps({"id": request["id"]} | answer).encode() + b"\n")
                    if request.get("do") == "monitor":
                        self._monitors.append(connection)
                    self._changed.notify_all()
        except OSError:
            pass  # stopped

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        do = request["do"]
        given = set(request) - {"id", "do"}
        allowed = FIELDS[do] | (SELECTOR if do == "query-policy" else set())
        if not FIELDS[do] <= given <= allowed:
            raise Refused(f"{do} has the fields {sorted(given)}")
        if do == "batch":
            self._batch(request["lines"])
        elif do == "alloc-spi":
            spi = self._random.choice(
                [n for n in self._random.choices(range(request["min"], request["max"] + 1), k=9) if n not in self._spis]
            )
            self._spis.add(spi)
            return {"spi": spi}
        elif do == "query-state":
            sa = self.states[request["dst"], request["spi"]]
            if (sa.src, request["proto"]) != (request["src"], "esp"):
                raise Refused("no such SA")
            return self.usage | {"add_time": int(time.time()), "seq": 0}
        elif do == "query-policy":
            words = Words(" ".join(f"{w} {request[w]}" for w in ("src", "dst", *sorted(given & SELECTOR), "dir")))
            return {"use_time": self.usage["use_time"] if self.policies[policy_name(words)] else 0}
        return {}

    def _batch(self, lines: list[str]) -> None:
        states, policies = dict(self.states), dict(self.policies)
        for line in lines:
            if reason := self.refuse(line):
                raise Refused(reason)
            words = Words(line)
            words.expect("xfrm")
            what, verb = words.expect("state", "policy"), words.take()
            match what, verb:
                case "state", "add":
                    sa = state(words)
                    if (sa.dst, sa.spi) in states:
                        raise Refused("the SA exists")
                    if sa.dir == "in" and sa.spi not in self._spis:
                        raise Refused("an inbound SPI that was not allocated")
                    states[sa.dst, sa.spi] = sa
                case "state", "delete":
                    _, dst, spi = state_name(words)
                    del states[dst, spi]
                case "policy", "update":
                    one = policy(words)
                    policies[one.name] = one
                case "policy", "delete":
                    del policies[policy_name(words)]
                case _:
                    raise Refused(f"{what} {verb}")
        self.states, self.policies = states, policies
        self.lines += lines


def stand_in(folder: Path, name: str) -> StandIn:
    """A started one. Paths of sockets are short, so that they fit."""
    path = Path(os.path.relpath(folder / f"{name}.sock")) if len(str(folder)) > 80 else folder / f"{name}.sock"
    made = StandIn(path.resolve() if len(str(path.resolve())) < 100 else path)
    made.start()
    return made
