# SPDX-License-Identifier: Apache-2.0
"""Two simulated boxes that stand in for each other (docs/decisions/0008), with their daemons, at
two switches: red and black."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.daemon import Client, Daemon
from tests.support.live_box import BOX
from tests.support.managed import DEVICES, TAPS
from tests.support.namespaces import PREFIX, WAIT_S, Host, Live, hosts, ip, live, skip_without_taps
from tests.support.switch import Switch

RATE = 40  # packets/s of an SA, as both daemons are told
INTERVAL_S, DEAD_S = 2, 8
# From a box's death until the other one knows: it asks every interval, and an answer may take as
# long; docs/reference/sallyportd-pair.md.
DETECTION_S = DEAD_S + 2 * INTERVAL_S
PORT = 19790
# Of sides a and b, on the cable between them. Of two charons that start, the ha plugin begins at
# the address that is the greater as text.
LINK = ("10.255.0.2", "10.255.0.1")


class PairBox:
    """A box, its daemon and, if it has one, the namespace where Linux is the host behind its ports.
    `run` and `daemon` may be killed."""

    def __init__(self, run: Live, daemon: Daemon, space: Host | None) -> None:
        self.run, self.daemon, self.space = run, daemon, space

    def configure(self, lines: str) -> None:
        client = Client(self.daemon.control)
        client.get("batch", lines=lines.splitlines())
        client.close()

    def wait_until_active(self) -> None:
        end = time.monotonic() + WAIT_S
        while "this box of the pair is active now" not in self.daemon.log():
            assert time.monotonic() < end, self.daemon.log()
            time.sleep(0.05)

    def die(self) -> None:
        """Everything of the box at once."""
        children = Path(f"/proc/{self.run.process.pid}/task/{self.run.process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        self.daemon.kill()
        self.run.kill()


def peer_words(side: str, folder: Path, linked: bool) -> str:
    """The daemon's configuration of the pair."""
    own, other = (0, 1) if side == "a" else (1, 0)
    mine, its = (f"{folder}/box-{'ab'[number]}" for number in (own, other))
    at = LINK if linked else ("127.0.0.1", "127.0.0.1")
    return (
        f'[events]\npoll = "2s"\n[peer]\nside = "{side}"\nlisten = "{at[own]}:{PORT + own}"\nconnect = "{at[other]}:{PORT + other}"\n'
        f'certificate = "{mine}.pem"\nkey = "{mine}.key"\ntrust = "{its}.pem"\nname = "{Path(its).name}"\n'
        f'interval = "{INTERVAL_S}s"\ndead_after = "{DEAD_S}s"\npackets_per_second = {RATE}\n'
    )


def certify(folder: Path, name: str) -> None:
    """A key and a certificate for it, as docs/how-to/fail-over.md has them made."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
         "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", f"{name}.key", "-out", f"{name}.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


def cable(spaces: list[Host]) -> None:
    """Joins the namespaces of two boxes."""
    ends = [f"{PREFIX}l{n}" for n in "ab"]
    ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    for space, end, address in zip(spaces, ends, LINK, strict=True):
        space.take(end, f"{address}/24")
        space.run("ip", "link", "set", "lo", "up")


@contextmanager
def pair(folder: Path, linux: bool = False) -> Iterator[tuple[list[PairBox], Switch, Switch]]:
    """Boxes without a configuration, the first of them on side a, and the switches, red and black.
    With `linux` each daemon is in a namespace of its own, where the box's addresses are."""
    skip_without_taps()
    nothing = folder / "nothing.xfrm"
    nothing.write_text("# The daemons configure the boxes.\n")
    for letter in "ab":
        certify(folder, f"box-{letter}")
    taps = {colour: [f"{PREFIX}{colour[0]}{box}" for box in (0, 1)] for colour in ("red", "black")}
    with ExitStack() as stack:
        networks = stack.enter_context(hosts("red", "black"))
        spaces: list[Host | None] = [None, None]
        if linux:
            made = stack.enter_context(hosts("a", "b"))
            cable(made)
            spaces = [*made]
        boxes = []
        for number, (side, space) in enumerate(zip("ab", spaces, strict=True)):
            own = folder / side
            own.mkdir()
            words = ("--crypto", "model", "--threads", 1, "--xfrm", nothing, "--socket-dir", own)
            ports = ("--red-tap", taps["red"][number], "--black-tap", taps["black"][number])
            run = stack.enter_context(live(*words, *ports))
            more = (TAPS if linux else "") + peer_words(side, folder, linux)
            boxes.append(PairBox(run, Daemon(own / "box0.sock", own / "daemon", number, more, space), space))
        switches = [Switch(space, taps[colour]) for space, colour in zip(networks, taps, strict=True)]
        for switch in switches:
            stack.callback(switch.close)
        for box in boxes:
            box.daemon.start()
            stack.callback(box.daemon.kill)
            if box.space:
                for device, (address, _) in zip(DEVICES, BOX.values(), strict=True):
                    box.space.run("ip", "addr", "add", f"{address}/24", "dev", device)
        yield boxes, switches[0], switches[1]
