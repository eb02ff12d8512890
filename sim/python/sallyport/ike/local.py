# SPDX-License-Identifier: Apache-2.0
"""Gateways on this machine: for each box a sallyportd and Debian's charon in a namespace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sallyport.backend import Setup
from sallyport.ike.charon import Charon
from sallyport.ike.daemon import Daemon
from sallyport.ike.gateways import POLICIES
from sallyport.ike.spaces import Space, cabled
from sallyport.tunnels import BLACK, BLACK_PREFIX


class Chips(Protocol):
    """The chips of both boxes."""

    def registers(self, box: int) -> Path:
        """Where a box's registers answer."""
        ...

    def configure(self, box: int) -> list[str]:
        """The lines that give a new box its addresses and next hops."""
        ...

    def reset(self, box: int) -> None:
        """The chips of a box lose all that they hold."""
        ...


class LocalGateway:
    """[sallyport.ike.gateways.OwnGateway]. It may die, and then another stands in its place."""

    def __init__(self, side: int, space: Space, chips: Chips, folder: Path, timers: str, cookies: int) -> None:
        self.side, self.space, self._chips, self._folder = side, space, chips, folder
        self._timers, self._cookies, self._lives = timers, cookies, 0
        self._start()

    def _start(self) -> None:
        """A daemon with a configured box, and charon without a connection."""
        folder = self._folder / f"{'ab'[self.side]}{self._lives}"
        self._lives += 1
        folder.mkdir(parents=True)
        self.daemon = Daemon(self._chips.registers(self.side), folder / "daemon", self.space)
        try:
            self.daemon.wait_until_ready()
            for line in self._chips.configure(self.side):
                self.daemon.ask("command", words=line.split())
            self.charon = Charon(folder / "charon", self.space, self.daemon.control, self._timers, self._cookies)
        except BaseException:
            self.daemon.kill()
            raise

    def load(self, text: str) -> None:
        self.charon.load(text)

    def rekey(self, children: Sequence[str]) -> None:
        for child in children:
            self.charon.swanctl("--rekey", "--child", child)

    def spis(self) -> set[str]:
        return self.daemon.spis()

    def policies(self) -> int:
        return self.daemon.policies()

    def up(self) -> int:
        return min(len(self.spis()) // 2, self.policies() // POLICIES)

    def packets(self) -> dict[str, tuple[int, int]]:
        return self.charon.packets()

    def said_at(self, pattern: str, after: float = 0.0) -> float | None:
        return self.charon.said_at(pattern, after)

    def repeats(self) -> int:
        return self.charon.repeats()

    def half_open(self) -> int:
        return self.charon.half_open()

    def replace(self) -> None:
        self.die()
        self._chips.reset(self.side)
        self._start()

    def die(self) -> None:
        """Charon and the daemon are killed."""
        self.charon.kill()
        self.daemon.kill()


@contextmanager
def local(setup: Setup, chips: Chips, folder: Path, timers: str, cookies: int) -> Iterator[list[LocalGateway]]:
    """Both gateways without a connection, in folders of their own in `folder`; they end with the
    context. `timers` are lines of both strongswan.conf, `cookies` is their threshold."""
    ip = setup.ip
    with cabled((str(BLACK[ip][0]), str(BLACK[ip][1])), BLACK_PREFIX[ip]) as spaces:
        made: list[LocalGateway] = []
        try:
            for side, space in enumerate(spaces):
                made.append(LocalGateway(side, space, chips, folder, timers, cookies))
            yield made
        finally:
            for each in made:
                each.die()
