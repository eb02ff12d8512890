# SPDX-License-Identifier: Apache-2.0
"""Trials give the same rows wherever they are made; a lost worker loses none, and a killed sweep
goes on where it was."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from sallyport import suites
from sallyport.backend import Setup, Trial, TrialResult
from sallyport.backend_sim import SimBackend
from sallyport.cli import main
from sallyport.errors import InputError
from sallyport.progress import Progress, Verbosity
from sallyport.rfc2544 import plan
from sallyport.rfc2544.case import Options
from sallyport.rfc2544.sizes import parse
from sallyport.simulator import CRYPTO_VARIABLE
from sallyport.sweep import Cache, ClusterPool, LocalPool, Pool, Trials, Where, cluster
from sallyport.sweep.cache import key
from tests.support.replay import sallyport
from tests.support.runs import WALL

CRYPTO = os.environ.get(CRYPTO_VARIABLE, "rtl")
SETUP = Setup({}, suites.parse("aes256gcm16"), threads=1, warmup_ns=5_000, measure_ns=10_000, crypto=CRYPTO)
TESTS, SIZES = ["throughput", "loss"], "64,1400"


class Counted:
    """A pool that counts the trials it makes, and may do something after one of them."""

    jobs = 1

    def __init__(self, pool: Pool, after: Callable[[int], None] = lambda _: None) -> None:
        self._pool, self._after, self.jobs, self.made = pool, after, pool.jobs, 0
        self._lock = threading.Lock()

    def run(self, name: str, trial: Trial) -> TrialResult:
        result = self._pool.run(name, trial)
        with self._lock:
            self.made += 1
            self._after(self.made)
        return result

    def close(self) -> None:
        self._pool.close()


def sweep(pool: Pool, cache: Cache | None = None) -> list[dict]:
    """The rows of a small command, without what wall-clock time is in."""
    with closing(pool), closing(SimBackend()) as backend:
        capabilities = backend.capabilities()
        trials = Trials(pool, Progress(Verbosity.QUIET), capabilities.repeatable, cache)
        cases = plan.cases(TESTS, SETUP, parse(SIZES, SETUP), Options(), capabilities, trials.run)
        made = [row for _, rows in plan.outcomes(cases, pool.jobs) for row in rows]
    return [{key: value for key, value in row.items() if key not in WALL} for row in made]


@pytest.fixture(scope="module")
def alone() -> list[dict]:
    """The rows as one process makes them."""
    rows = sweep(LocalPool(SimBackend()))
    assert [row["test"] for row in rows][:2] == ["throughput", "throughput"]
    assert len(rows) > 4
    return rows


@pytest.fixture
def two_workers():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as both:
        yield both


def test_four_processes_make_the_same_rows(alone: list[dict]) -> None:
    assert sweep(ClusterPool(Where(jobs=4))) == alone


def test_a_killed_worker_changes_nothing(alone: list[dict], two_workers: LocalCluster) -> None:
    """Of two workers of a cluster, one is killed after the first trial; the trial it had is
    made again."""
    address = two_workers.scheduler_address
    with Client(address) as watcher:
        (victim, *_) = sorted(watcher.run(os.getpid).values())
        killed = []

        def kill(made: int) -> None:
            if made == 1:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        assert sweep(Counted(ClusterPool(Where(scheduler=address)), kill)) == alone
        assert killed
        assert victim not in watcher.run(os.getpid).values()


def test_a_killed_sweep_goes_on_where_it_was(alone: list[dict], tmp_path: Path) -> None:
    def interrupt(made: int) -> None:
        if made == 3:
            raise KeyboardInterrupt

    cache = Cache(tmp_path / "trials")
    first = Counted(LocalPool(SimBackend()), interrupt)
    with pytest.raises(KeyboardInterrupt):
        sweep(first, cache)
    kept = len(list((tmp_path / "trials").glob("*.json")))
    assert (first.made, kept) == (3, 2)  # the third was made and not yet written down
    second = Counted(LocalPool(SimBackend()))
    assert sweep(second, cache) == alone
    third = Counted(LocalPool(SimBackend()))
    assert sweep(third, cache) == alone
    assert (kept + second.made, third.made) == (len(list((tmp_path / "trials").glob("*.json"))), 0)


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    setup = replace(SETUP, mix={1400: 1})
    pool = Counted(LocalPool(SimBackend()))

    def made() -> int:
        Trials(pool, Progress(Verbosity.QUIET), True, Cache(tmp_path)).run("1400", Trial(setup, setup.line_fps / 2))
        return pool.made

    with closing(pool):
        assert [made(), made()] == [1, 1]
        (kept,) = tmp_path.glob("*.json")
        kept.write_text(kept.read_text()[:100])
        assert [made(), made()] == [2, 2]


def test_threads_are_no_part_of_what_a_trial_is() -> None:
    trial = Trial(replace(SETUP, mix={64: 1}), replace(SETUP, mix={64: 1}).line_fps)
    assert key(trial) == key(replace(trial, setup=replace(trial.setup, threads=2)))
    others = [
        replace(trial, fps=trial.fps / 2),
        replace(trial, burst=3),
        replace(trial, reset="hardware"),
        replace(trial, setup=replace(trial.setup, seed=2)),
        replace(trial, setup=replace(trial.setup, suites=suites.parse("sm4gcm16"))),
    ]
    assert len({key(trial), *map(key, others)}) == 1 + len(others)


def test_a_worker_of_another_build_is_refused() -> None:
    with pytest.raises(InputError, match="a worker has another build"):
        cluster._run(Trial(replace(SETUP, mix={64: 1}), SETUP.seed), "another digest")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler tcp://127.0.0.1:9: no Dask scheduler answers"),
        (["--scheduler", "nowhere"], "--scheduler nowhere: no Dask scheduler answers"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_sentence(arguments: list[str], sentence: str) -> None:
    done = sallyport("rfc2544", *arguments, check=False)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"sallyport: {sentence}")


@pytest.mark.parametrize(("system", "command"), [("slurm", "sbatch"), ("lsf", "bsub"), ("pbs", "qsub")])
def test_a_batch_system_that_is_not_there_is_one_sentence(
    system: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also on a machine that has one: PATH leads nowhere. Ctrl-C is still an exception after
    dask_jobqueue's import."""
    interrupt = signal.getsignal(signal.SIGINT)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["rfc2544", f"--{system}", "--jobs", "2"])
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (2, 1)
    assert said.startswith(f"sallyport: --{system}: there is no '{command}' on this machine")
    assert signal.getsignal(signal.SIGINT) is interrupt
