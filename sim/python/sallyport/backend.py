"""What a tester can do: the one interface between the RFC 2544 runner and whatever sends the frames.

Field names follow Open Traffic Generator where it has them. Rates are frames a second per red port, sizes bytes of a frame
with its FCS, times nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from sallyport.suites import Suite


@dataclass(frozen=True)
class Setup:
    """A device under test and the traffic that crosses it; what stays the same for all trials of a row."""

    mix: dict[int, int]
    suites: tuple[Suite, ...]  # which the SAs take in turn
    boxes: int = 2
    direction: str = "both"
    mode: str = "tunnel"
    sas: int = 1
    tables: str = "standard"  # of the simulated chips
    seed: int = 1
    threads: int | None = None
    warmup_ns: int = 50_000
    measure_ns: int = 200_000
    rekeys: int = 0  # of tunnels in turn, spread over the measured interval


@dataclass(frozen=True)
class Latency:
    """Latency of one trial in nanoseconds, last bit in to first bit out (RFC 1242 3.8, store and forward)."""

    min: float
    avg: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True)
class TrialResult:
    """One trial: counts of both directions together, over the measured interval and the drain after it."""

    intended_fps: Fraction
    tx_frames: int
    rx_frames: int
    lost: int
    reordered: int
    duplicated: int
    corrupted: int
    queue_grew: bool
    latency_ns: Latency
    simulation: dict
    rekeys: int = 0
    checks: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """RFC 2544 26.1's zero loss, and nothing else that would make the figure a fluke."""
        return not (self.lost or self.reordered or self.duplicated or self.corrupted or self.queue_grew or self.checks)


class TrafficBackend(Protocol):
    """A tester with boxes attached. `configure` once, then any number of trials, each independent of the ones before."""

    def capabilities(self) -> dict[str, object]:
        """What this backend offers: name, simulated or measured, suites, most boxes."""
        ...

    def configure(self, setup: Setup) -> None:
        """Prepare for trials of `setup`; raises [sallyport.errors.InputError] for what the backend cannot do."""
        ...

    def run_trial(self, fps: Fraction) -> TrialResult:
        """Send `fps` frames a second into each red port in use, measure, drain, and return what was seen."""
        ...
