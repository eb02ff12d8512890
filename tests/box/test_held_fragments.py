# SPDX-License-Identifier: Apache-2.0
"""Fragments that wait, for the first of their datagram or until it is whole: each path of each chip
balances meanwhile, when their time is over, and once they have left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support.boxes import TAKE_ALL, next_hops
from tests.support.frames import write_frames
from tests.support.reference import Tunnel
from tests.support.replay import called

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
CHIP = {"red": "inner", "black": "outer"}
TUNNEL = Tunnel()


def datagram(number: int, v6: bool, esp: bool = False, port: int = 9) -> list[Packet]:
    """Three fragments of what no policy and no SA takes: ESP to the box, or UDP in transit."""
    upper = Raw(bytes([number]) * 3000) if esp else UDP(sport=7, dport=port) / Raw(bytes([number]) * 3000)
    if v6:
        head = IPv6(src="2001:db8:1::1", dst="2001:db8:2::1") / IPv6ExtHdrFragment(id=number, nh=50 if esp else 17)
        return [ETHERNET / piece for piece in fragment6(head / upper, 1280)]
    ip = IP(src="203.0.113.1", dst="198.51.100.1", id=number, proto=50 if esp else 17)
    return [ETHERNET / piece for piece in fragment(ip / upper, 1280)]


class Watched:
    """A simulated box, and what its counters say after each step."""

    def __init__(self, sim: Simulator, folder: Path) -> None:
        self.sim, self.folder = sim, folder

    def play(self, port: str, frames: list[Packet], quiet: int = 4096) -> dict[str, dict[str, int]]:
        """Frames into a port; the counters once no beat has crossed a port for `quiet` cycles. They
        balance, and `sallyctl counters --check` says so."""
        path = self.folder / "frames.pcap"
        write_frames(path, frames)
        sources = [{"port": f"box0.{port}", "file": str(path), "pacing": "line-rate"}] if frames else []
        assert self.sim.command("replay", inputs=sources, quiet_cycles=quiet)["quiescent"]
        self.sim.sallyctl(0, "counters", "--check")
        return self.sim.counters(0)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Watched]:
    batch = tmp_path / "box.xfrm"
    batch.write_text(TAKE_ALL)
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        sim.sallyctl(0, "-batch", batch)
        next_hops(sim)
        sim.sallyctl(0, "reassembly", "set", "timeout", "50ms")
        yield Watched(sim, tmp_path)
        sim.command("quit")


# More than 50 ms of the simulated ticks, which are a thousandth of a chip's.
PAST = 32768


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    counted = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    return {name: count for name, count in counted.items() if name.startswith(("drop_", "reasm_", "rx_frames"))}


@pytest.mark.parametrize("port", ["red", "black"])
@pytest.mark.parametrize("v6", [False, True], ids=["IPv4", "IPv6"])
def test_the_balance_is_exact_while_fragments_wait_for_the_first(box: Watched, port: str, v6: bool) -> None:
    chip = CHIP[port]
    idle = box.play(port, [])[chip]
    assert idle["reasm_held"] == 0
    waits = box.play(port, datagram(1, v6)[1:])[chip]
    assert grown(idle, waits) == {"reasm_held": 2, "rx_frames": 2}
    # Its time is over.
    late = box.play(port, [], PAST)[chip]
    assert grown(waits, late) == {"reasm_held": -2, "drop_frag_orphan": 2}
    # The first one comes, and again, and with other ports.
    first, *rest = datagram(2, v6)
    waits = box.play(port, rest)[chip]
    other = datagram(2, v6, port=10)[0]
    judged = box.play(port, [first, first, other])[chip]
    assert grown(waits, judged) == {"reasm_held": -2, "rx_frames": 3, "drop_policy": 4, "drop_frag_conflict": 1}
    # Its ports are forgotten.
    box.play(port, [], PAST)
    again = box.play(port, [other])[chip]
    assert grown(judged, again) == {"rx_frames": 1, "drop_policy": 1}


@pytest.mark.parametrize("v6", [False, True], ids=["IPv4", "IPv6"])
def test_the_balance_is_exact_while_datagrams_are_not_whole(box: Watched, v6: bool) -> None:
    port, chip = "black", "outer"
    idle = box.play(port, [])[chip]
    assert idle["reasm_held"] == 0
    waits = box.play(port, datagram(1, v6, esp=True)[:2])[chip]
    assert waits["reasm_held"] == 2 and waits["rx_frames"] == 2
    # Its time is over.
    late = box.play(port, [], PAST)[chip]
    assert grown(waits, late) == {"reasm_held": -2, "drop_reasm_timeout": 2}
    # A duplicate is not held, another datagram is; then both are whole, in any order.
    first, second = datagram(2, v6, esp=True), datagram(3, v6, esp=True)
    waits = box.play(port, [first[0], first[0], second[2], second[1]])[chip]
    assert waits["reasm_held"] == 3 and waits["drop_reasm_duplicate"] == 1
    whole = box.play(port, [second[0], first[2], first[1]])[chip]
    assert whole["reasm_held"] == 0 and whole["reasm_datagrams"] == 2 and whole["reasm_merged"] == 4
    # An error takes all that are held.
    bad = datagram(4, v6, esp=True)
    other = bad[1].copy()
    layer = other[IPv6ExtHdrFragment] if v6 else other[IP]
    if v6:
        layer.offset -= 1
    else:
        layer.frag -= 1
        del layer.chksum
    killed = box.play(port, [*bad[:2], other])[chip]
    assert killed["reasm_held"] == 0 and killed["drop_reasm_overlap"] == 3


def test_replay_balances_with_fragments_that_wait(tmp_path: Path) -> None:
    """The command's own check: a capture that ends in the middle of a datagram is no failure."""
    batch, capture, out = tmp_path / "box.xfrm", tmp_path / "half.pcap", tmp_path / "out"
    batch.write_text(TUNNEL.batch())
    write_frames(capture, datagram(1, v6=False)[:1])
    done = called("replay", "--xfrm", batch, "--red", capture, "--out", out)
    assert done.exit_code == 0, done.output
