# SPDX-License-Identifier: Apache-2.0
"""Per-CPU SAs (RFC 9611): Linux has several outbound SAs for one policy, one for each processor and
one for all others. The box accepts each, and each carries its processor's packets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sallyport import suites
from tests.peers.debian_roots import CACHE, make
from tests.peers.guest_image import image
from tests.peers.linux_network import network
from tests.support.live_box import BOX, PEER, PEER_MAC, RED_HOST, RED_HOST_MAC, RED_TAP, sallyctl
from tests.support.reference import keys

RELEASE = "forky"  # testing: Linux has per-CPU SAs from 6.13 on, and iproute2 the word
MODULES = ("virtio_pci", "virtio_net", "virtio_console", "xfrm_user", "esp4", "gcm", "ctr", "seqiv", "echainiv")
CPUS, WITHOUT = 4, 3  # the last processor has no SA of its own
SUITE, REQID, PINGS = "aes256gcm16", 9, 20
NEAR, FAR = "10.1.0.0/24", "10.2.9.0/24"
INSIDE = "10.2.9.1"  # Linux's address in the tunnel
INTO_BOX = [0x2000 + cpu for cpu in range(CPUS)]
OUT_OF_BOX = [0x1000 + cpu for cpu in range(CPUS)]


def states(per_cpu: bool) -> str:
    """The SAs of both directions, a pair for each processor. With `per_cpu` they are Linux's."""
    text = ""
    ways = {"in": OUT_OF_BOX, "out": INTO_BOX}
    for way, spis in ways.items():
        ends = f"src {BOX[1][0]} dst {PEER}" if way == "in" else f"src {PEER} dst {BOX[1][0]}"
        for cpu, spi in enumerate(spis):
            algorithms = suites.find(SUITE).with_keys(*keys(SUITE, spi))
            # Linux wants the direction of an SA with a processor, and no window of an outbound one.
            number = f"pcpu-num {cpu} " if cpu != WITHOUT else ""
            more = f"dir {way} replay-window {64 if way == 'in' else 0} {number}" if per_cpu else "replay-window 64 "
            text += f"xfrm state add {ends} proto esp spi {spi:#x} reqid {REQID} mode tunnel {more}{algorithms}\n"
    return text


def policies(*directions: str) -> str:
    """One policy each way: out of the box, and into it."""
    ways = ((NEAR, FAR, BOX[1][0], PEER), (FAR, NEAR, PEER, BOX[1][0]))
    return "".join(
        f"xfrm policy add src {src} dst {dst} dir {way} tmpl src {here} dst {there} proto esp reqid {REQID} mode tunnel\n"
        for way, (src, dst, here, there) in zip(directions, ways, strict=True)
    )


def counts(said: str) -> dict[int, int]:
    """Packets by SPI, of `xfrm state list` with -s, the box's or iproute2's."""
    found = {}
    for part in re.split(r"(?m)^src ", said)[1:]:
        spi = re.search(r"spi (0x[0-9a-f]+)", part)
        packets = re.search(r"lifetime current:.*?(\d+)\(packets\)", part, re.DOTALL)
        assert spi and packets, part
        found[int(spi[1], 16)] = int(packets[1])
    return found


def test_each_processor_has_its_sa(tmp_path: Path) -> None:
    """Pings from each processor go by its own SA, and those of the last by the SA for all: none is
    lost, and both ends count the same."""
    root = CACHE / f"{RELEASE}-linux"
    if not root.exists():
        make(RELEASE, root, ("iproute2", "libc-bin"))
    system = image(root=root, modules=MODULES)
    if tuple(map(int, system.version.split(".")[:2])) < (6, 13):
        pytest.skip(f"Linux {system.version} has no per-CPU SAs: they came with 6.13")
    text = (
        f"addr add {BOX[0][0]}/24 dev red\naddr add {BOX[1][0]}/24 dev black\n"
        f"neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red\nneigh add {PEER} lladdr {PEER_MAC} dev black\n"
    )
    theirs = states(per_cpu=True) + policies("in", "out")
    box = text + states(per_cpu=False) + policies("out", "in")
    with network(tmp_path, box, system=system, theirs=theirs, cpus=CPUS) as made:
        made.red.run("ip", "addr", "add", f"{RED_HOST}/24", "dev", RED_TAP)
        made.red.run("ip", "neigh", "add", BOX[0][0], "lladdr", BOX[0][1], "dev", RED_TAP)
        made.red.run("ip", "route", "add", "default", "via", BOX[0][0])
        made.linux.run(f"""
            /bin/ip addr add {PEER}/24 dev eth0
            /bin/ip addr add {INSIDE} dev lo
            /bin/ip neigh add {BOX[1][0]} lladdr {BOX[1][1]} dev eth0
            /bin/ip route add {NEAR} via {BOX[1][0]} src {INSIDE}
        """)
        listed = made.linux.run("/bin/ip xfrm state list")
        assert re.findall(r"pcpu-num (\d)", listed) != [], listed
        for cpu, spi in enumerate(INTO_BOX):
            said = made.linux.run(f"taskset -c {cpu} ping -c {PINGS} -W 60 -i 0.2 -I {INSIDE} {RED_HOST}")
            assert f"{PINGS} packets transmitted, {PINGS} packets received, 0% packet loss" in said, said
            seen = counts(made.linux.run("/bin/ip -s xfrm state list"))
            assert [seen[each] for each in INTO_BOX] == [PINGS] * (cpu + 1) + [0] * (CPUS - cpu - 1), (hex(spi), seen)
        mine = counts(sallyctl(tmp_path, "-s", "xfrm", "state", "list"))
        assert [mine[spi] for spi in INTO_BOX] == [PINGS] * CPUS
        assert sum(mine[spi] for spi in OUT_OF_BOX) == CPUS * PINGS
        print(f"Linux {system.version}: {CPUS} SAs, {CPUS * PINGS} pings, all answered; {mine}")
