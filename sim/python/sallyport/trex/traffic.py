# SPDX-License-Identifier: Apache-2.0
"""The traffic of one stateless trial: its streams, what happens beside them, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import click

from sallyport.backend import Trial, TrialResult
from sallyport.trex import boxes, outcome, streams
from sallyport.trex.alone import Alone
from sallyport.trex.lab import Lab
from sallyport.trex.rekeys import Rekeys
from sallyport.trex.run import Run


def trial(
    lab: Lab,
    asked: Trial,
    sent: Trial,
    ways: list[streams.Way],
    run: Run,
    about: dict,  # what rows say of the tester
    alone: Alone | None = None,  # the box, if it is one
    ask: Callable[[str], None] | None = None,  # the operator, who resets a box
    turn: Callable[[float], None] | None = None,  # as of [Run.measured]
) -> TrialResult:
    """One trial; `asked` is the trial that `sent` stands for."""
    setup = sent.setup
    failed, rekeyed = [], 0
    if sent.burst is not None:
        burst = sent.burst
        loads = [alone.load(way, sent) if alone else streams.burst(lab, setup, way, burst, sent.fps) for way in ways]
        seconds = burst / sent.fps
        run.burst(loads, float(seconds))
    else:
        lowest = min(sent.fps, sent.then_fps or sent.fps)
        loads = [streams.make(lab, setup, way, sent.fps, lowest) for way in ways]
        seconds = Fraction(setup.measure_ns, 10**9)
        if setup.warmup_ns:
            run.warm_up(loads, setup.warmup_ns / 1e9)
        command = boxes.Command(lab, sent.reset) if sent.reset in lab.boxes[0].commands else None
        if sent.reset and not command and ask:
            name = lab.boxes[0].name
            ask(f"Be ready for a {sent.reset} reset of {name}; press Enter, and reset it as soon as told.")
        multipliers = [load.multiplier(sent.then_fps) for load in loads] if sent.then_fps else []
        told = f"Now: {sent.reset} reset of {lab.boxes[0].name}." if sent.reset else ""
        tell = (lambda: click.echo(told, err=True)) if told else None
        rekeys = Rekeys(lab, setup.rekeys, float(seconds))
        run.measured(loads, float(seconds), multipliers, command.begin if command else tell, turn or rekeys.turn)
        failure = command.failure() if command else None
        failed = [*([failure] if failure else []), *rekeys.finish()]
        rekeyed = rekeys.done
    result = outcome.of(lab, asked, sent, ways, loads, run, seconds, outcome.tester(about, run))
    return replace(result, checks=[*result.checks, *failed], rekeys=rekeyed)
