# SPDX-License-Identifier: Apache-2.0
"""What a tester can do: the one interface between the RFC 2544 runner and a tester, simulated or
of hardware.

Field names follow Open Traffic Generator where it has them. Rates are frames a second per red port,
sizes bytes of a frame with its FCS, times nanoseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from sallyport import limits
from sallyport.suites import Suite


@dataclass(frozen=True)
class Setup:
    """A device under test and the traffic that crosses it; what stays the same for all trials of
    a row."""

    mix: dict[int, int]  # frame size: weight
    suites: tuple[Suite, ...]  # which the SAs take in turn
    boxes: int = 2
    direction: str = "both"
    mode: str = "tunnel"
    ip: int = 4  # IP version of the inner and of the outer packets
    nat_t: bool = False  # ESP in UDP (RFC 3948)
    sas: int = 1
    tables: str = "standard"  # of the simulated chips
    crypto: str = "rtl"  # the model of the simulated lanes: "rtl" or "model"
    chips: str = "core"  # what of the chips is simulated
    core_mhz: float = 300  # of the simulated chips
    lock_step: bool = False  # of the simulated chips; what the engine's speed is measured against
    seed: int = 1
    threads: int | None = None
    warmup_ns: int = 50_000
    measure_ns: int = 200_000
    rekeys: int = 0  # of tunnels in turn, spread over the measured interval
    line_gbps: int = limits.LINE_GBPS  # of the ports, red and black
    pairs: int = 1  # of ports at once
    object_bytes: int = 0  # of a stateful test, that clients ask for

    @property
    def line_fps(self) -> Fraction:
        """Frames a second that fill a red port."""
        return limits.line_rate_fps(limits.mean_frame(self.mix), self.line_gbps)

    @property
    def ceiling(self) -> Fraction:
        """The theoretical maximum: the part of line rate, 1 at most, whose ESP fills the
        black wire."""
        return limits.theoretical_fraction(self.mix, self.suites, self.mode, self.ip, self.nat_t)


@dataclass(frozen=True)
class Trial:
    """What every red port in use sends, once: `setup.warmup_ns` and `setup.measure_ns` at one rate,
    unless a field says otherwise."""

    setup: Setup
    fps: Fraction
    # so many frames at `fps` and nothing else, not even a warm-up (RFC 2544 26.4)
    burst: int | None = None
    # for half as long again as the measured interval, behind it (RFC 2544 26.5)
    then_fps: Fraction | None = None
    reset: str | None = (
        # how box 0 is reset at the beginning of the measured interval (RFC 6201); see Capabilities
        None
    )
    # what a hostile sender fills the rest of the black wire with; see Capabilities
    attack: str | None = None
    # what of IKE is measured, with `setup.sas` tunnels; see Capabilities
    ike: str | None = None
    ike_flood: int = 1000  # requests a second of the flood in ike-half-open
    # whose connections come to `fps` full frames a second; see Capabilities
    stateful: str | None = None

    @property
    def repeatable(self) -> bool:
        """Whether a simulation gives the same result once more: IKE daemons have clocks of
        their own."""
        return self.ike is None


@dataclass(frozen=True)
class Figure:
    """A figure of a test of IKE or of connections; None: what it is of did not happen."""

    name: str
    value: float | None
    unit: str  # "1/s", "Gb/s", "ms", "ns", "count"
    # "wall": this machine's; "simulated": the chips'; "tester": a real tester's; "": of a count
    clock: str


@dataclass(frozen=True)
class Latency:
    """Latency of one trial in nanoseconds; how it is measured, the field of the result says."""

    min: float
    avg: float
    p50: float
    p90: float
    p99: float
    p99_99: float
    max: float


# Fields of a result that are counted in frames, and may be added up.
COUNTS = ("tx_frames", "rx_frames", "lost", "reordered", "duplicated", "corrupted")


@dataclass(frozen=True)
class TrialResult:
    """One trial: counts of both directions together, over the measured interval and the drain
    after it."""

    intended_fps: Fraction
    offered_fps: Fraction  # as sent
    tx_frames: int
    rx_frames: int
    lost: int
    reordered: int
    duplicated: int
    corrupted: int
    queue_grew: bool
    # last bit in to first bit out (RFC 1242 3.8, store and forward); None: not measured
    lifo_ns: Latency | None
    # first bit in to first bit out (RFC 1242 3.8, bit forwarding); None: not measured
    fifo_ns: Latency | None
    # mean of the differences between successive frames' latencies (RFC 4689 3.2.6)
    jitter_ns: float | None
    # of `lifo_ns`, else `fifo_ns`: upper end of each bucket and packets in it
    histogram: list[tuple[float, int]]
    # number of the first lost frame of a port; None: none was, or not known
    first_lost: int | None = None
    # when the last lost frame was sent, since the measured interval began
    last_loss_ns: float | None = None
    # of a reset: between the last packet before and the first one after
    outage_ns: float | None = None
    # of a test of IKE: the longest time between two frames of a stream
    longest_gap_ns: float | None = None
    figures: list[Figure] = field(default_factory=list)  # of a test of IKE or of connections
    # by box, chip and counter: "box0.outer.drop_replay"
    dropped: dict[str, int] = field(default_factory=dict)
    rekeys: int = 0
    resends: bool = False  # TCP sent lost frames again, so they fail no trial
    served: float = 1.0  # of the rate of connections that was asked for
    checks: list[str] = field(default_factory=list)  # what else went wrong, a sentence each
    simulation: dict | None = None  # sim_cycles, wall_s, cycles_per_s; None: measured on hardware
    # of hardware: what measured it, and how busy that was
    tester: dict = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """Whether loss is the only thing that may be wrong, so that the figure can be trusted."""
        return not (self.reordered or self.duplicated or self.corrupted or self.queue_grew or self.checks)

    @property
    def passed(self) -> bool:
        """RFC 2544 26.1's zero loss, and nothing else that would make the figure a fluke."""
        return self.sound and (self.resends or not self.lost)

    @property
    def reasons(self) -> list[str]:
        """Why it did not pass, a few words or a sentence each."""
        counts = {"reordered": self.reordered, "duplicated": self.duplicated, "corrupted": self.corrupted}
        found = [f"lost {self.lost} of {self.tx_frames}"] if self.lost and not self.resends else []
        found += [f"{count} {name}" for name, count in counts.items() if count]
        return [*found, *(["a queue grew"] if self.queue_grew else []), *self.checks]


