# SPDX-License-Identifier: Apache-2.0
"""FRR's daemons as a router in a network namespace."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.namespaces import WAIT_S, Host

DAEMONS = Path("/usr/lib/frr")
# Debian's FRR runs as this user, and its sockets are of a group that only this user is in.
USER = "frr"


class Router:
    """The daemons of one namespace, by the folder of their sockets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def kill(self, name: str) -> None:
        """End a daemon at once, so that it says good-bye to no neighbour."""
        os.kill(int((self.folder / f"{name}.pid").read_text()), signal.SIGKILL)

    def show(self, what: str) -> dict:
        """What `show … json` of vtysh prints."""
        words = ["vtysh", "--vty_socket", str(self.folder), "-c", f"show {what} json"]
        return json.loads(subprocess.run(words, check=True, capture_output=True, text=True, timeout=WAIT_S).stdout)

    def configure(self, *lines: str) -> None:
        """Lines of a configuration, as typed into vtysh."""
        words = ["vtysh", "--vty_socket", str(self.folder)]
        for line in ("configure", *lines):
            words += ["-c", line]
        subprocess.run(words, check=True, capture_output=True, timeout=WAIT_S)

    def wait(self, what: str, true: Callable[[dict], bool]) -> dict:
        """The answer of `show`, once `true` holds for it."""
        end = time.monotonic() + WAIT_S
        while not true(shown := self.show(what)):
            assert time.monotonic() < end, f"{shown}\n{self.log()}"
            time.sleep(0.2)
        return shown

    def log(self) -> str:
        return "".join(file.read_text() for file in sorted(self.folder.glob("*.log")))


@contextmanager
def router(host: Host, **configurations: str) -> Iterator[Router]:
    """zebra, and daemons of these names with these configurations, until the block ends."""
    if not (DAEMONS / "zebra").exists():
        pytest.skip("frr is not installed: run make peers")
    folder = Path(tempfile.mkdtemp(prefix="sallyport-frr-", dir="/run"))
    shutil.chown(folder, USER, USER)
    try:
        with ExitStack() as running:
            for name, lines in {"zebra": "", **configurations}.items():
                (folder / f"{name}.conf").write_text(f"log file {folder}/{name}.log\n{lines}")
                words = ["-f", f"{folder}/{name}.conf", "-i", f"{folder}/{name}.pid", "-z", f"{folder}/zserv"]
                running.enter_context(host.serving(DAEMONS / name, *words, "-P", 0, "--vty_socket", folder))
                _until_there(folder / f"{name}.vty")
            yield Router(folder)
    finally:
        shutil.rmtree(folder)


def _until_there(socket: Path) -> None:
    end = time.monotonic() + WAIT_S
    while not socket.exists():
        assert time.monotonic() < end, f"{socket.stem} does not start"
        time.sleep(0.05)
