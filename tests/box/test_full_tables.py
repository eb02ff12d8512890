# SPDX-License-Identifier: Apache-2.0
"""64 B frames at the rate of the wire, to destinations in random order: hosts, routes and policies
by prefix, one of each or as many as the simulated tables hold. The pace is the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import RawPcapNgReader

from sallyport.simulator import Simulator
from tests.box.test_prefix_policies import network, states
from tests.support.frames import write_frames
from tests.support.reference import FAR, NEAR

FRAMES = 3000
HOSTS, ROUTES, POLICIES, SITES = 240, 1100, 500, 50
# A table is flat if its fill changes the pace by no more (RFC 2544 has no figure of its own).
FLAT = 0.005
GATEWAYS = [f"10.0.255.{n}" for n in range(1, 5)]
BLACK = Ether(dst="02:62:c0:00:02:01", src="02:00:00:00:00:22")
RED = Ether(dst="02:72:0a:00:ff:fe", src="02:00:00:00:00:11")


@dataclass(frozen=True)
class Seen:
    """Frames out of a port; nanoseconds from the first to the last; drops and punts by name."""

    frames: list[bytes]
    nanoseconds: int
    named: dict[str, int]


def at_line_rate(folder: Path, batch: str, source: str, target: str, load: float, frames: list[Packet]) -> Seen:
    path, capture = folder / "in.pcap", folder / "out.pcapng"
    write_frames(path, frames)
    (folder / "box.xfrm").write_text(batch)
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        sim.sallyctl(0, "-batch", folder / "box.xfrm")
        sim.command("capture", port=f"box0.{target}", direction="out", file=str(capture))
        assert sim.command("replay", inputs=[{"port": f"box0.{source}", "file": str(path), "load_pct": load}])[
            "quiescent"
        ]
        counters = sim.counters(0)
        sim.command("quit")
    assert all(way["balanced"] for way in counters["conservation"]["paths"])
    with RawPcapNgReader(str(capture)) as reader:
        seen = [(data, (meta.tshigh << 32 | meta.tslow) * 10**9 // meta.tsresol) for data, meta in reader]
    named = {
        f"{chip}.{name}": count
        for chip in ("inner", "crypto", "outer")
        for name, count in counters[chip].items()
        if count and name.startswith(("drop_", "punt_"))
    }
    return Seen([data for data, _ in seen], seen[-1][1] - seen[0][1], named)


def short(src: str, dst: str, number: int) -> Packet:
    """60 B without its FCS, with the number in its UDP ports."""
    return IP(src=src, dst=dst) / UDP(sport=1024 + number, dport=9) / bytes(18)


def hosts_and_routes(folder: Path, hosts: int, routes: int) -> Seen:
    """Clear packets from black, which the policies let in; each reaches its station."""
    dice = random.Random(281)
    mac = {str(ip_address("10.0.0.1") + n): f"02:00:00:02:{n >> 8:02x}:{n & 255:02x}" for n in range(hosts)}
    station = {gateway: f"02:00:00:01:00:{n:02x}" for n, gateway in enumerate(GATEWAYS)}
    nets = {f"172.{16 + (n >> 8)}.{n & 255}.0/24": GATEWAYS[n % 4] for n in range(routes)}
    batch = f"addr add {NEAR}/24 dev black\naddr add 10.0.255.254/16 dev red\nxfrm policy add dir in action allow\n"
    batch += "".join(f"neigh add {host} lladdr {lladdr} dev red\n" for host, lladdr in (mac | station).items())
    batch += "".join(f"route add {net} via {gateway} dev red\n" for net, gateway in nets.items())
    targets = mac | {net.replace(".0/24", ".9"): station[gateway] for net, gateway in nets.items()}
    to = [dice.choice(list(targets)) for _ in range(FRAMES)]
    frames = [BLACK / short("198.51.100.7", dst, n) for n, dst in enumerate(to)]
    seen = at_line_rate(folder, batch, "black", "red", 100, frames)
    assert [(Ether(frame).dst, Ether(frame)[UDP].sport) for frame in seen.frames] == [
        (targets[dst], 1024 + n) for n, dst in enumerate(to)
    ]
    return seen


def policies_by_prefix(folder: Path, policies: int, sites: int) -> Seen:
    """Packets from red, each protected by the SA of its destination's policy; 60 of the 60.87 %
    for which ESP leaves room on black."""
    dice = random.Random(282)
    nets = [network(4, n + 1) for n in range(policies)]
    batch = f"addr add {NEAR}/24 dev black\naddr add 10.0.255.254/16 dev red\nneigh add {FAR} lladdr 02:00:00:00:00:22 dev black\n"
    batch += states(sites)
    for n, net in enumerate(nets):
        template = f"tmpl src {NEAR} dst {FAR} proto esp reqid {1 + n % sites} mode tunnel"
        batch += f"xfrm policy add src 10.0.0.0/8 dst {net} dir out {template}\n"
    to = [dice.randrange(policies) for _ in range(FRAMES)]
    frames = [RED / short("10.0.0.7", str(nets[n].network_address + 9), i) for i, n in enumerate(to)]
    seen = at_line_rate(folder, batch, "red", "black", 60, frames)
    assert Counter(Ether(frame)[ESP].spi for frame in seen.frames) == Counter(0x1001 + n % sites for n in to)
    return seen


@pytest.mark.parametrize(
    ("kind", "few", "full"),
    [(hosts_and_routes, (1, 1), (HOSTS, ROUTES)), (policies_by_prefix, (1, 1), (POLICIES, SITES))],
)
def test_the_pace_is_that_of_one_entry(
    tmp_path: Path, kind: Callable[..., Seen], few: tuple[int, int], full: tuple[int, int]
) -> None:
    seen = [kind(tmp_path, *fill) for fill in (few, full)]
    for each in seen:
        assert each.named == {} and len(each.frames) == FRAMES
    assert abs(seen[1].nanoseconds - seen[0].nanoseconds) <= FLAT * seen[0].nanoseconds
