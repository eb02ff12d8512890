# SPDX-License-Identifier: Apache-2.0
"""The sender of half-open IKE_SAs (flood.py) as a process between two namespaces."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sallyport.errors import CheckFailed
from sallyport.ike.spaces import Space
from sallyport.simulator import ROOT
from sallyport.tunnels import BLACK


class Flood:
    """Requests that it sent, and how long it took; 0 until it is over."""

    sent, seconds = 0, 0.0


@contextmanager
def flood(near: Space, far: Space, ip: int, rate: int) -> Iterator[Flood]:
    """So many requests a second from one to the other while the context lasts."""
    # So that charon can answer all sources, as over the internet. There the answers end.
    far.run("ip", "route", "add", "default", "via", BLACK[ip][0])
    words = (near.device, _mac(far), _mac(near), BLACK[ip][1], rate)
    process = subprocess.Popen(
        near.command(sys.executable, "-m", "sallyport.ike.flood", *words),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    found = Flood()
    try:
        yield found
        said, wrong = process.communicate()  # ends its input, and so the flood
        if process.returncode != 0:
            raise CheckFailed(f"the flood ended early: {wrong.strip()[-300:]}")
        sent, seconds = said.split()
        found.sent, found.seconds = int(sent), float(seconds)
    finally:
        process.kill()
        process.wait()


def _mac(space: Space) -> str:
    return space.run("cat", f"/sys/class/net/{space.device}/address").strip()
