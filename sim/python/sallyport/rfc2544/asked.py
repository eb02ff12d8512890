# SPDX-License-Identifier: Apache-2.0
"""What `./sallyport rfc2544` was asked: its options, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from sallyport import report, suites
from sallyport.backend import Capabilities, Setup, TrafficBackend
from sallyport.backend_sim import SimBackend, rekey
from sallyport.errors import InputError
from sallyport.ike import MEASURES
from sallyport.progress import Verbosity
from sallyport.rfc2544 import plan
from sallyport.rfc2544.case import Options
from sallyport.rfc2544.search import GOALS, Goal
from sallyport.rows import key
from sallyport.sweep import Where
from sallyport.trex.option import backend as trex_backend

BACKENDS = ("sim", "trex")
MIN_LOAD = Fraction(1, 10_000)  # percent: 149 frames of 64 B a second at 100 Gb/s
DEFAULT_SIZES, ALL_SIZES, IKE_SIZE = "64,512,1400,1518", "all", "512"
IKE_TUNNELS, IKE_TRIALS, IKE_FLOOD = 16, 3, 1000  # unless the command says otherwise


@dataclass(frozen=True)
class Asked:
    """The command's options."""

    tester: str
    lab: Path | None
    test: str
    boxes: int
    direction: str
    suite: str
    mode: str
    ip: str
    nat_t: bool
    frame_size: str | None
    load: str
    share: str
    latency_at: str
    burst_runs: int
    goal: str
    trials: int | None
    loss_tolerance: float | None
    repeat: int
    resume: bool
    tables: str
    sas: int | None
    ike_tunnels: int | None
    ike_flood: int | None
    warmup_us: int | None
    measure_us: int | None
    rekeys: int
    jobs: int | None
    scheduler: str | None
    batch: str | None
    no_cache: bool
    crypto: str
    chips: str
    core_mhz: float
    threads: int | None
    seed: int
    quiet: bool
    verbose: bool
    json_file: Path | None
    html_file: Path | None

    def backend(self, on_progress: Callable[[float, float], None]) -> TrafficBackend:
        if self.tester == "trex":
            return trex_backend(self.lab, on_progress)
        if self.lab:
            raise InputError("--lab is of --backend trex: give that too, or leave it out")
        return SimBackend(on_progress)

    def where(self, capabilities: Capabilities) -> Where:
        """Where trials are made; [InputError] if they need this process and this moment."""
        where = Where(self.jobs, self.scheduler, self.batch)
        if not capabilities.repeatable and not where.here:
            raise InputError(
                f"--backend {capabilities.name} has one set of boxes: leave out --jobs, --scheduler, --slurm, --lsf and --pbs"
            )
        if self.of_ike and not where.here:
            raise InputError(
                f"--test {self.test}: IKE runs in this machine's time, one run after the other; "
                "leave out --jobs, --scheduler, --slurm, --lsf and --pbs"
            )
        return where

    @property
    def of_ike(self) -> bool:
        """Whether it asks for tests of IKE; then it asks for no others (plan.parse_tests)."""
        return any(part.strip() == plan.IKE or part.strip() in MEASURES for part in self.test.split(","))

    def setup(self, capabilities: Capabilities) -> Setup:
        """The setup of all trials, without their frames; [InputError] for options that exclude
        each other."""
        chosen = suites.parse(self.suite)
        if self.boxes == 1 and len({each.fast for each in chosen}) > 1:
            raise InputError(
                f"--suite {self.suite} with --boxes 1: the tester pairs frames by their order, and suites with GHASH overtake "
                "the others: choose suites of one kind, or two boxes"
            )
        if self.rekeys and self.boxes == 1:
            raise InputError("--rekeys with --boxes 1: a rekey is between two boxes")
        if self.nat_t and self.mode == "transport":
            raise InputError(
                "--nat-t with --mode transport: boxes encapsulate tunnels alone (docs/explanation/encrypt-path.md); choose --mode tunnel"
            )
        if self.of_ike:
            self._check_ike()
        elif self.ike_tunnels or self.ike_flood:
            name = "--ike-tunnels" if self.ike_tunnels else "--ike-flood"
            raise InputError(f"{name} is of the tests of IKE: choose --test ike, or leave it out")
        sas = (self.ike_tunnels or IKE_TUNNELS) if self.of_ike else self.sas or len(chosen)
        option = "--ike-tunnels" if self.of_ike else "--sas"
        if sas % len(chosen):
            raise InputError(
                f"{option} {sas}: the {len(chosen)} suites take the SAs in turn; choose a multiple of {len(chosen)}"
            )
        measure_ns = max(capabilities.measure_ns, 1000 * rekey.measure_us(self.rekeys, sas, chosen))
        return Setup(
            mix={},
            suites=chosen,
            boxes=self.boxes,
            direction=self.direction,
            mode=self.mode,
            ip=int(self.ip),
            nat_t=self.nat_t,
            sas=sas,
            tables=self.tables,
            crypto=self.crypto,
            chips=self.chips,
            core_mhz=self.core_mhz,
            seed=self.seed,
            threads=self.threads,
            warmup_ns=self.warmup_us * 1000 if self.warmup_us else capabilities.warmup_ns,
            measure_ns=self.measure_us * 1000 if self.measure_us else measure_ns,
            rekeys=self.rekeys,
            line_gbps=capabilities.line_gbps,
            pairs=capabilities.pairs,
        )

    def _check_ike(self) -> None:
        """[InputError] for options that have no meaning in a test of IKE."""
        given = {
            "--sas": (self.sas, "--ike-tunnels says how many tunnels"),
            "--rekeys": (self.rekeys, "ike-rekeys rekeys each tunnel once"),
            "--goal": (self.goal != "rfc2544", "nothing is searched"),
            "--direction": (self.direction != "both", "the traffic goes both ways"),
        }
        for option, (there, instead) in given.items():
            if there:
                raise InputError(f"{option} with --test {self.test}: {instead}; leave it out")

    def options(self, capabilities: Capabilities) -> Options:
        return Options(
            load=_percent("--load", self.load, "line rate"),
            share=_percent("--share", self.share, "the theoretical maximum"),
            latency_at=tuple(_percent("--latency-at", part, "the throughput") for part in self.latency_at.split(",")),
            burst_runs=self.burst_runs,
            goal=self.search_goal(capabilities),
            repeats=self.repeat,
            ike_trials=self.trials or IKE_TRIALS,
            ike_flood=self.ike_flood or IKE_FLOOD,
            latency_measure_ns=None if self.measure_us or self.rekeys else capabilities.latency_measure_ns,
        )

    def search_goal(self, capabilities: Capabilities) -> Goal:
        """The goal, whose seconds are a real tester's: simulated trials are as long as
        the setup's."""
        goal = GOALS[self.goal]
        if capabilities.simulated or self.measure_us:
            goal = replace(goal, trial_ns=None)
        return replace(
            goal,
            trials=self.trials or goal.trials,
            loss=goal.loss if self.loss_tolerance is None else self.loss_tolerance / 100,
        )

    def sizes(self) -> str:
        return self.frame_size or (ALL_SIZES if self.test == plan.ALL else IKE_SIZE if self.of_ike else DEFAULT_SIZES)

    def verbosity(self) -> Verbosity:
        if self.quiet:
            return Verbosity.QUIET
        return Verbosity.VERBOSE if self.verbose else Verbosity.NORMAL

    def kept(self) -> list[dict]:
        """Rows of before that a resumed run goes on from."""
        return report.kept(self.html_file, self.json_file) if self.resume else []

    def check_kept(self, rows: list[dict], planned: set[tuple]) -> None:
        """[InputError] if a row of before is of no case that this command has."""
        strange = next((row for row in rows if key(row) not in planned), None)
        if strange:
            raise InputError(
                f"--resume: the row of {strange['test']} {strange['frame_size']} is of another command; repeat that one's "
                "options, name another file, or leave --resume out"
            )

    def keep(self, rows: list[dict]) -> None:
        """Write the rows so far, so that they survive any end of the run."""
        report.write_rows(rows, self.html_file, self.json_file)

    def write(self, rows: list[dict]) -> None:
        """Leave the rows where they were asked for."""
        if rows:
            report.write_all(rows, self.html_file, self.json_file)


def _percent(option: str, text: str, whole: str) -> Fraction:
    """A percentage as a part of the whole."""
    try:
        value = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{option} {text!r}: give a number of percent") from None
    if not MIN_LOAD <= value <= 100:
        raise InputError(f"{option} {text}: choose {float(MIN_LOAD):f} to 100 percent of {whole}")
    return value / 100
