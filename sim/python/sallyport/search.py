"""Throughput by MLRsearch with the classic RFC 2544 goal: the highest load that loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
from MLRsearch.search_goal_tuple import SearchGoalTuple

from sallyport.backend import TrialResult

# Width of the final interval, relative to the load: the resolution that LIMITS asks of a lab (0.1 %).
RELATIVE_WIDTH = 0.001


class _Measurer(AbstractMeasurer):
    """MLRsearch's view of a backend: keeps every trial, because the report shows the one that passed."""

    def __init__(self, run_trial: Callable[[Fraction], TrialResult]) -> None:
        self.run_trial = run_trial
        self.trials: list[TrialResult] = []

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        trial = self.run_trial(Fraction(intended_load))
        self.trials.append(trial)
        # A trial that failed on order or a growing queue counts as one lost frame: no zero-loss result.
        forwarded = trial.rx_frames if trial.lost or trial.passed else trial.tx_frames - 1
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=trial.tx_frames,
            forwarding_count=forwarded,
        )


def throughput(
    run_trial: Callable[[Fraction], TrialResult], max_fps: Fraction, width: float = RELATIVE_WIDTH
) -> tuple[TrialResult | None, list[TrialResult]]:
    """The passing trial at the highest load up to `max_fps`, or None if none passed; and all trials in order."""
    goal = SearchGoal(
        loss_ratio=0.0,
        exceed_ratio=0.0,
        relative_width=width,
        initial_trial_duration=1.0,
        final_trial_duration=1.0,
        duration_sum=1.0,
        preceding_targets=0,
        expansion_coefficient=2,
    )
    config = Config(
        goals=SearchGoalTuple((goal,)),
        min_load=float(max_fps) / 1000,
        max_load=float(max_fps),
        search_duration_max=1e9,  # trials are simulated time; the search ends by its width
        warmup_duration=0.0,  # each trial warms up by itself
    )
    measurer = _Measurer(run_trial)
    MultipleLossRatioSearch(config=config).search(measurer=measurer, debug=lambda _: None)
    passed = [trial for trial in measurer.trials if trial.passed]
    return max(passed, key=lambda trial: trial.intended_fps, default=None), measurer.trials
