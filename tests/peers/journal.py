# SPDX-License-Identifier: Apache-2.0
"""systemd-journald without systemd: alone in a mount namespace, whose /run and /var/log are empty.
Programs there log to it by systemd-cat."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.peers.programs import need

JOURNALD = Path("/lib/systemd/systemd-journald")
WAIT_S = 60
EMPTY = """
set -e
mount -t tmpfs none /run
mount -t tmpfs none /var/log
mkdir -p /run/systemd/journal
echo ready
exec sleep infinity
"""


class Journal:
    """What it holds, and the namespace."""

    def __init__(self, process: int) -> None:
        self._process = process

    def inside(self, *words: object) -> list[str]:
        """The command line that runs a program there."""
        return ["nsenter", "--mount", "--target", str(self._process), "--", *map(str, words)]

    def run(self, *words: object) -> str:
        done = subprocess.run(self.inside(*words), capture_output=True, text=True, check=False, timeout=WAIT_S)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def entries(self, identifier: str, *words: object) -> list[dict[str, str]]:
        """What it has of a program, with all fields, oldest first."""
        self.run("journalctl", "--sync")
        said = self.run("journalctl", "--quiet", "-o", "json", "-t", identifier, *words)
        return [json.loads(line) for line in said.splitlines()]


@contextmanager
def journal() -> Iterator[Journal]:
    """From when programs can log to it."""
    need("journalctl", "systemd-cat")
    space = subprocess.Popen(["unshare", "--mount", "sh", "-c", EMPTY], stdout=subprocess.PIPE, text=True)
    started: list[subprocess.Popen] = [space]
    try:
        assert space.stdout is not None and space.stdout.readline() == "ready\n"
        made = Journal(space.pid)
        started.append(subprocess.Popen(made.inside(JOURNALD)))
        end = time.monotonic() + WAIT_S
        while subprocess.run(made.inside("test", "-S", "/run/systemd/journal/stdout"), check=False).returncode:
            assert started[1].poll() is None and time.monotonic() < end, "systemd-journald does not start"
            time.sleep(0.1)
        yield made
    finally:
        for each in reversed(started):
            each.terminate()
            each.wait(WAIT_S)
