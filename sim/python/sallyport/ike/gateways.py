# SPDX-License-Identifier: Apache-2.0
"""Two gateways under a test of IKE: each a box, the sallyportd that owns it, and charon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sallyport.backend import Setup, TrialResult
from sallyport.errors import CheckFailed
from sallyport.ike.charon import NO_COOKIES, Charon
from sallyport.ike.connections import connections
from sallyport.ike.daemon import Daemon
from sallyport.ike.spaces import Space, cabled
from sallyport.tunnels import BLACK, BLACK_PREFIX

POLL_S = 0.05  # between two questions to a daemon
POLICIES = 2  # that the plugin has a box install for a tunnel: out and in


class Boxes(Protocol):
    """The two boxes and the tester between which they stand, whichever they are."""

    def registers(self, box: int) -> Path:
        """Where a box's registers answer."""
        ...

    def configure(self, box: int) -> list[str]:
        """The lines that give a new box its addresses and next hops."""
        ...

    def reset(self, box: int) -> None:
        """The chips of a box lose all that they hold."""
        ...

    def each_tunnel(self, frames: int) -> TrialResult:
        """Send so many frames into each tunnel, each way, and wait for them."""
        ...

    def one_frame(self) -> TrialResult:
        """Send one frame behind box 0 into its first tunnel."""
        ...

    def load(self) -> TrialResult:
        """Load all tunnels for a while, and let software at the registers meanwhile."""
        ...


class Gateway:
    """One of the two. It may die, and then another stands in its place."""

    def __init__(self, side: int, space: Space, boxes: Boxes, folder: Path, timers: str, cookies: int) -> None:
        self.side, self.space, self._boxes, self._folder = side, space, boxes, folder
        self._timers, self._cookies, self._lives = timers, cookies, 0
        self.start()

    def start(self) -> None:
        """A daemon with a configured box, and charon without a connection."""
        folder = self._folder / f"{'ab'[self.side]}{self._lives}"
        self._lives += 1
        folder.mkdir()
        self.daemon = Daemon(self._boxes.registers(self.side), folder / "daemon", self.space)
        try:
            self.daemon.wait_until_ready()
            for line in self._boxes.configure(self.side):
                self.daemon.ask("command", words=line.split())
            self.charon = Charon(folder / "charon", self.space, self.daemon.control, self._timers, self._cookies)
        except BaseException:
            self.daemon.kill()
            raise

    def die(self) -> None:
        """Charon and the daemon are killed."""
        self.charon.kill()
        self.daemon.kill()


class Gateways:
    """Both, and how to wait for them. `near` initiates."""

    def __init__(self, setup: Setup, boxes: Boxes, near: Gateway, far: Gateway) -> None:
        self.setup, self.boxes, self.near, self.far = setup, boxes, near, far

    def accept(self, peer: str = "") -> None:
        """Give the far one its connections; `peer` as of [connections]."""
        self.far.charon.load(connections(self.setup, 1, peer=peer))

    def initiate(self, words: str = "start_action = start", options: str = "") -> None:
        """Give the near one its connections. `words` are lines of its children, which say who
        begins; `options` are lines of its connections."""
        self.near.charon.load(connections(self.setup, 0, words, options))

    def up(self) -> int:
        """Tunnels whose SAs and policies both boxes have."""
        return min(
            min(len(each.spis()) // 2, each.policies() // POLICIES) for each in (self.near.daemon, self.far.daemon)
        )

    def spis(self) -> frozenset[str]:
        """Of the SAs of both boxes."""
        return frozenset(self.near.daemon.spis() | self.far.daemon.spis())

    def wait_until(self, true: Callable[[], bool], seconds: float) -> bool:
        """Whether it came true in so many seconds."""
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                return False
            time.sleep(POLL_S)
        return True

    def establish(self, seconds: float, words: str = "start_action = start", options: str = "") -> None:
        """All tunnels, with lines as of `initiate`; [CheckFailed] if some do not come up in so many
        seconds."""
        self.accept()
        self.initiate(words, options)
        if not self.wait_until(lambda: self.up() >= self.setup.sas, seconds):
            raise CheckFailed(f"{self.up()} of {self.setup.sas} tunnels came up in {seconds:.0f} s")

    def repeats(self) -> int:
        """Requests of IKE that either sent again."""
        return self.near.charon.repeats() + self.far.charon.repeats()


@contextmanager
def gateways(
    setup: Setup, boxes: Boxes, folder: Path, timers: str = "", cookies: int = NO_COOKIES
) -> Iterator[Gateways]:
    """Both gateways without a connection, in an empty folder; they end with the context. `timers`
    are lines of both strongswan.conf."""
    ip = setup.ip
    with cabled((str(BLACK[ip][0]), str(BLACK[ip][1])), BLACK_PREFIX[ip]) as spaces:
        made: list[Gateway] = []
        try:
            for side, space in enumerate(spaces):
                made.append(Gateway(side, space, boxes, folder, timers, cookies))
            yield Gateways(setup, boxes, *made)
        finally:
            for each in made:
                each.die()
