# SPDX-License-Identifier: Apache-2.0
"""A host, a live box and Linux in QEMU behind it; iproute2 reads there what the box read."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.peers.guest import Guest, guest, join
from tests.peers.guest_image import Image, image
from tests.peers.host_programs import PING
from tests.peers.kernel_cases import other_end
from tests.support.live_box import BLACK_TAP, PEER_MAC, RED_HOST_MAC, RED_TAP
from tests.support.namespaces import Host, hosts, live, skip_without_taps

PINGS = 20


@dataclass
class Network:
    """The host behind the red port, and the peer on black; files of the run are in `folder`."""

    red: Host
    linux: Guest
    folder: Path

    def pings_answered(self, to: str, size: int = 56) -> int:
        """How many of `PINGS` echo requests with so many bytes come back, byte for byte."""
        return int(self.red.python(PING, to, PINGS, size))

    def packets(self, spi: int) -> int:
        """How many packets an SA of Linux has had."""
        said = self.linux.run(f"/bin/ip -s xfrm state list spi {spi:#x}")
        (line,) = [line for line in said.split("lifetime current:")[1].splitlines() if "(packets)" in line]
        return int(line.split(",")[1].split("(")[0])


@contextmanager
def network(
    folder: Path, text: str, *more: object, system: Image | None = None, theirs: str | None = None, cpus: int = 1
) -> Iterator[Network]:
    """A box with this file, and Linux with `theirs` or the other end of it. Both hosts' devices are
    up, and neither has an address yet; at the end every counter balances."""
    skip_without_taps()
    system = system or image()
    theirs = other_end(text) if theirs is None else theirs
    batch = folder / "box.xfrm"
    batch.write_text(text)
    words = ("--xfrm", batch, "--red-tap", RED_TAP, "--black-tap", BLACK_TAP, "--socket-dir", folder, *more)
    with hosts("red", "black") as (red, black), live(*words) as run:
        for which in ("all", "default"):
            red.run("sh", "-c", f"echo 0 > /proc/sys/net/ipv6/conf/{which}/disable_ipv6")
        red.take(RED_TAP, mac=RED_HOST_MAC)
        black.take(BLACK_TAP)
        join(black, BLACK_TAP)
        with guest(system, black, PEER_MAC, folder, cpus) as linux:
            linux.run("/bin/ip link set lo up; /bin/ip link set eth0 up; udp_encap &")
            linux.run(f"cat > /tmp/box.xfrm <<'EOF'\n{theirs}EOF\n/bin/ip -batch /tmp/box.xfrm")
            yield Network(red, linux, folder)
        status, said = run.stop(signal.SIGTERM)
        assert status == 0 and "conservation: " in said, said
