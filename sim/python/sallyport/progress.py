"""Progress of a run: a bar on a terminal, plain lines anywhere else. All of it on standard error."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars


class Progress:
    """Shows where a run is: `start_trial` and `trial` while one is under way, `row` when a frame size is done."""

    def __init__(self, total: int) -> None:
        self._console = Console(stderr=True)
        self._live = self._console.is_terminal
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bars = Bars(*columns, console=self._console, transient=True, disable=not self._live)
        self._total = total
        self._started = time.monotonic()
        self._label = ""
        self._rows_task: TaskID | None = None
        self._trial_task: TaskID | None = None

    def __enter__(self) -> Progress:
        self._bars.start()
        self._rows_task = self._bars.add_task("rows", total=self._total)
        self._trial_task = self._bars.add_task("trial", total=1.0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def start_trial(self, label: str, load_pct: float) -> None:
        """A trial of `load_pct` percent of line rate begins."""
        self._label = f"{label} B at {load_pct:.2f} %" if label.isdigit() else f"{label} at {load_pct:.2f} %"
        if self._live:
            assert self._trial_task is not None
            self._bars.update(self._trial_task, completed=0.0, description=self._label)
        else:
            self._say(f"trial {self._label}")

    def trial(self, done: float, cycles_per_s: float) -> None:
        """The trial is `done` (0 to 1) through its simulated time."""
        if self._live:
            assert self._trial_task is not None
            text = f"{self._label}, {cycles_per_s / 1000:.1f} k cycles/s"
            self._bars.update(self._trial_task, completed=done, description=text)

    def row(self, row: dict) -> None:
        """A frame size is done."""
        if self._live:
            assert self._rows_task is not None
            self._bars.advance(self._rows_task)
        else:
            state = "passed" if row["passed"] else "failed"
            self._say(
                f"{row['frame_size']}: {state}, {row['throughput_pct']:.2f} % of line rate, {row['trials']} trials"
            )

    def _say(self, text: str) -> None:
        self._console.print(f"[{time.monotonic() - self._started:6.1f} s] {text}", markup=False, highlight=False)
