# SPDX-License-Identifier: Apache-2.0
"""One routed box between a host and a peer on TAPs, with the sockets of its software in a folder of
the test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.namespaces import PREFIX, WAIT_S, Host, Live, hosts, live, skip_without_taps
from tests.support.paths import ROOT

RED_TAP, BLACK_TAP = f"{PREFIX}r", f"{PREFIX}b"
RED_HOST, PEER = "10.1.0.2", "192.0.2.2"
RED_HOST_MAC, PEER_MAC = "02:00:00:00:01:02", "02:00:00:00:02:02"
BOX = {0: ("10.1.0.1", "02:72:0a:01:00:01"), 1: ("192.0.2.1", "02:62:c0:00:02:01")}
BATCH = f"""addr add {BOX[0][0]}/24 dev red
addr add {BOX[1][0]}/24 dev black
neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red
neigh add {PEER} lladdr {PEER_MAC} dev black
xfrm policy add src 10.1.0.0/24 dst 192.0.2.0/24 dir out action allow
xfrm policy add src 192.0.2.0/24 dst 10.1.0.0/24 dir in action allow
"""
# Sends a datagram from port 500 to port 500 of an address, and prints the answer.
IKE = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.bind(("", 500))
    udp.settimeout(120)
    udp.sendto(b"are you there", (sys.argv[1], 500))
    data, where = udp.recvfrom(2000)
    print(data.decode(), *where)
"""


@contextmanager
def live_box(folder: Path, *more: object, lines: str = BATCH) -> Iterator[tuple[Live, Host, Host]]:
    """The run, the host behind the red port and the peer on black, who know the box's addresses and
    no MAC of it."""
    skip_without_taps()
    batch = folder / "box.xfrm"
    batch.write_text(lines)
    taps = ("--red-tap", RED_TAP, "--black-tap", BLACK_TAP)
    with (
        hosts("red", "black") as (red, black),
        live("--xfrm", batch, *taps, "--socket-dir", folder, *more) as run,
    ):
        red.take(RED_TAP, f"{RED_HOST}/24", mac=RED_HOST_MAC)
        black.take(BLACK_TAP, f"{PEER}/24", mac=PEER_MAC)
        red.run("ip", "route", "add", "default", "via", BOX[0][0])
        black.run("ip", "route", "add", "10.1.0.0/24", "via", BOX[1][0])
        yield run, red, black


def sallyctl(folder: Path, *words: object) -> str:
    return subprocess.run(
        [ROOT / "build/bin/sallyctl", "--socket", folder / "box0.sock", *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    ).stdout
