# SPDX-License-Identifier: Apache-2.0
"""Network namespaces of Linux for the two gateways of a run, joined by a cable for IKE."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from sallyport.errors import InputError


class Space:
    """One namespace, without IPv6: its kernel sends nothing by itself but ARP."""

    def __init__(self, name: str, device: str) -> None:
        self.name, self.device = name, device

    def command(self, *words: object) -> list[str]:
        """The command line that runs a program inside."""
        return ["ip", "netns", "exec", self.name, *map(str, words)]

    def run(self, *words: object) -> str:
        """What a program inside prints."""
        return _run(*self.command(*words))


def check_rights() -> None:
    """[InputError] where this process may not make namespaces."""
    if os.geteuid() != 0:
        raise InputError("IKE is measured between network namespaces, which root alone makes: run this as root")


@contextmanager
def cabled(addresses: tuple[str, str], prefix: int) -> Iterator[list[Space]]:
    """Two namespaces at the ends of a virtual cable, with these addresses. They end with the
    context."""
    # Two runs on one machine have other names. A device has 15 characters at most.
    stem = f"sp{os.getpid()}"
    spaces = [Space(f"{stem}{letter}", f"{stem}{letter}") for letter in "ab"]
    try:
        for space in spaces:
            _run("ip", "netns", "add", space.name)
            for which in ("all", "default"):
                space.run("sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{which}/disable_ipv6")
        _run("ip", "link", "add", spaces[0].device, "type", "veth", "peer", "name", spaces[1].device)
        for space, address in zip(spaces, addresses, strict=True):
            _run("ip", "link", "set", space.device, "netns", space.name)
            space.run("ip", "addr", "add", f"{address}/{prefix}", "dev", space.device)
            for device in ("lo", space.device):
                space.run("ip", "link", "set", device, "up")
        yield spaces
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space.name], capture_output=True, check=False)


def _run(*words: str) -> str:
    """The output of a command, or its own sentence as an [InputError]."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError(f"'{' '.join(words)}' failed ({done.stderr.strip()}): IKE needs network namespaces")
    return done.stdout
