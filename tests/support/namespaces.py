# SPDX-License-Identifier: Apache-2.0
"""Network namespaces and a live run for a test, all of it gone afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TUN = Path("/dev/net/tun")
# No two runs of the tests on one machine have the same names; a device's has 15 characters at most.
PREFIX = f"sl{os.getpid()}"
WAIT_S = 300  # for what takes seconds on a machine with nothing else to do


def skip_without_taps() -> None:
    """Skip where devices and namespaces cannot be made, and say why."""
    if os.geteuid() != 0 or not TUN.exists():
        pytest.skip(f"live runs need root and {TUN}")
    space = f"{PREFIX}probe"
    made = subprocess.run(["ip", "netns", "add", space], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"network namespaces cannot be made here: {made.stderr.strip()}")
    ip("netns", "del", space)


def ip(*words: object) -> None:
    subprocess.run(["ip", *map(str, words)], check=True)


class Host:
    """A namespace of its own at a live run's TAP. No IPv6, so that the kernel sends nothing by
    itself but ARP."""

    def __init__(self, name: str) -> None:
        self.name = name
        ip("netns", "add", name)
        for which in ("all", "default"):
            self.run("sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{which}/disable_ipv6")

    def take(self, device: str, *addresses: str, mac: str | None = None) -> None:
        """Move a device in, give it addresses, set it up."""
        ip("link", "set", device, "netns", self.name)
        if mac:
            ip("-n", self.name, "link", "set", device, "address", mac)
        for address in addresses:
            ip("-n", self.name, "addr", "add", address, "dev", device)
        ip("-n", self.name, "link", "set", device, "up")

    def command(self, *words: object) -> list[str]:
        return ["ip", "netns", "exec", self.name, *map(str, words)]

    def run(self, *words: object) -> str:
        """What a command in the namespace prints."""
        return subprocess.run(
            self.command(*words), check=True, stdout=subprocess.PIPE, text=True, timeout=WAIT_S
        ).stdout

    def python(self, program: str, *arguments: object) -> str:
        return self.run(sys.executable, "-c", program, *arguments)

    @contextmanager
    def serving(self, *words: object) -> Iterator[subprocess.Popen[str]]:
        """A command in the namespace, and in this clone's root, for the time of a with block."""
        process = subprocess.Popen(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


@contextmanager
def hosts(*names: str) -> Iterator[list[Host]]:
    """Namespaces with these names behind the run's prefix."""
    made: list[Host] = []
    try:
        for name in names:
            made.append(Host(PREFIX + name))
        yield made
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", PREFIX + name], capture_output=True, check=False)


@contextmanager
def persistent_tap(name: str) -> Iterator[None]:
    """A TAP without an owner, until its namespace goes or this ends."""
    ip("tuntap", "add", "dev", name, "mode", "tap")
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)


class Live:
    """`./sallyport live` under way, from when it takes frames."""

    def __init__(self, *arguments: object) -> None:
        self._out = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the object)
        self.process = subprocess.Popen(
            [str(ROOT / "sallyport"), "live", *map(str, arguments)],
            stdout=self._out,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
        )

    def said(self) -> str:
        self._out.seek(0)
        return self._out.read()

    def wait_until_ready(self) -> None:
        end = time.monotonic() + WAIT_S
        while "Ctrl-C" not in self.said():
            assert self.process.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.05)

    def stop(self, number: int) -> tuple[int, str]:
        """Exit status, and everything that was printed."""
        self.process.send_signal(number)
        return self.process.wait(WAIT_S), self.said()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def live(*arguments: object) -> Iterator[Live]:
    """A live run that has begun, and is over afterwards."""
    run = Live(*arguments)
    try:
        run.wait_until_ready()
        yield run
    finally:
        run.kill()
