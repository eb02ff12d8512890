# SPDX-License-Identifier: Apache-2.0
"""Progress of a run: a bar on a terminal, plain lines anywhere else. All of it on
standard error."""

from __future__ import annotations

import threading
import time
from enum import IntEnum
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from sallyport.backend import Trial, TrialResult


class Verbosity(IntEnum):
    """How much is said: nothing, the bar or a line a case, or a line for every trial too."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


class Progress:
    """Shows where a run is. Cases are done in `case`; trials begin and end in any thread."""

    def __init__(self, verbosity: Verbosity = Verbosity.NORMAL) -> None:
        self._console = Console(stderr=True)
        self._verbosity = verbosity
        self._live = self._console.is_terminal and verbosity > Verbosity.QUIET
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._live,
        )
        self._total = self._done = 0
        self._started = time.monotonic()
        self._lock = threading.Lock()
        # the trial that each thread runs, and for how many µs
        self._running: dict[int, tuple[str, float]] = {}
        self._last = ""  # what became of the trial before
        self._task: TaskID = self._bars.add_task("starting", total=None)

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def expect(self, cases: int) -> None:
        """So many cases are to be done."""
        self._total = cases
        self._bars.update(self._task, total=cases)

    def begin(self, label: str, trial: Trial) -> None:
        """A trial begins in this thread."""
        setup = trial.setup
        with self._lock:
            self._running[threading.get_ident()] = (name(label, trial), (setup.warmup_ns + setup.measure_ns) / 1000)
        self._show(name(label, trial))

    def within(self, done: float, cycles_per_s: float) -> None:
        """This thread's trial is `done` (0 to 1) through its time."""
        with self._lock:
            text, total_us = self._running.get(threading.get_ident(), ("", 0.0))
        speed = f" · {cycles_per_s / 1000:.1f} k cycles/s" if cycles_per_s else ""
        self._show(f"{text} · {done * total_us:,.0f} of {total_us:,.0f} us{speed}")

    def end(self, label: str, trial: Trial, result: TrialResult) -> None:
        """A trial has ended in this thread."""
        simulation = result.simulation
        cost = ""
        if simulation:
            cost = f"; {simulation['sim_us']:.0f} us simulated at {simulation['cycles_per_s'] / 1000:.1f} k cycles/s"
        self._said(f"{name(label, trial)}: {outcome(result)}{cost}", result)

    def known(self, label: str, trial: Trial, result: TrialResult) -> None:
        """A trial was made before, and its result is at hand."""
        self._said(f"{name(label, trial)}: {outcome(result)}; known from before", result)

    def case(self, title: str, found: list[dict]) -> None:
        """A case is done, with these rows."""
        self._done += 1
        self._bars.advance(self._task)
        if self._live or self._verbosity == Verbosity.QUIET:
            return
        left = (time.monotonic() - self._started) / self._done * (self._total - self._done)
        self._say(f"{self._done} of {self._total}: {title} {_of_all(found)}, {left:.0f} s left")

    def _show(self, text: str) -> None:
        others = len(self._running) - 1
        more = f" (and {others} more)" if others else ""
        if self._live:
            self._bars.update(self._task, description=text + more + self._last)

    def _said(self, text: str, result: TrialResult) -> None:
        with self._lock:
            self._running.pop(threading.get_ident(), None)
            self._last = f" · last {_shortly(result)}"
        if self._verbosity == Verbosity.VERBOSE:
            self._say(text)

    def _say(self, text: str) -> None:
        self._console.print(
            f"[{time.monotonic() - self._started:6.1f} s] {text}", markup=False, highlight=False, soft_wrap=True
        )


def name(label: str, trial: Trial) -> str:
    """The name of a trial: its frames, its load, and its special settings."""
    load = f"{float(100 * trial.fps / trial.setup.line_fps):.2f} %"
    what = f"{label} B at {load}" if label.isdigit() else f"{label} at {load}"
    if trial.ike:
        return f"{trial.ike}, {trial.setup.sas} tunnels, {what}"
    more = {"a burst of": trial.burst, "reset by": trial.reset, "under attack by": trial.attack}
    return ", ".join([what, *(f"{key} {value}" for key, value in more.items() if value)])


def outcome(result: TrialResult) -> str:
    """What became of a trial's frames, with every reason if it did not pass."""
    return "passed" if result.passed else "; ".join(result.reasons)


def _shortly(result: TrialResult) -> str:
    """The same beside a bar: the first reason."""
    return "passed" if result.passed else result.reasons[0]


def _of_all(rows: list[dict]) -> str:
    """What became of the rows of a case."""
    if all(row["passed"] for row in rows):
        return "passed"
    reasons = [*(["lost frames"] if any(row["lost"] for row in rows) else [])]
    reasons += dict.fromkeys(check for row in rows for check in row["checks"])
    return "; ".join(reasons or ["failed"])
