# SPDX-License-Identifier: Apache-2.0
"""One case of a test: a frame size and a setup, and how to run a trial of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sallyport import rows
from sallyport.backend import Capabilities, Setup, Trial, TrialResult
from sallyport.rfc2544 import search
from sallyport.rfc2544.search import GOALS, Found, Goal


@dataclass(frozen=True)
class Options:
    """What a command says of its tests."""

    load: Fraction = Fraction(1)  # highest intended load, as a part of line rate
    share: Fraction = Fraction(1)  # the same, as a part of the theoretical maximum
    # parts of the throughput
    latency_at: tuple[Fraction, ...] = tuple(Fraction(n, 100) for n in (10, 50, 90, 100))
    burst_runs: int = 1
    latency_measure_ns: int | None = None  # of the latency test, if not the setup's
    goal: Goal = GOALS["rfc2544"]
    repeats: int = 1  # searches of a throughput row
    ike_trials: int = 3  # runs of a test of IKE
    ike_flood: int = 1000  # requests a second of its flood
    objects: tuple[int, ...] = ()  # bytes, of a test of connections; none: as the test has them


@dataclass(frozen=True)
class Case:
    """A test of one frame size. `run` gives the result of a trial, from wherever it is made."""

    test: str
    label: str  # the frame size as it was asked for
    setup: Setup
    options: Options
    capabilities: Capabilities
    run: Callable[[Trial], TrialResult]
    search_ns: int = 0  # that trials of a search measure; 0: as the setup says
    # searches that cases of a command share, by their setups
    known: dict[str, Found] = field(default_factory=dict)

    @property
    def key(self) -> tuple:
        """What tells it from other cases, as [rows.key] does of its rows."""
        return rows.key(rows.identity(self.label, self.test, self.setup) | self._asked())

    def _asked(self) -> dict:
        """The columns that say how its loads were chosen."""
        return {
            "goal": self.options.goal.name,
            "max_load_pct": round(float(100 * self.options.load), 4),
            "max_share_pct": round(float(100 * self.options.share), 4),
        }

    @property
    def bound(self) -> Fraction:
        """The highest load that is tried, frames a second: above the theoretical maximum the black
        wire must lose."""
        return self.setup.line_fps * min(self.setup.ceiling * self.options.share, self.options.load)

    @property
    def top(self) -> Fraction:
        """The highest load of tests that are to lose frames, frames a second; the theoretical
        maximum bounds it by `share` alone."""
        share = self.options.share * self.setup.ceiling if self.options.share < 1 else Fraction(1)
        return self.setup.line_fps * min(share, self.options.load)

    def trial(self, fps: Fraction, **more: object) -> TrialResult:
        """One trial at `fps`; `more` are fields of [Trial]."""
        return self.run(Trial(self.setup, fps, **more))  # type: ignore[arg-type]

    def search(self) -> Found:
        """A search up to the bound, anew."""
        measure_ns = self.search_ns or self.setup.measure_ns
        return search.throughput(
            lambda fps, ns: self.run(Trial(replace(self.setup, measure_ns=ns), fps)),
            self.bound,
            measure_ns,
            self.options.goal,
        )

    def searched(self) -> Found:
        """The search of these frames and boxes, which all tests of a command share."""
        name = repr((replace(self.setup, measure_ns=self.search_ns or self.setup.measure_ns), self.bound))
        if name not in self.known:
            self.known[name] = self.search()
        return self.known[name]

    def throughput(self) -> tuple[Fraction, int]:
        """The throughput in frames a second, 0 if there is none, and the number of trials that
        it took."""
        found = self.searched()
        return found.fps, len(found.trials)

    def row(self, result: TrialResult, trials: int = 1, throughput: Fraction | None = None, **more: object) -> dict:
        """A row of this test; see [rows.make]."""
        return rows.make(self.label, self.test, self.setup, result, trials, throughput, **self._asked(), **more)
