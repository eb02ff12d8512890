# SPDX-License-Identifier: Apache-2.0
"""TRex as a [sallyport.backend.TrafficBackend]: real frames through two real boxes, from red port
to red port."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import click

from sallyport import suites
from sallyport.backend import Capabilities, Setup, Trial, TrialResult
from sallyport.errors import InputError
from sallyport.ike import MEASURES
from sallyport.stateful import TESTS
from sallyport.trex import (
    alone,
    boxes,
    calibration,
    checks,
    directions,
    ike,
    ike_checks,
    samples,
    start,
    stateful,
    streams,
    traffic,
)
from sallyport.trex import lab as lab_file
from sallyport.trex.ending import ending
from sallyport.trex.process import STATEFUL, STATELESS, Client, Lost, Refused
from sallyport.trex.run import Run

# Of a trial, unless the command line says otherwise (RFC 2544 24 and 26.2).
WARMUP_NS, MEASURE_NS, LATENCY_NS = 5_000_000_000, 60_000_000_000, 120_000_000_000


def _warn(sentence: str) -> None:
    click.echo(f"sallyport: warning: {sentence}", err=True)


def _ask(sentence: str) -> None:
    click.echo(sentence, err=True)
    sys.stdin.readline()


class TrexBackend:
    """Trials in real time. TRex is reached, and its ports taken, by the first `check` or trial;
    `close` gives them back.

    Not repeatable: boxes and tester are real. A trial that is interrupted stops its traffic first.
    """

    def __init__(
        self,
        lab: Path,
        on_progress: Callable[[float, float], None] | None = None,
        warn: Callable[[str], None] = _warn,
        ask: Callable[[str], None] = _ask,
        interactive: Callable[[], bool] = sys.stdin.isatty,
        cable: bool = False,  # instead of boxes, to calibrate
    ) -> None:
        self.lab = lab_file.load(lab)
        self._on_progress, self._warn, self._ask, self._interactive = on_progress, warn, ask, interactive
        self._cable = cable
        self._alone = alone.Alone(self.lab) if self.lab.alone and not cable else None
        self._sampled: set[str] = set()  # setups that a box alone showed to do rightly
        self._configured = False
        self._about: dict = {}
        self._calibration: dict[str, dict] = {}  # see [calibration.load]
        self._client: Client | None = None
        self._next_hops: list[str] = []
        self._start_ms: list[float | None] | None = None  # see [start.check]

    def __enter__(self) -> TrexBackend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        client, self._client = self._client, None
        if client:
            client.close()
        if self._alone:
            self._alone.close()

    def capabilities(self) -> Capabilities:
        return Capabilities(
            name="trex",
            simulated=False,
            suites=tuple(suites.SUITES),
            boxes=(1 if self.lab.alone else 2,),
            resets=() if self.lab.alone else self.lab.all_resets,
            attacks=alone.attacks(self.lab),
            warmup_ns=WARMUP_NS,
            measure_ns=MEASURE_NS,
            latency_measure_ns=LATENCY_NS,
            repeatable=False,
            line_gbps=self.lab.line_rate_gbps,
            pairs=self.lab.pairs,
            without=alone.WITHOUT if self.lab.alone else (),
            stateful=() if self.lab.alone else tuple(TESTS),
            ike=() if self.lab.alone else ike.TESTS,
            reasons=ike.WITHOUT,
        )

    def check(self, setup: Setup, tests: Collection[str] = ()) -> None:
        self._check(setup)
        if "reset" in tests:
            for kind in self.lab.all_resets:
                checks.reset(self.lab, kind, self._interactive)
        connections = [test for test in tests if test in TESTS]
        if connections:
            stateful.check(self.lab, setup, connections)
        if not (self._configured or self._cable):
            boxes.configure(self.lab)
            self._configured = True
        if of_ike := [test for test in tests if test in MEASURES]:
            ike_checks.check(self.lab, setup, of_ike[0])
        if connections:
            self._connected(STATEFUL)
            return
        client = self._connected()
        if self._start_ms is None:
            try:
                self._start_ms = start.check(self.lab, client, self._next_hops, self._warn)
            except (Lost, Refused) as error:
                self.close()
                raise InputError(f"{self.lab.where} does not start traffic ({error}); see its console") from None
        if self._alone:
            self._sample(self._alone, setup, client)

    def _check(self, setup: Setup) -> None:
        checks.setup(self.lab, setup)
        if not self._cable:
            checks.boxes(self.lab, setup)

    def _sample(self, box: alone.Alone, setup: Setup, client: Client) -> None:
        """See that a box alone encrypts and decrypts frames of a setup rightly, once."""
        if repr(setup) in self._sampled:
            return
        try:
            box.prepare(setup, samples.FRAMES)
            for way in self._ways(setup):
                samples.check(self.lab, client, box, setup, way)
        except boxes.Unanswered as error:
            raise InputError(f"{self.lab.file}: {error}; see boxes[0].ssh there") from None
        except (Lost, Refused) as error:
            self.close()
            raise InputError(f"{self.lab.where} does not go on ({error}); see its console") from None
        self._sampled.add(repr(setup))

    def _connected(self, mode: str = STATELESS) -> Client:
        """The client with the ports taken and the boxes' addresses known. All trials of a command
        have one mode."""
        if self._client:
            return self._client
        client = Client(self.lab, mode)
        try:
            version = checks.connect(self.lab, client)
            self._about = {"server": f"{self.lab.tester.host}:{self.lab.tester.sync_port}", "version": version}
            self._about |= checks.ports(self.lab, client)
            macs = [self.lab.ends[at ^ 1].mac for at in range(len(self.lab.ends))]
            self._next_hops = macs if self._cable else [checks.next_hop(self.lab, client, end) for end in self.lab.ends]
            self._calibration = {} if self._cable else calibration.load(self.lab, self._about)
        except (Lost, Refused) as error:
            client.close()
            raise InputError(f"{self.lab.where} does not go on ({error}); see its console and start it again") from None
        except BaseException:
            client.close()
            raise
        self._client = client
        return client

    def about(self) -> dict:
        """The tester that was reached: server, version, driver, ports."""
        return self._about

    def started(self) -> list[float | None]:
        """See [start.check]."""
        return self._start_ms or []

    def run_trial(self, trial: Trial) -> TrialResult:
        """Raises [CheckFailed] if TRex is lost on the way or refuses; what came before
        stays good."""
        self._check(trial.setup)
        client = self._connected(STATEFUL if trial.stateful else STATELESS)
        checks.trial(self.lab, trial, self._interactive)
        if trial.stateful:
            return self._of_connections(trial, client)
        if trial.ike:
            return self._of_ike(trial, client)
        sent = alone.counted(trial) if self._alone else trial
        ways = self._ways(trial.setup)
        if self._alone:
            ways = [self._alone.way(way, sent) for way in ways]
        run = Run(self.lab, client, ways, self._on_progress)
        with ending(self.lab, run.stop, self.close):
            self._learnt(trial.setup, run)
            if self._alone:
                self._alone.prepare(trial.setup, sent.burst or 0)
            before = {} if self._cable else boxes.counters(self.lab)
            about = self._about_of(trial)
            result = traffic.trial(self.lab, trial, sent, ways, run, about, self._alone, self._ask)
            return result if self._cable else self._with_counters(result, before, bool(trial.attack))

    def _of_connections(self, trial: Trial, client: Client) -> TrialResult:
        """A stateful trial."""
        traffic = stateful.traffic(self.lab, client, self._on_progress)
        with ending(self.lab, traffic.stop, self.close):
            stateful.prepare(client, self._ways(trial.setup, "both"))
            before = boxes.counters(self.lab)
            result = stateful.trial(self.lab, traffic, trial, {**self._named(), "lab": str(self.lab.file)})
            return self._with_counters(result, before, attacked=False)

    def _of_ike(self, trial: Trial, client: Client) -> TrialResult:
        """A run of a test of IKE."""
        ways = self._ways(trial.setup, "both")
        with ending(self.lab, Run(self.lab, client, ways, None).stop, self.close):
            before = boxes.counters(self.lab)
            result = ike.run(self.lab, client, ways, trial, self._about_of(trial), self._on_progress)
            return self._with_counters(result, before, attacked=False)

    def _with_counters(self, result: TrialResult, before: boxes.Counters, attacked: bool) -> TrialResult:
        """The result with the boxes' drops since `before`, or with the reason why these
        are unknown."""
        try:
            dropped = boxes.risen(before, boxes.counters(self.lab))
        except boxes.Unanswered as error:
            return replace(result, checks=[*result.checks, f"{error}, so its counters are not known"])
        hidden = [] if attacked or not self._alone else alone.hidden(self.lab, result.lost, dropped)
        return replace(result, dropped=dropped, checks=[*result.checks, *hidden])

    def _about_of(self, trial: Trial) -> dict:
        """What rows say of the tester, and what a cable carried of the trial's frames."""
        cable = self._calibration.get(calibration.name(trial.setup.mix))
        return self._named() | {"lab": str(self.lab.file), "start_ms": self._start_ms, "cable": cable}

    def _named(self) -> dict:
        """What rows say of the tester."""
        return {name: value for name, value in self._about.items() if name != "ports"}

    def _ways(self, setup: Setup, direction: str = "") -> list[streams.Way]:
        return directions.of(self.lab, self._next_hops, setup, direction)

    def _learnt(self, setup: Setup, run: Run) -> None:
        """Bridges learn where both ports are, that which only receives too."""
        if not self.lab.learning_frames:
            return
        run.learn(setup, self._ways(setup, "both"))
