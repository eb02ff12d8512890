# SPDX-License-Identifier: Apache-2.0
"""Throughput by MLRsearch: the highest load that meets a goal, which may be RFC 2544's or one of
noisy devices (NDR, PDR)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
from MLRsearch.search_goal_tuple import SearchGoalTuple

from sallyport.backend import TrialResult

RunTrial = Callable[[Fraction, int], TrialResult]
"""Makes a trial at so many frames a second, measured for so many nanoseconds."""

# Times below the highest load, the least that is tried; and where trials have enough frames to tell
# a loss, the least of slow boxes behind fast ports.
LOW, LOWEST = 1000, 1_000_000
ENOUGH_FRAMES = 1000


@dataclass(frozen=True)
class Goal:
    """What a load must do to count as carried. Of a set of `trials`, `exceed` may lose more
    than `loss`."""

    name: str = "rfc2544"
    loss: float = 0.0  # of the frames of a trial
    exceed: float = 0.0  # of the trials of a load
    width: float = 0.001  # of the last interval, relative to the load
    trials: int = 1  # of a load
    trial_ns: int | None = None  # measured; None: as the command's setup says

    def met(self, trial: TrialResult) -> bool:
        """Whether one trial is good."""
        return trial.sound and trial.lost <= self.loss * trial.tx_frames


# FD.io CSIT's goals: trials of 1 s, 21 s of them for each load, and half of these may be bad. The
# result is exact to 0.5 %.
_CSIT = {"exceed": 0.5, "width": 0.005, "trials": 21, "trial_ns": 1_000_000_000}
GOALS = {"rfc2544": Goal(), "ndr": Goal("ndr", **_CSIT), "pdr": Goal("pdr", loss=0.005, **_CSIT)}


@dataclass(frozen=True)
class Found:
    """What a search found: the highest load that meets the goal, 0 if there is none; a good trial
    of it; all trials."""

    fps: Fraction
    best: TrialResult | None
    trials: list[TrialResult] = field(repr=False)

    @property
    def shown(self) -> TrialResult:
        """The trial that stands for the search."""
        return self.best or self.trials[-1]

    @property
    def at_load(self) -> list[TrialResult]:
        """The trials of the load that was found."""
        return [trial for trial in self.trials if trial.intended_fps == self.fps]


class _Measurer(AbstractMeasurer):
    """MLRsearch's view of a backend: keeps every trial, because the report shows the one
    that passed."""

    def __init__(self, run_trial: RunTrial, goal: Goal) -> None:
        self.run_trial, self.goal = run_trial, goal
        self.trials: list[TrialResult] = []

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        trial = self.run_trial(Fraction(intended_load), round(intended_duration * 1e9))
        self.trials.append(trial)
        # A trial with wrong order or a growing queue is bad, even without loss.
        lost = trial.lost if trial.sound else max(trial.lost, int(self.goal.loss * trial.tx_frames) + 1)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=max(1, trial.tx_frames),
            forwarding_count=max(0, trial.tx_frames - lost),
        )


def throughput(run_trial: RunTrial, max_fps: Fraction, measure_ns: int, goal: Goal = GOALS["rfc2544"]) -> Found:
    """Search up to `max_fps`; trials measure `measure_ns` where the goal does not say.

    All trials are as long: a box with a queue carries more in short ones, and they mislead.
    """
    seconds = (goal.trial_ns or measure_ns) / 1e9
    asked = SearchGoal(
        loss_ratio=goal.loss,
        exceed_ratio=goal.exceed,
        relative_width=goal.width,
        initial_trial_duration=seconds,
        final_trial_duration=seconds,
        duration_sum=goal.trials * seconds,
        preceding_targets=2 if goal.trials > 1 else 0,
        expansion_coefficient=2,
        fail_fast=False,
    )
    config = Config(
        goals=SearchGoalTuple((asked,)),
        min_load=min(float(max_fps) / LOW, max(float(max_fps) / LOWEST, ENOUGH_FRAMES / seconds)),
        max_load=float(max_fps),
        search_duration_max=1e9,  # the search ends by its width
        warmup_duration=0.0,  # each trial warms up by itself
    )
    measurer = _Measurer(run_trial, goal)
    (result,) = MultipleLossRatioSearch(config=config).search(measurer=measurer, debug=lambda _: None).values()
    bound = result.relevant_lower_bound
    fps = Fraction(float(bound)) if bound else Fraction(0)
    mine = [trial for trial in measurer.trials if trial.intended_fps == fps and goal.met(trial)]
    return Found(fps if mine else Fraction(0), mine[-1] if mine else None, measurer.trials)
