# SPDX-License-Identifier: Apache-2.0
"""Trials on Dask: worker processes of this machine, of a batch system, or of a scheduler that is
there already.

A trial is a pure function, so Dask makes it again elsewhere when its worker is lost. A worker keeps
its simulation for the next trial of the same boxes.

Functions import Dask: that is half the time in which `./sallyport` starts, and few commands
need it.
"""

from __future__ import annotations

import atexit
import logging
import shutil
import signal
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from sallyport.backend import Trial, TrialResult
from sallyport.backend_sim import SimBackend
from sallyport.errors import CheckFailed, InputError
from sallyport.sweep import design

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

# How long a scheduler may take to answer, and how often a trial may take its worker along before it
# is given up.
CONNECT_S = 10
DEATHS = 3
BATCH_SYSTEMS = {"slurm": ("SLURMCluster", "sbatch"), "lsf": ("LSFCluster", "bsub"), "pbs": ("PBSCluster", "qsub")}


@dataclass(frozen=True)
class Where:
    """Where trials are made: `jobs` at once, on a scheduler's workers, or on those of a batch
    system ("slurm", "lsf", "pbs")."""

    jobs: int | None = None
    scheduler: str | None = None
    batch: str | None = None

    @property
    def here(self) -> bool:
        """True if one process is enough: this one."""
        return not self.scheduler and not self.batch and (self.jobs or 1) == 1


class ClusterPool:
    """Trials on Dask's workers."""

    def __init__(self, where: Where) -> None:
        """[InputError] if there is no such scheduler or batch system."""
        from dask import config

        config.set({"distributed.scheduler.allowed-failures": DEATHS})
        self._cluster: Any = None
        self._client = self._connect(where)
        workers: dict = self._client.scheduler_info(n_workers=-1)["workers"]
        self.jobs = where.jobs or max(1, len(workers))

    def _connect(self, where: Where) -> Client:
        from distributed import Client

        if where.scheduler:
            try:
                return Client(where.scheduler, timeout=CONNECT_S)
            except (OSError, ValueError, TypeError) as error:
                raise InputError(
                    f"--scheduler {where.scheduler}: no Dask scheduler answers there within {CONNECT_S} s ({_first_line(error)}); "
                    "start one with 'dask scheduler' or correct the address"
                ) from None
        self._cluster = _batch_cluster(where) if where.batch else _local_cluster(where.jobs or 1)
        return Client(self._cluster)

    def run(self, name: str, trial: Trial) -> TrialResult:
        # Each simulation has a processor; threads cannot change a result.
        alone = replace(trial, setup=replace(trial.setup, threads=trial.setup.threads or 1))
        future = self._client.submit(
            _run, alone, design.digest(trial.setup.tables, trial.setup.crypto, trial.setup.chips), key=f"trial-{name}"
        )
        try:
            return future.result()
        except (InputError, CheckFailed):
            raise
        except Exception as error:
            raise CheckFailed(f"a trial could not be made on its worker: {_first_line(error)}") from error

    def close(self) -> None:
        self._client.close()
        if self._cluster:
            self._cluster.close()


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _local_cluster(jobs: int) -> LocalCluster:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
    )


def _batch_cluster(where: Where) -> Any:
    """Workers as jobs of a batch system; queue, memory and wall time come from dask-jobqueue's own
    configuration file."""
    interrupt = signal.getsignal(signal.SIGINT)
    import dask_jobqueue

    # The import has Ctrl-C exit at once, before a sweep or a tester is stopped.
    signal.signal(signal.SIGINT, interrupt)
    assert where.batch
    name, command = BATCH_SYSTEMS[where.batch]
    if not shutil.which(command):
        raise InputError(
            f"--{where.batch}: there is no '{command}' on this machine; run on a login node of the cluster"
        )
    try:
        cluster = getattr(dask_jobqueue, name)(cores=1, processes=1)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"--{where.batch}: {_first_line(error)}; "
            "say queue, memory and wall time in ~/.config/dask/jobqueue.yaml (docs/how-to/cluster.md)"
        ) from None
    # Always so many: a job that the batch system ends is submitted again, which `scale` would
    # not do.
    cluster.adapt(minimum_jobs=where.jobs or 1, maximum_jobs=where.jobs or 1)
    return cluster


def _run(trial: Trial, expected: str) -> TrialResult:
    """On a worker: one trial, by the simulation that this worker keeps."""
    found = design.digest(trial.setup.tables, trial.setup.crypto, trial.setup.chips)
    if found != expected:
        raise InputError(
            "a worker has another build or another version of the front end than this machine: give it the same clone and 'make sim mgmt'"
        )
    try:
        return _backend().run_trial(trial)
    except BaseException:
        # The state of its simulation is unknown.
        _backend().close()
        _backend.cache_clear()
        raise


@cache
def _backend() -> SimBackend:
    """The simulation of this worker's process."""
    backend = SimBackend()
    atexit.register(backend.close)
    return backend