@dataclass(frozen=True)
class Capabilities:
    """What a backend offers."""

    name: str
    simulated: bool
    suites: tuple[str, ...]
    boxes: tuple[int, ...]
    resets: tuple[str, ...]  # of "software", "hardware", "power"
    attacks: tuple[str, ...]  # of "replay", "bad-icv", "unknown-spi"
    warmup_ns: int  # of a trial, unless the command says otherwise
    measure_ns: int
    latency_measure_ns: int  # the same of the latency test
    # the same trial gives the same result, so it may be cached, and made by any of
    # several processes
    repeatable: bool
    line_gbps: int = limits.LINE_GBPS  # of the ports
    without: tuple[str, ...] = ()  # tests that it cannot make
    ike: tuple[str, ...] = ()  # tests of IKE that it can make, of sallyport.ike.MEASURES
    reasons: Mapping[str, str] = field(default_factory=dict)  # why it cannot make some others
    pairs: int = 1  # of ports, which have the load at the same time
    stateful: tuple[str, ...] = ()  # tests that it can make, of sallyport.stateful.TESTS


class TrafficBackend(Protocol):
    """A tester with boxes attached. Trials are independent of each other."""

    def capabilities(self) -> Capabilities: ...

    def check(self, setup: Setup, tests: Collection[str] = ()) -> None:
        """Raise [sallyport.errors.InputError] before the first frame if the backend cannot do one
        of `tests`."""
        ...

    def run_trial(self, trial: Trial) -> TrialResult:
        """Send, measure, drain, and return the result."""
        ...

    def close(self) -> None:
        """Stop the tester; a second call does nothing."""
        ...
