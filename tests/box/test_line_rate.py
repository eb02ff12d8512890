# SPDX-License-Identifier: Apache-2.0
"""Look-ups at the rate of the wire: every 64 B frame that 100 Gb/s carry is judged, whatever
becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.reference import Tunnel

# Frames of 64 B in a second on a 100GbE port: 148.81 million; here in the 60 µs of a trial.
WARMUP_US, MEASURE_US = 10, 50
FULL_RATE = 8928


def started(sim: Simulator, box: int, batch: Path) -> None:
    sim.sallyctl(box, "-batch", batch)
    boxes.next_hops(sim, box)


def stream(number: int, source: str, target: str, load: float, dst_ip: str = "198.19.0.1") -> dict:
    flows = {"count": 16, "src_ip": "198.18.0.1", "dst_ip": dst_ip, "src_ip_step": 1, "dst_ip_step": 1}
    return {"id": number, "from": source, "to": target, "load_pct": load, "frame_size": 64, "flows": flows}


def trial(sim: Simulator, *streams: dict) -> dict[int, dict]:
    answer = sim.command("trial", warmup_us=WARMUP_US, measure_us=MEASURE_US, seed=1, streams=list(streams))
    return {row["id"]: row for row in answer["streams"]}


def drops(sim: Simulator, box: int) -> dict[str, int]:
    counters = sim.counters(box)
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    return {
        f"{chip}.{name}": count
        for chip in ("inner", "crypto", "outer")
        for name, count in counters[chip].items()
        if name.startswith("drop_") and count
    }


def test_bypass_at_line_rate_both_ways(tmp_path: Path) -> None:
    batch = tmp_path / "bypass.xfrm"
    anything = "src 0.0.0.0/0 dst 0.0.0.0/0"
    batch.write_text(
        f"xfrm policy add {anything} dir out action allow\nxfrm policy add {anything} dir in action allow\n"
    )
    with Simulator(boxes=2, threads=None, seed=1) as sim:
        for box in (0, 1):
            started(sim, box, batch)
        rows = trial(sim, stream(0, "box0.red", "box1.red", 100), stream(1, "box1.red", "box0.red", 100))
        for row in rows.values():
            assert FULL_RATE <= row["tx_frames_total"] <= FULL_RATE + 2
            assert (row["lost_total"], row["reordered"], row["duplicated"], row["corrupted"]) == (0, 0, 0, 0)
        assert drops(sim, 0) == drops(sim, 1) == {}


def test_discard_of_what_a_full_wire_carries_beside_protected_traffic(tmp_path: Path) -> None:
    """60 % of the wire is protected, next to the 60.87 % that ESP leaves room for; the rest of it
    is discarded."""
    batch = tmp_path / "protect.xfrm"
    batch.write_text(Tunnel().batch(dst="198.19.0.0/17"))
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        started(sim, 0, batch)
        protected = stream(0, "box0.red", "box0.black", 60) | {"expect": "esp"}
        discarded = stream(1, "box0.red", "box0.black", 40, dst_ip="198.19.128.1") | {"expect": "count"}
        answer = sim.command(
            "trial", warmup_us=WARMUP_US, measure_us=MEASURE_US, seed=1, streams=[protected, discarded]
        )
        [esp] = [row for row in answer["streams"] if row.get("expect") == "esp"]
        assert esp["lost_total"] == 0
        inner = sim.counters(0)["inner"]
        assert FULL_RATE - 4 <= inner["rx_frames"] <= FULL_RATE + 4
        assert drops(sim, 0) == {"inner.drop_policy": inner["rx_frames"] - esp["tx_frames_total"]}


@pytest.mark.parametrize("side", ["red", "black"])
def test_datagrams_of_two_fragments_at_95_percent(tmp_path: Path, side: str) -> None:
    """1500 B in two fragments, so many that the tables of datagrams are used again and again:
    those of ESP are put together, those in transit go on as they are."""
    count, tunnel = 400, Tunnel()
    peer = tunnel.peer_sender()
    packets = [
        IP(src="198.18.0.1", dst="198.19.0.1", id=number) / UDP(sport=7, dport=9) / Raw(bytes(1472))
        for number in range(count)
    ]
    if side == "black":
        packets = [peer.encrypt(packet) for packet in packets]
        for number, packet in enumerate(packets):
            packet.id = number
    pieces = [piece for packet in packets for piece in fragment(packet, 744 if side == "red" else 784)]
    assert len(pieces) == 2 * count
    capture = tmp_path / "fragments.pcap"
    wrpcap(str(capture), [Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / piece for piece in pieces])
    batch = tmp_path / "box.xfrm"
    batch.write_text(tunnel.batch())
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        started(sim, 0, batch)
        answer = sim.command("replay", inputs=[{"port": f"box0.{side}", "file": str(capture), "load_pct": 95}])
        assert answer["quiescent"]
        assert drops(sim, 0) == {}
        chip = sim.counters(0)["inner" if side == "red" else "outer"]
        joined = 0 if side == "red" else count
        assert (chip["rx_frames"], chip["reasm_datagrams"], chip["reasm_merged"]) == (2 * count, joined, joined)
        far = "black" if side == "red" else "red"
        assert [port["rx_frames"] for port in answer["ports"] if port["port"] == f"box0.{far}"] == [2 * count - joined]
