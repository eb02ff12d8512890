"""What becomes of one frame: the counters that rise, and the frame that is punted or sent."""

from __future__ import annotations

from dataclasses import dataclass

from .sa import Sa


@dataclass(frozen=True)
class Clear:
    """A frame that leaves as it is written here."""

    frame: bytes


@dataclass(frozen=True)
class Protected:
    """An ESP packet that leaves: of this SA, with this number, around this IP packet, behind an outer header with these fields."""

    sa: Sa
    number: int
    payload: bytes
    tos: int
    dont_fragment: bool
    mac: str


@dataclass(frozen=True)
class Outcome:
    """`counters` are "chip.name", of sending, punting and dropping. `fast`: which order it keeps (docs/crypto.md, Order)."""

    counters: tuple[str, ...]
    punt: str = ""
    sent: Clear | Protected | None = None
    fast: bool = True


def ends(counter: str, before: tuple[str, ...] = ()) -> Outcome:
    """Dropped or punted under a counter, behind chips that have sent it on."""
    name = counter.split(".")[1]
    return Outcome((*before, counter), punt=name.removeprefix("punt_") if name.startswith("punt_") else "")
