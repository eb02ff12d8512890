# SPDX-License-Identifier: Apache-2.0
"""A sweep on Debian's Slurm: a node is drained and a job is killed under it, and its rows are those
of one process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.peers.slurm import Slurm, slurm
from tests.support.paths import ROOT
from tests.support.runs import WALL, rows

SWEEP = ("--test", "throughput,loss", "--frame-size", "64,512,1400", "--warmup-us", "20", "--measure-us", "40")
# As docs/how-to/cluster.md writes it.
JOBQUEUE = """jobqueue:
  slurm:
    memory: 1GB
    walltime: "02:00:00"
    queue: short
    log-directory: {folder}
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """The rows as one process makes them."""
    return rows(tmp_path_factory.mktemp("alone") / "rows.json", *SWEEP)


@contextmanager
def sweep(cluster: Slurm, folder: Path, jobs: int) -> Iterator[subprocess.Popen[str]]:
    """`./sallyport rfc2544 --slurm` under way, from when all its jobs run."""
    (folder / "jobqueue.yaml").write_text(JOBQUEUE.format(folder=folder))
    words = ["rfc2544", *SWEEP, "--no-cache", "--slurm", "--jobs", str(jobs), "--json", str(folder / "rows.json")]
    with (folder / "sweep.log").open("w") as log:
        process = subprocess.Popen(
            [ROOT / "sallyport", *words],
            env=cluster.environment | {"DASK_CONFIG": str(folder)},
            stdout=log, stderr=log, text=True, cwd=ROOT,
        )  # fmt: skip
    try:
        cluster.wait_for(lambda: process.poll() is not None or len(cluster.jobs()) == jobs, "jobs do not start")
        assert process.poll() is None, (folder / "sweep.log").read_text()
        yield process
    finally:
        process.kill()
        process.wait()


def made(folder: Path) -> list[dict]:
    """The rows of the sweep, without what wall-clock time is in."""
    found = json.loads((folder / "rows.json").read_text())
    return [{key: value for key, value in row.items() if key not in WALL} for row in found]


def worker_log(folder: Path, job: int) -> str:
    path = folder / f"dask-worker-{job}.err"
    return path.read_text() if path.exists() else ""


def test_a_drained_node_and_killed_jobs_change_no_row(alone: list[dict], tmp_path: Path) -> None:
    """Two jobs on three nodes. A node is drained and both jobs are killed, so that others must take
    their places elsewhere."""
    with slurm(tmp_path / "cluster", nodes=3) as cluster, sweep(cluster, tmp_path, jobs=2) as process:
        before = cluster.jobs()
        for job in before:
            cluster.wait_for(
                lambda job=job: "Registered to" in worker_log(tmp_path, job), "a job's worker does not start"
            )
        drained = before[min(before)]
        cluster.run("scontrol", "update", f"nodename={drained}", "state=drain", "reason=test")
        assert cluster.nodes()[drained] == "draining"
        cluster.run("scancel", "--signal=KILL", "--full", *before)
        assert process.poll() is None, "the sweep was over before its jobs were killed"
        cluster.wait_for(lambda: len(new_jobs(cluster, before)) == 2, "no jobs took their places")
        assert drained not in cluster.jobs().values()
        assert process.wait() == 0, (tmp_path / "sweep.log").read_text()
        assert cluster.nodes()[drained] == "drained"
        cluster.wait_for(lambda: not cluster.jobs(), "jobs are left")
    assert made(tmp_path) == alone


def new_jobs(cluster: Slurm, before: dict[int, str]) -> set[int]:
    """Jobs that run and did not before."""
    return set(cluster.jobs()) - set(before)
