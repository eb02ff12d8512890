"""One case of a test: a frame size and a setup, and how to run a trial of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sallyport import rows, search
from sallyport.backend import Capabilities, Setup, Trial, TrialResult


@dataclass(frozen=True)
class Options:
    """What a command says of its tests."""

    load: Fraction = Fraction(1)  # highest intended load, as a part of line rate
    share: Fraction = Fraction(1)  # the same, as a part of the theoretical maximum
    latency_at: tuple[Fraction, ...] = tuple(Fraction(n, 100) for n in (10, 50, 90, 100))  # parts of the throughput
    burst_runs: int = 1
    latency_measure_ns: int | None = None  # of the latency test, if not the setup's


@dataclass(frozen=True)
class Case:
    """A test of one frame size. `run` gives the result of a trial, from wherever it is made."""

    test: str
    label: str  # the frame size as it was asked for
    setup: Setup
    options: Options
    capabilities: Capabilities
    run: Callable[[Trial], TrialResult]

    @property
    def bound(self) -> Fraction:
        """The highest load that is tried, frames a second: above the theoretical maximum the black wire must lose."""
        return self.setup.line_fps * min(self.setup.ceiling * self.options.share, self.options.load)

    @property
    def top(self) -> Fraction:
        """The highest load of tests that are to lose frames, frames a second; the theoretical maximum bounds it by `share` alone."""
        share = self.options.share * self.setup.ceiling if self.options.share < 1 else Fraction(1)
        return self.setup.line_fps * min(share, self.options.load)

    def trial(self, fps: Fraction, **more: object) -> TrialResult:
        """One trial at `fps`; `more` are fields of [Trial]."""
        return self.run(Trial(self.setup, fps, **more))  # type: ignore[arg-type]

    def search(self) -> tuple[TrialResult | None, list[TrialResult]]:
        """The passing trial at the highest load up to the bound, or None; and all trials of the search."""
        return search.throughput(self.trial, self.bound)

    def throughput(self) -> tuple[Fraction, int]:
        """The throughput in frames a second, 0 if there is none, and the number of trials that it took."""
        best, trials = self.search()
        return (best.intended_fps if best else Fraction(0)), len(trials)

    def row(self, result: TrialResult, trials: int = 1, throughput: Fraction | None = None, **more: object) -> dict:
        """A row of this test; see [rows.make]."""
        return rows.make(self.label, self.test, self.setup, result, trials, throughput, **more)
