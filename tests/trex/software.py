# SPDX-License-Identifier: Apache-2.0
"""A TRex release that runs in software, as docs/how-to/trex-software.md starts it; for tests that
TREX gives one."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.namespaces import Host
from tests.support.paths import ROOT

PAGE = (ROOT / "docs/how-to/trex-software.md").read_text()
LINKS, CONFIG, START, LAB, SEARCH = re.findall(r"```(?:sh|yaml)\n(.*?)```", PAGE, re.S)
STATEFUL_START = START.replace("--hdrh", "--astf")
UP_SECONDS, DOWN_SECONDS, COMMAND_SECONDS = 120, 60, 300


def release() -> Path:
    """The folder of the release; without one the test is skipped."""
    folder = Path(os.environ.get("TREX", "/nowhere"))
    if not (folder / "t-rex-64").exists():
        pytest.skip("TREX names no folder with t-rex-64: set TREX to a TRex release")
    return folder


def client(folder: Path) -> Path:
    """Its Python client."""
    return folder / "automation" / "trex_control_plane" / "interactive"


@contextlib.contextmanager
def running(namespace: str, folder: Path, here: Path, start: str = START) -> Iterator[None]:
    """TRex with trex_cfg.yaml of `here`, from when it answers. `t-rex-64` is a shell, whose end is
    not that of its child."""
    words = ["ip", "netns", "exec", namespace, "sh", "-c", f"exec {start}"]
    environment = os.environ | {"OLDPWD": str(here)}
    with (here / "trex.log").open("w") as log:
        trex = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
        try:
            deadline = time.monotonic() + UP_SECONDS
            while not _listens(namespace):
                assert trex.poll() is None and time.monotonic() < deadline, (here / "trex.log").read_text()[-2000:]
                time.sleep(1)
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(trex.pid, signal.SIGTERM)
            trex.wait(timeout=DOWN_SECONDS)
            deadline = time.monotonic() + DOWN_SECONDS
            while _locked() and time.monotonic() < deadline:
                time.sleep(0.2)


def _locked() -> bool:
    """Whether the release's process, a child of that shell, still holds what the next one needs."""
    try:
        with Path("/var/run/dpdk/rte/config").open("r+") as config:
            fcntl.lockf(config, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _listens(namespace: str) -> bool:
    words = ["ip", "netns", "exec", namespace, "ss", "-Hltn", "sport = :4501"]
    return bool(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def measured(host: Host, lab: Path, *options: object) -> list[dict]:
    """The rows of one command in a namespace, which finds programs beside the lab file first."""
    rows = lab.with_name("rows.json")
    words = ("rfc2544", "--backend", "trex", "--lab", lab, *options, "--json", rows)
    done = subprocess.run(
        host.command(ROOT / "sallyport", *words),
        env=os.environ | {"PATH": f"{lab.parent}:{os.environ['PATH']}"},
        cwd=lab.parent,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(rows.read_text())
