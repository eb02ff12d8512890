# SPDX-License-Identifier: Apache-2.0
"""What becomes of one frame: the counters that rise, and the frame that is punted or sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .ethernet import Frame
from .priority import is_control
from .reassembly import JOINED, STRAIGHT, WAITED, Step
from .sa import Sa
from .upper import Upper

# In front of the reason why the CPU gets a packet between tunnels.
HAIRPIN = "hairpin"
# The order of frames that pass those on the straight way at their port.
AHEAD = "ahead"


@dataclass(frozen=True)
class Clear:
    """A frame that leaves as it is written here."""

    frame: bytes


@dataclass(frozen=True)
class Protected:
    """An ESP packet that leaves: of this SA, around this IP packet, behind an outer header with
    these fields.

    It leaves in pieces if it is longer than `mtu`.
    """

    sa: Sa
    payload: bytes
    tos: int
    dont_fragment: bool
    mac: str
    mtu: int

    @property
    def next_header(self) -> int:
        return 41 if self.payload[0] >> 4 == 6 else 4


@dataclass(frozen=True)
class Transported:
    """The same in transport mode: around this payload, behind `head`, Ethernet and IP header as
    they came; IP begins `ip_at`."""

    sa: Sa
    payload: bytes
    next_header: int
    head: bytes
    ip_at: int
    mtu: int


@dataclass(frozen=True)
class Lost:
    """A packet that counts for an SA but leaves at no port; `numbered`: it has used up a
    sequence number."""

    sa: Sa
    numbered: bool = False


Item = Clear | Protected | Transported | Lost


@dataclass(frozen=True)
class Outcome:
    """`counters` are "chip.name", of sending, punting and dropping, and of cutting and
    putting together.

    `back`: what leaves by the port where the packet came in, `fast_back` its class there.

    `fast` and `way` say which order it keeps (docs/explanation/crypto-chip.md, Order; [reassembly],
    AHEAD). `whole`: the frame that is punted, if not the one that came. `delivered`: reason and
    frame of each that the far chip gives the CPU; `network` is that of either. `lapsed`: `counters`
    if its SA has reached its hard limit before.

    `later`: it waits for the first fragment of its datagram; called when all frames have come, it
    says what becomes of it, or None if it waits on.
    """

    counters: tuple[str, ...]
    punt: str = ""
    sent: tuple[Item, ...] = ()
    back: tuple[Item, ...] = ()
    fast: bool = True
    fast_back: bool = True
    way: str = STRAIGHT
    whole: bytes = b""
    lapsed: tuple[str, ...] = ()
    delivered: tuple[tuple[str, bytes], ...] = ()
    network: int = 0
    later: Callable[[], Outcome | None] | None = None


def behind(step: Step, chip: str, judge: Callable[[Frame, Upper | None], Outcome]) -> Outcome:
    """What becomes of a frame that has been where fragments are judged or put together."""
    counters = tuple(f"{chip}.{counter}" for counter in step.counters)
    if step.frame is None:
        return Outcome(counters)
    outcome = ends(f"{chip}.{step.punt}") if step.punt else judge(step.frame, step.upper)
    return _behind(step, counters, step.frame, outcome)


def _behind(step: Step, counters: tuple[str, ...], frame: Frame, outcome: Outcome) -> Outcome:
    if outcome.later:
        later = outcome.later
        return Outcome((), later=lambda: (settled := later()) and _behind(step, counters, frame, settled))
    kept = outcome.way.startswith((JOINED, WAITED))
    if step.way == STRAIGHT:
        return replace(outcome, way=AHEAD) if is_control(frame) and not kept else outcome
    return replace(
        outcome,
        counters=(*counters, *outcome.counters),
        lapsed=(*counters, *outcome.lapsed) if outcome.lapsed else (),
        way=outcome.way if kept else step.way,
        whole=outcome.whole or frame.data,
    )


def ends(counter: str, before: tuple[str, ...] = ()) -> Outcome:
    """Dropped or punted under a counter, behind chips that have sent it on."""
    name = counter.split(".")[1]
    return Outcome((*before, counter), punt=name.removeprefix("punt_") if name.startswith("punt_") else "")
