# SPDX-License-Identifier: Apache-2.0
"""Tests of IKE in a lab ([sallyport.ike.gateways.Boxes]): real charons on real boxes, and TRex on
their red sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

from sallyport.backend import Trial, TrialResult
from sallyport.errors import CheckFailed
from sallyport.ike import ANYWHERE
from sallyport.ike.gateways import Arrival, Done, Gateways
from sallyport.trex import measure, outcome, streams, traffic
from sallyport.trex.ending import stopping
from sallyport.trex.lab import Lab
from sallyport.trex.measure import Sample
from sallyport.trex.process import Client
from sallyport.trex.remote import RemoteGateway, remote
from sallyport.trex.run import Run
from sallyport.trex.streams import Way

# What a lab cannot do, and why.
WITHOUT = {
    "ike-half-open": "TRex is on the red sides, and the flood comes to the black one",
    "ike-dead-peer": "nothing there makes a far gateway die and another one take its place",
}
TESTS = tuple(ANYWHERE)
# Frames a second that show that tunnels carry traffic, and that find the first one that does.
FPS = Fraction(1000)
# Of the rate at which frames were to come until one arrived, and when that is known to.
STEADY, KNOWN_S = 0.98, 0.1


def run(
    lab: Lab,
    client: Client,
    ways: list[Way],
    trial: Trial,
    about: dict,
    on_progress: Callable[[float, float], None] | None,
) -> TrialResult:
    """One run of the measure `trial.ike`; `ways` are both directions, `about` says of the tester
    what rows do."""
    assert trial.ike
    return ANYWHERE[trial.ike](trial, LabBoxes(lab, client, ways, trial, about, on_progress))


class LabBoxes:
    """The two boxes of a lab file, whose charons are asked over ssh."""

    clock = "tester"

    def __init__(
        self,
        lab: Lab,
        client: Client,
        ways: list[Way],
        trial: Trial,
        about: dict,
        on_progress: Callable[[float, float], None] | None,
    ) -> None:
        self._lab, self._client, self._ways, self._about = lab, client, ways, about
        self._on_progress = on_progress
        self._trial = replace(trial, setup=replace(trial.setup, warmup_ns=0), ike=None)
        self._few = min(FPS, trial.fps)

    @contextmanager
    def gateways(self) -> Iterator[Gateways[RemoteGateway]]:
        with remote(self._lab) as (near, far), stopping(self._run(self._ways).stop):
            yield Gateways(self._trial.setup, near, far)

    def each_tunnel(self, frames: int) -> TrialResult:
        """By a stream for each tunnel, so that each has as many."""
        setup, made = self._trial.setup, self._run(self._ways)
        loads = [streams.each_flow(self._lab, setup, way, frames, self._few) for way in self._ways]
        sent = Trial(setup, self._few, burst=frames * setup.sas)
        seconds = frames * setup.sas / self._few
        made.burst(loads, float(seconds))
        return self._outcome(sent, self._ways, loads, made, seconds)

    def until_one_arrives(self, patience_s: float) -> Arrival:
        """All frames before the first one that arrives are lost, and come at a known rate: so the
        time is loss over load."""
        way, setup = self._ways[0], replace(self._trial.setup, sas=1, direction="encrypt")
        made = self._run([way])
        load = streams.steady(self._lab, setup, way, self._few)
        began = made.until([load], patience_s, lambda look: look.rx[0] > 0)
        sent = Fraction(made.samples[-1].tx[0])
        result = self._outcome(Trial(setup, self._few), [way], [load], made, sent / self._few)
        checks = [*result.checks, *self._uneven(made.samples)]
        return Arrival(replace(result, checks=checks), began, began + result.lost / float(self._few), self.clock)

    def _uneven(self, samples: list[Sample]) -> list[str]:
        """A sentence if frames did not come at their rate until one arrived."""
        at = next((each for each in samples if each.rx[0]), samples[-1])
        due = float(self._few) * (at.at_ns / 1e9 - KNOWN_S)
        if at.tx[0] >= STEADY * due:
            return []
        return [
            f"{self._lab.where} sent {at.tx[0]} frames, and {due:.0f} were due: times by their number are too short"
        ]

    def load(self) -> TrialResult:
        return self._piece(None)

    def loaded(self, work: Callable[[], Done]) -> tuple[list[TrialResult], Done]:
        """The work begins with the frames of the first piece."""
        pieces: list[TrialResult] = []
        with ThreadPoolExecutor(1) as pool, stopping(self._run(self._ways).stop):
            begun: list[Future[Done]] = []

            def turn(now: float) -> None:
                if now >= 0 and not begun:
                    begun.append(pool.submit(work))

            while not begun or not begun[0].done():
                pieces.append(self._piece(turn))
                if not begun:
                    raise CheckFailed(f"{self._lab.where} ended a piece of load at once: choose a longer --measure-us")
            return pieces, begun[0].result()

    def blocked_ns(self, calm: TrialResult, pieces: list[TrialResult]) -> float:  # noqa: ARG002
        """Loss over load: the mean of the tunnels, in the worse direction of each piece."""
        return sum(each.longest_gap_ns or 0.0 for each in pieces)

    def _piece(self, turn: Callable[[float], None] | None) -> TrialResult:
        made = self._run(self._ways)
        result = traffic.trial(self._lab, self._trial, self._trial, self._ways, made, self._about, turn=turn)
        groups = [[way.latency + number for number in range(len(self._trial.setup.suites))] for way in self._ways]
        missing = measure.lost(made.stats, self._ways, groups, made.samples[-1])
        return replace(result, longest_gap_ns=1e9 * max(missing) / float(self._trial.fps))

    def _run(self, ways: list[Way]) -> Run:
        return Run(self._lab, self._client, ways, self._on_progress)

    def _outcome(
        self, sent: Trial, ways: list[Way], loads: list[streams.Load], made: Run, seconds: Fraction
    ) -> TrialResult:
        return outcome.of(self._lab, sent, sent, ways, loads, made, seconds, outcome.tester(self._about, made))
