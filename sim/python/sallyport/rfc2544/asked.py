# SPDX-License-Identifier: Apache-2.0
"""What `./sallyport rfc2544` was asked: its options, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sallyport import report, suites
from sallyport.backend import Capabilities, Setup, TrafficBackend
from sallyport.backend_sim import SimBackend, rekey
from sallyport.errors import InputError
from sallyport.progress import Verbosity
from sallyport.rfc2544 import plan, quantities
from sallyport.rfc2544.case import Options
from sallyport.rfc2544.search import GOALS, Goal
from sallyport.rows import key
from sallyport.sweep import Where
from sallyport.trex.option import backend as trex_backend

BACKENDS = ("sim", "trex")
DEFAULT_SIZES, ALL_SIZES, IKE_SIZE, STATEFUL_SIZE = "64,512,1400,1518", "all", "512", "1400"
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
    object_size: str | None
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

    def _of(self, group: str) -> bool:
        """Whether it asks for tests of a group; then it asks for no others (plan.parse_tests)."""
        return any(part.strip() in (group, *plan.APART[group].tests) for part in self.test.split(","))

    @property
    def of_ike(self) -> bool:
        return self._of(plan.IKE)

    @property
    def of_connections(self) -> bool:
        return self._of(plan.STATEFUL)

    def setup(self, capabilities: Capabilities) -> Setup:
        """The setup of all trials, without their frames, of options that do not exclude each other
        (exclusions.py)."""
        chosen = suites.parse(self.suite)
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

    def options(self, capabilities: Capabilities) -> Options:
        return Options(
            load=quantities.percent("--load", self.load, "line rate"),
            share=quantities.percent("--share", self.share, "the theoretical maximum"),
            latency_at=tuple(
                quantities.percent("--latency-at", part, "the throughput") for part in self.latency_at.split(",")
            ),
            burst_runs=self.burst_runs,
            goal=self.search_goal(capabilities),
            repeats=self.repeat,
            ike_trials=self.trials or IKE_TRIALS,
            ike_flood=self.ike_flood or IKE_FLOOD,
            objects=quantities.objects(self.object_size),
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
        if self.frame_size:
            return self.frame_size
        if self.test == plan.ALL:
            return ALL_SIZES
        return IKE_SIZE if self.of_ike else STATEFUL_SIZE if self.of_connections else DEFAULT_SIZES

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
