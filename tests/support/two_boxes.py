# SPDX-License-Identifier: Apache-2.0
"""Two live boxes with a tunnel between them, each with its daemon in a namespace where Linux has
the box's address at red and sends to the far network by the device of tunnels."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader

from tests.support.daemon import Client, Daemon
from tests.support.namespaces import PREFIX, Host, hosts, live, skip_without_taps
from tests.support.reference import FAR, NEAR, Tunnel

TUNNELS = "sp-vpn"
TAPS = f'[taps]\nred = "sp-red"\nblack = "sp-black"\ntunnels = "{TUNNELS}"\n'
OWN = ("10.1.0.1", "10.2.0.1")
NETWORKS = ("10.1.0.0/16", "10.2.0.0/16")
RED_TAPS = (f"{PREFIX}ra", f"{PREFIX}rb")
TUNNEL = Tunnel(near=NEAR, far=FAR)
MIRRORED = Tunnel(spi_out=TUNNEL.spi_in, spi_in=TUNNEL.spi_out, near=FAR, far=NEAR)


@dataclass(frozen=True)
class LiveBox:
    """A box's namespace, and a client of its daemon."""

    number: int
    space: Host
    daemon: Daemon
    client: Client

    def address(self, device: str) -> None:
        """Give new devices the box's address at red, and the way to the far network."""
        self.space.run("ip", "addr", "add", f"{OWN[self.number]}/24", "dev", "sp-red")
        route = (NETWORKS[1 - self.number], "dev", device, "src", OWN[self.number])
        self.space.run("ip", "route", "add", *route)

    def counters(self) -> dict[str, int]:
        """The inner chip's."""
        return self.client.get("counters")["chips"]["inner"]


def batch(number: int, more: str) -> str:
    """The configuration of a box: its network and the other one's are joined by the tunnel."""
    tunnel = (TUNNEL, MIRRORED)[number]
    near, far = NETWORKS[number], NETWORKS[1 - number]
    inbound = tunnel.batch(near, far, far).replace("dst 0.0.0.0/0 dir in", f"dst {near} dir in")
    return f"{inbound}addr add {OWN[number]}/24 dev red\n{more}"


@contextmanager
def two_boxes(
    folder: Path,
    more: Callable[[int], str] = lambda _: "",
    record: Path | None = None,
    chips: str = "core",
    made: Callable[[int, str], str] = batch,
    taps: str = TAPS,
    device: str = TUNNELS,
) -> Iterator[list[LiveBox]]:
    """Both boxes, each with `more` lines or otherwise `made`, and with no station at their red
    cables. Linux sends to the far network by `device`. The run's counters balance at its end."""
    skip_without_taps()
    words: list[object] = []
    for number in (0, 1):
        path = folder / f"box{number}.xfrm"
        path.write_text(made(number, more(number)))
        words += ["--xfrm", path, "--red-tap", RED_TAPS[number]]
    words += ["--socket-dir", folder, "--chips", chips, *(["--record", record] if record else [])]
    with hosts("a", "b") as spaces, live(*words) as run:
        boxes = []
        try:
            for number, space in enumerate(spaces):
                space.run("ip", "link", "set", "lo", "up")
                daemon = Daemon(folder / f"box{number}.sock", folder / f"daemon{number}", number, taps, space)
                daemon.start()
                boxes.append(LiveBox(number, space, daemon, Client(daemon.control)))
                boxes[-1].address(device)
            yield boxes
            # No box asks the other one for its address any more once that has no daemon, whose
            # card would hold the question.
            for box in boxes:
                box.space.run("ip", "link", "set", "sp-black", "down")
            for box in boxes:
                box.client.close()
                assert box.daemon.stop() == 0, box.daemon.log()
            status, said = run.stop(signal.SIGTERM)
            assert status == 0 and "conservation: " in said, said
        finally:
            for box in boxes:
                box.daemon.kill()


def black(record: Path, box: int) -> list[bytes]:
    """Frames out of a box's black port but ARP."""
    with RawPcapNgReader(str(record)) as reader:
        frames = [
            data
            for data, about in reader
            if (about.ifname or b"").decode() == f"box{box}.black" and about.direction == 2
        ]
    return [frame for frame in frames if Ether(frame).type != 0x0806]
