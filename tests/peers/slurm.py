# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster on this machine: munged, slurmctld and a slurmd for each node, with all their
files in one folder."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.peers.programs import need
from tests.support.namespaces import WAIT_S

# Below the ports that the kernel gives out; two runs of the tests on one machine have other ones.
FIRST_PORT = 20000 + os.getpid() * 8 % 12000
CONFIG = """ClusterName=peers
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MailProg=/bin/true
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
{nodes}
PartitionName=short Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """The cluster's commands."""

    def __init__(self, folder: Path) -> None:
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def run(self, *words: object) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(
            list(map(str, words)), env=self.environment, capture_output=True, text=True, check=False, timeout=WAIT_S
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def nodes(self) -> dict[str, str]:
        """The state of each node."""
        lines = self.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines()
        return dict(line.split() for line in lines)

    def jobs(self) -> dict[int, str]:
        """The node of each job that runs."""
        lines = self.run("squeue", "-h", "-t", "R", "-o", "%A %N").splitlines()
        return {int(number): node for number, node in map(str.split, lines)}

    def wait_for(self, condition, what: str) -> None:
        end = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < end, f"{what}: {self.nodes()}, {self.run('squeue')}"
            time.sleep(0.2)


@contextmanager
def slurm(folder: Path, nodes: int) -> Iterator[Slurm]:
    """A cluster whose nodes n0, n1 … are idle and have a processor each; every process of it ends
    with the block."""
    munged, slurmctld, slurmd, *_ = need("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "squeue", "scancel")
    host = socket.gethostname()
    (folder / "state").mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    rows = "\n".join(
        f"NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={FIRST_PORT + 1 + n} CPUs=1 RealMemory=4000 State=UNKNOWN"
        for n in range(nodes)
    )
    (folder / "slurm.conf").write_text(CONFIG.format(host=host, port=FIRST_PORT, folder=folder, nodes=rows))
    cluster = Slurm(folder)
    with ExitStack() as stack:
        for name, words in {
            "munged": [munged, "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock",
                       f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munged.seed"],
            "slurmctld": [slurmctld, "-D", "-c"],
            **{f"slurmd-n{n}": [slurmd, "-D", "-N", f"n{n}"] for n in range(nodes)},
        }.items():  # fmt: skip
            stack.enter_context(_serving(words, folder / f"{name}.log", cluster.environment))
        cluster.wait_for(lambda: _answers(cluster), "the cluster did not come up")
        yield cluster


def _answers(cluster: Slurm) -> bool:
    try:
        return set(cluster.nodes().values()) == {"idle"}
    except AssertionError:
        return False


@contextmanager
def _serving(words: list[str], log: Path, environment: dict[str, str]) -> Iterator[None]:
    with log.open("w") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env=environment)
    try:
        yield
    finally:
        process.terminate()
        process.wait(WAIT_S)
