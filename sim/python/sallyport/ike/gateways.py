# SPDX-License-Identifier: Apache-2.0
"""Two gateways under a test of IKE, and the tester between which they stand: the one interface
between the measures and a simulation or a lab."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sallyport.backend import Setup, TrialResult
from sallyport.errors import CheckFailed
from sallyport.ike.charon import NO_COOKIES
from sallyport.ike.connections import connections
from sallyport.ike.flooding import Flood

POLL_S = 0.05  # between two questions to a gateway
POLICIES = 2  # that the plugin has a box install for a tunnel: out and in
Done = TypeVar("Done")


class Gateway(Protocol):
    """One of the two: a box, the sallyportd that owns it, and charon."""

    side: int  # 0 or 1

    def load(self, text: str) -> None:
        """Give charon these connections and secrets (swanctl.conf), in place of all that it had."""
        ...

    def rekey(self, children: Sequence[str]) -> None:
        """Order a rekey of each of these CHILD_SAs."""
        ...

    def spis(self) -> set[str]:
        """Those of all SAs of the box."""
        ...

    def policies(self) -> int:
        """How many the box has."""
        ...

    def up(self) -> int:
        """Tunnels whose SAs and policies the box has."""
        ...

    def packets(self) -> dict[str, tuple[int, int]]:
        """By each CHILD_SA's name, packets in and out, as the box counted them for charon."""
        ...

    def said_at(self, pattern: str, after: float = 0.0) -> float | None:
        """When charon first said that since `after`, in seconds since the epoch; None: never."""
        ...

    def repeats(self) -> int:
        """Requests of IKE that charon has sent again."""
        ...


class OwnGateway(Gateway, Protocol):
    """One that this program has started, and may do with as it likes."""

    def half_open(self) -> int:
        """IKE_SAs that are not yet authenticated."""
        ...

    def replace(self) -> None:
        """It dies without a word, and another with a reset box stands in its place, without
        a connection."""
        ...


Kind = TypeVar("Kind", bound=Gateway, covariant=True)


@dataclass(frozen=True)
class Arrival:
    """Frames into a tunnel that was not there yet; none arrived if `result` says so."""

    result: TrialResult  # of all frames
    # When the first one was sent, and when the first one that arrived was, by the monotonic clock.
    began: float
    end: float
    clock: str  # of the time between them, as of a figure


class Boxes(Protocol):
    """The two gateways and the tester, whichever they are."""

    clock: str  # of times that traffic tells: "simulated" or "tester"

    def gateways(self) -> AbstractContextManager[Gateways[Gateway]]:
        """Both without a connection."""
        ...

    def each_tunnel(self, frames: int) -> TrialResult:
        """Send so many frames into each tunnel, each way, and wait for them."""
        ...

    def until_one_arrives(self, patience_s: float) -> Arrival:
        """Send frames behind box 0 into its first tunnel until one arrives, or so many seconds
        are over."""
        ...

    def load(self) -> TrialResult:
        """Load all tunnels for a while, and let software at the boxes meanwhile."""
        ...

    def loaded(self, work: Callable[[], Done]) -> tuple[list[TrialResult], Done]:
        """Load all tunnels, in one piece or several, while `work` runs; its result too."""
        ...

    def blocked_ns(self, calm: TrialResult, pieces: list[TrialResult]) -> float:
        """For how long traffic of `pieces` stood still, which that of `calm` did not."""
        ...


class OwnBoxes(Boxes, Protocol):
    """Boxes whose gateways this program starts."""

    def gateways(self, timers: str = "", cookies: int = NO_COOKIES) -> AbstractContextManager[Gateways[OwnGateway]]:
        """Both without a connection. `timers` are lines of strongswan.conf and `cookies` its
        threshold."""
        ...

    def flood(self, rate: int) -> AbstractContextManager[Flood]:
        """Requests of IKE to the far gateway, so many a second, that never go on, while the
        context lasts."""
        ...


class Gateways(Generic[Kind]):
    """Both, and how to wait for them. `near` initiates."""

    def __init__(self, setup: Setup, near: Kind, far: Kind) -> None:
        self.setup, self._near, self._far = setup, near, far

    @property
    def near(self) -> Kind:
        return self._near

    @property
    def far(self) -> Kind:
        return self._far

    def accept(self, peer: str = "") -> None:
        """Give the far one its connections; `peer` as of [connections]."""
        self.far.load(connections(self.setup, 1, peer=peer))

    def initiate(self, words: str = "start_action = start", options: str = "") -> None:
        """Give the near one its connections. `words` are lines of its children, which say who
        begins; `options` are lines of its connections."""
        self.near.load(connections(self.setup, 0, words, options))

    def up(self) -> int:
        """Tunnels whose SAs and policies both boxes have."""
        return min(self.near.up(), self.far.up())

    def spis(self) -> frozenset[str]:
        """Of the SAs of both boxes."""
        return frozenset(self.near.spis() | self.far.spis())

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
        return self.near.repeats() + self.far.repeats()
