# SPDX-License-Identifier: Apache-2.0
"""TRex as a [sallyport.backend.TrafficBackend]: real frames through two real boxes, from red port
to red port."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import click

from sallyport import suites
from sallyport.backend import Capabilities, Setup, Trial, TrialResult
from sallyport.errors import CheckFailed, InputError
from sallyport.trex import blame, boxes, calibration, checks, measure, start, streams
from sallyport.trex import lab as lab_file
from sallyport.trex.process import Client, Lost, Refused, lost
from sallyport.trex.run import Run

WAYS = {"both": (0, 1), "encrypt": (0,), "decrypt": (1,)}
# Of a trial, unless the command line says otherwise (RFC 2544 24 and 26.2).
FIRST_NS = 1_000_000_000
WARMUP_NS, MEASURE_NS, LATENCY_NS = 5_000_000_000, 60_000_000_000, 120_000_000_000
# Part of the intended load. If the tester offers less, the tester and not the box was the limit.
OFFERED_ENOUGH = Fraction(999, 1000)
LEARNING_FPS = Fraction(1000)
# When traffic began, a load changed or a burst ended is known to so much; TRex ends other trials
# itself, exactly.
CHANGE_SECONDS = Fraction(1, 10)


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

    def capabilities(self) -> Capabilities:
        return Capabilities(
            name="trex",
            simulated=False,
            suites=tuple(suites.SUITES),
            boxes=(2,),
            resets=self.lab.all_resets,
            attacks=(),
            warmup_ns=WARMUP_NS,
            measure_ns=MEASURE_NS,
            latency_measure_ns=LATENCY_NS,
            repeatable=False,
            line_gbps=self.lab.line_rate_gbps,
            first_trial_ns=FIRST_NS,
        )

    def check(self, setup: Setup, tests: Collection[str] = ()) -> None:
        checks.setup(self.lab, setup)
        if "reset" in tests:
            for kind in self.lab.all_resets:
                checks.reset(self.lab, kind, self._interactive)
        if not (self._configured or self._cable):
            boxes.configure(self.lab)
            self._configured = True
        client = self._connected()
        if self._start_ms is None:
            try:
                self._start_ms = start.check(self.lab, client, self._next_hops, self._warn)
            except (Lost, Refused) as error:
                self.close()
                raise InputError(f"{self.lab.where} does not start traffic ({error}); see its console") from None

    def _connected(self) -> Client:
        """The client with the ports taken and the boxes' addresses known."""
        if self._client:
            return self._client
        client = Client(self.lab)
        try:
            version = checks.connect(self.lab, client)
            self._about = {"server": f"{self.lab.tester.host}:{self.lab.tester.sync_port}", "version": version}
            self._about |= checks.ports(self.lab, client)
            macs = [box.red.mac for box in self.lab.boxes[::-1]]
            self._next_hops = (
                macs if self._cable else [checks.next_hop(self.lab, client, box.red) for box in self.lab.boxes]
            )
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
        checks.setup(self.lab, trial.setup)
        client = self._connected()
        checks.trial(self.lab, trial, self._interactive)
        ways = [self._way(trial.setup, way) for way in WAYS[trial.setup.direction]]
        run = Run(self.lab, client, ways, self._on_progress)
        try:
            self._learnt(trial.setup, run)
            before = {} if self._cable else boxes.counters(self.lab)
            result = self._trial(trial, ways, run)
            return result if self._cable else self._with_counters(result, before)
        except boxes.Unanswered as error:
            raise CheckFailed(f"{error}; see whether it still runs, and go on with --resume") from None
        except Lost as error:
            self.close()
            raise lost(self.lab, error) from None
        except Refused as error:
            self._stop(run)
            raise CheckFailed(f"{self.lab.where} refused a trial ({error}); see its console") from None
        except BaseException:  # Ctrl-C most of all
            self._stop(run)
            raise

    def _with_counters(self, result: TrialResult, before: boxes.Counters) -> TrialResult:
        """The result with the boxes' drops since `before`, or with the reason why these
        are unknown."""
        try:
            return replace(result, dropped=boxes.risen(before, boxes.counters(self.lab)))
        except boxes.Unanswered as error:
            return replace(result, checks=[*result.checks, f"{error}, so its counters are not known"])

    def _stop(self, run: Run) -> None:
        with contextlib.suppress(Lost, Refused):
            run.stop()

    def _way(self, setup: Setup, way: int) -> streams.Way:
        here, there = self.lab.boxes[way].red, self.lab.boxes[1 - way].red
        # Of boxes that are a bump in the wire the next hop is the far host, which is TRex's
        # other port.
        dst = there.mac if setup.mode == "transport" else self._next_hops[way]
        return streams.Way(way, here.port, there.port, here.mac, dst, here.vlan)

    def _learnt(self, setup: Setup, run: Run) -> None:
        """Bridges learn where both ports are, that which only receives too."""
        if not self.lab.learning_frames:
            return
        ways = [self._way(setup, number) for number in WAYS["both"]]
        size = replace(setup, mix={max(setup.mix, key=lambda each: setup.mix[each]): 1})
        run.learn(ways, [streams.burst(self.lab, size, way, self.lab.learning_frames, LEARNING_FPS) for way in ways])

    def _trial(self, trial: Trial, ways: list[streams.Way], run: Run) -> TrialResult:
        setup, lab = trial.setup, self.lab
        failed = None
        if trial.burst is not None:
            loads = [streams.burst(lab, setup, way, trial.burst, trial.fps) for way in ways]
            seconds = trial.burst / trial.fps
            run.burst(loads, float(seconds))
        else:
            lowest = min(trial.fps, trial.then_fps or trial.fps)
            loads = [streams.make(lab, setup, way, trial.fps, lowest) for way in ways]
            seconds = Fraction(setup.measure_ns, 10**9)
            if setup.warmup_ns:
                run.warm_up(loads, setup.warmup_ns / 1e9)
            command = boxes.Command(lab, trial.reset) if trial.reset in lab.boxes[0].commands else None
            if trial.reset and not command:
                name = lab.boxes[0].name
                self._ask(f"Be ready for a {trial.reset} reset of {name}; press Enter, and reset it as soon as told.")
            multipliers = [load.multiplier(trial.then_fps) for load in loads] if trial.then_fps else []
            told = f"Now: {trial.reset} reset of {lab.boxes[0].name}." if trial.reset else ""
            asked = (lambda: click.echo(told, err=True)) if told else None
            run.measured(loads, float(seconds), multipliers, command.begin if command else asked)
            failed = command.failure() if command else None
        result = self._result(trial, ways, loads, run, seconds)
        return replace(result, checks=[*result.checks, failed]) if failed else result

    def _result(
        self, trial: Trial, ways: list[streams.Way], loads: list[streams.Load], run: Run, seconds: Fraction
    ) -> TrialResult:
        last = run.samples[-1]
        latency = [load.latency_groups for load in loads]
        groups = [group for mine in latency for group in mine]
        delays = measure.delays(run.stats, groups, run.highest_us, run.averages_us)
        missing = measure.lost(run.stats, ways, latency)
        change = run.at_change
        if change:
            sent, counted = change.tx, Fraction(round(change.at_ns), 10**9)
        elif trial.burst is not None:
            sent, counted = last.tx, Fraction(measure.sent_within(run.samples, float(seconds)))
        else:
            sent, counted = last.tx, seconds
        each = Fraction(sum(sent), len(ways))
        offered = each / counted
        # What it offered at most, where the time is known to some part of a second alone.
        surely = offered
        if change or trial.burst is not None:
            surely = each / max(counted - CHANGE_SECONDS, counted / 2 if change else seconds)
        result_checks = [
            f"{self.lab.where}, port {way.rx_port}, received {rx - tx} frames more than port {way.tx_port} sent: "
            "somebody else sends, or frames were doubled"
            for way, tx, rx in zip(ways, last.tx, last.rx, strict=True)
            if rx - tx > delays.duplicated
        ]
        if delays.duplicated:
            result_checks.append(
                f"{delays.duplicated} latency frames came twice: others, which have no numbers, may hide lost ones"
            )
        if surely < OFFERED_ENOUGH * trial.fps:
            result_checks.append(
                f"{self.lab.where} sent {float(100 * offered / trial.fps):.2f} % of the intended load: give it more cores (-c), "
                "or choose a lower --load"
            )
        if trial.burst is not None and any(tx != trial.burst for tx in last.tx):
            result_checks.append(
                f"{self.lab.where} sent {' and '.join(map(str, last.tx))} frames of a burst of {trial.burst}"
            )
        if groups and delays.latency is None and not trial.reset:
            result_checks.append(f"{self.lab.where} received none of its latency frames")
        result_checks += [
            f"{self.lab.where}, port {way.rx_port}, counted {errors} receive errors of its own"
            for way in ways
            if (errors := int(measure.number(run.stats.get(str(way.rx_port), {}).get("ierrors"))))
        ]
        result_checks += blame.tester(self.lab, trial, sum(missing), run, ways, self._cable_of(trial.setup))
        outage = None
        if trial.reset:
            # RFC 6201 4's loss method: counters are read too seldom to tell when the first packet
            # after the reset came.
            outage = max(missing) / float(trial.fps) * 1e9
            if run.silent():
                result_checks.append(
                    f"{self.lab.boxes[0].name} forwarded nothing at the end of the trial; choose a longer one"
                )
        return TrialResult(
            intended_fps=trial.fps,
            offered_fps=offered,
            tx_frames=sum(last.tx),
            rx_frames=sum(last.rx),
            lost=sum(missing),
            reordered=delays.reordered,
            duplicated=delays.duplicated,
            corrupted=int(measure.number(run.stats.get("latency", {}).get("global", {}).get("bad_hdr"))),
            queue_grew=False,  # not to be seen from outside a box
            lifo_ns=None,
            fifo_ns=delays.latency,
            jitter_ns=delays.jitter_ns,
            histogram=delays.histogram,
            last_loss_ns=measure.last_loss_ns(run.samples),
            outage_ns=outage,
            checks=result_checks,
            tester=self._tester(trial, run),
        )

    def _cable_of(self, setup: Setup) -> dict | None:
        """What the cable carried of such frames."""
        return self._calibration.get(calibration.name(setup.mix))

    def _tester(self, trial: Trial, run: Run) -> dict:
        """What rows say of who measured them."""
        busy = {f"{name}_pct": round(run.busiest.get(f"{name}_util", 0.0), 1) for name in ("cpu", "rx_cpu")}
        full = int(measure.number(run.stats.get("global", {}).get("queue_full")))
        about = {name: value for name, value in self._about.items() if name != "ports"}
        more = {"lab": str(self.lab.file), "start_ms": self._start_ms, "cable": self._cable_of(trial.setup)}
        return {"name": "TRex", **about, **more, **busy, "queue_full": full}
