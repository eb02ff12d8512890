# SPDX-License-Identifier: Apache-2.0
"""Overload of a box: marked frames and control frames lose nothing and pass the queue; unmarked
ones do not.

A port gets 64 B frames at line rate. As ESP they need 1.64 times the wire that they came on, so the
ingress port must drop frames. Scapy decrypts the frames that leave the other port and so shows each
one's outcome.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6ND_NS, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from scapy.utils import RawPcapNgReader

from sallyport.errors import InputError
from sallyport.simulator import Simulator
from tests.box.test_line_rate import MEASURE_US, WARMUP_US, started, stream
from tests.support.frames import write_frames
from tests.support.reference import Tunnel, esp_payload

TUNNEL = Tunnel()
BEST_EFFORT, EF, CS6 = 0, 46, 48
# Percent of the wire, and frames, which is 58.8 µs of it.
SHARES = {BEST_EFFORT: 80, EF: 10, CS6: 10}
SENT = {BEST_EFFORT: 7000, EF: 875, CS6: 875}
TOS_BYTE = 15
SIGNATURE = b"SLPY"
# docs/reference/simulator-trial.md: a signature's time is in ticks; 75 ticks are 2 ns.
TICKS, NANOSECONDS = 75, 2


@dataclass(frozen=True)
class Overload:
    """Of each DSCP the sequence numbers of frames in the order they came out, and each one's
    latency; counters of the inner chip."""

    numbers: dict[int, list[int]]
    latency_ns: dict[int, list[float]]
    inner: dict[str, int]

    def lost(self, dscp: int) -> int:
        return SENT[dscp] - len(self.numbers[dscp])

    def drops(self) -> dict[str, int]:
        return {name: count for name, count in self.inner.items() if name.startswith("drop_") and count}


def overload(folder: Path, *marks: str) -> Overload:
    batch, capture = folder / "box.xfrm", folder / "black.pcapng"
    batch.write_text(TUNNEL.batch(dst="198.19.0.0/16"))
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        started(sim, 0, batch)
        if marks:
            sim.sallyctl(0, "qos", "set", "dscp", *marks)
        sim.command("capture", port="box0.black", direction="out", file=str(capture))
        streams = [
            stream(dscp, "box0.red", "box0.black", share) | {"tos": dscp << 2, "expect": "count", "frames": SENT[dscp]}
            for dscp, share in SHARES.items()
        ]
        sim.command("trial", warmup_us=WARMUP_US, measure_us=MEASURE_US, seed=1, streams=streams)
        counters = sim.counters(0)
        sim.command("quit")
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    assert not any(
        count for chip in ("crypto", "outer") for name, count in counters[chip].items() if name.startswith("drop_")
    )
    numbers: dict[int, list[int]] = {dscp: [] for dscp in SHARES}
    latency: dict[int, list[float]] = {dscp: [] for dscp in SHARES}
    receiver = TUNNEL.peer_receiver()
    with RawPcapNgReader(str(capture)) as reader:
        for data, meta in reader:
            assert meta.tsresol == 10**9
            payload = bytes(receiver.decrypt(esp_payload(data))[UDP].payload)
            magic, dscp, number, high, low = struct.unpack(">4sHIHI", payload[:16])
            assert magic == SIGNATURE
            assert data[TOS_BYTE] >> 2 == dscp
            numbers[dscp].append(number)
            out_ns = (meta.tshigh << 32) + meta.tslow
            latency[dscp].append(out_ns - ((high << 32) + low) * NANOSECONDS / TICKS)
    assert counters["inner"]["rx_frames"] == sum(SENT.values())
    return Overload(numbers, latency, counters["inner"])


def test_marked_frames_are_not_lost_and_pass_the_queue(tmp_path: Path) -> None:
    seen = overload(tmp_path, "ef,cs6")
    for dscp in (EF, CS6):
        assert seen.numbers[dscp] == list(range(SENT[dscp]))
    assert seen.numbers[BEST_EFFORT] == sorted(seen.numbers[BEST_EFFORT])
    assert seen.lost(BEST_EFFORT) > 1000
    assert seen.drops() == {"drop_rx_overflow": seen.lost(BEST_EFFORT)}
    assert seen.inner["rx_priority"] == SENT[EF] + SENT[CS6]
    # A full queue holds 512 frames, which the marked ones pass; the buffers of the links they share
    # with the others.
    slowest = {dscp: max(latency) for dscp, latency in seen.latency_ns.items()}
    assert max(slowest[EF], slowest[CS6]) < 17_900
    assert slowest[BEST_EFFORT] > 17_900 + 8_000


def test_cs6_and_cs7_are_marked_after_reset(tmp_path: Path) -> None:
    seen = overload(tmp_path)
    assert seen.numbers[CS6] == list(range(SENT[CS6]))
    assert seen.inner["rx_priority"] == SENT[CS6]
    assert seen.lost(EF) > 100
    assert seen.drops() == {"drop_rx_overflow": seen.lost(BEST_EFFORT) + seen.lost(EF)}


def test_without_marks_all_are_lost_alike(tmp_path: Path) -> None:
    seen = overload(tmp_path, "none")
    assert seen.inner["rx_priority"] == 0
    for dscp in SHARES:
        assert seen.numbers[dscp] == sorted(seen.numbers[dscp])
    assert min(seen.lost(EF), seen.lost(CS6)) > 100
    assert seen.drops() == {"drop_rx_overflow": sum(map(seen.lost, SHARES))}
    # They wait in the full queue like the others.
    assert min(max(latency) for latency in seen.latency_ns.values()) > 23_000


def test_control_reaches_the_cpu_of_an_overloaded_box(tmp_path: Path) -> None:
    """ARP, neighbour discovery and IKE to the box in the middle of an unmarked flood: all are
    punted, in both ports."""
    ethernet = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
    ike = IP(src="192.0.2.9", dst="192.0.2.1") / UDP(sport=500, dport=500) / Raw(bytes(40))
    red, black = ARP(psrc="198.18.0.1", pdst="198.18.0.2"), ARP(psrc="192.0.2.9", pdst="192.0.2.1")
    solicitation = IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=255) / ICMPv6ND_NS()
    files = {}
    for side, packets in (("red", [red, solicitation]), ("black", [black, solicitation, ike])):
        files[side] = tmp_path / f"{side}.pcap"
        write_frames(files[side], [bytes(ethernet / packet).ljust(60, b"\0") for packet in packets])
    batch = tmp_path / "box.xfrm"
    batch.write_text(TUNNEL.batch(dst="198.19.0.0/16"))
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        started(sim, 0, batch)
        sim.sallyctl(0, "qos", "set", "dscp", "none")
        flood = stream(0, "box0.red", "box0.black", 99) | {"expect": "count"}
        trickle = [
            {
                "id": number,
                "from": f"box0.{side}",
                "to": f"box0.{far}",
                "load_pct": 1,
                "file": str(files[side]),
                "frames": 60,
            }
            for number, (side, far) in enumerate([("red", "black"), ("black", "red")], start=1)
        ]
        sim.command("trial", warmup_us=WARMUP_US, measure_us=MEASURE_US, seed=1, streams=[flood, *trickle])
        counters = sim.counters(0)
    for chip, expected in (("inner", ("arp", "nd")), ("outer", ("arp", "nd", "ike_init"))):
        punted = {name: count for name, count in counters[chip].items() if name.startswith("punt_") and count}
        assert punted == {f"punt_{reason}": 60 // len(expected) for reason in expected}
        assert counters[chip]["rx_priority"] == 60
        assert counters[chip]["drop_rx_priority_overflow"] == 0
    assert counters["inner"]["drop_rx_overflow"] > 1000
    assert all(path["balanced"] for path in counters["conservation"]["paths"])


def test_qos_is_shown_as_it_is_set_and_bad_input_changes_nothing() -> None:
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        assert sim.sallyctl(0, "qos", "show") == "dscp cs6 cs7\n"
        sim.sallyctl(0, "qos", "set", "dscp", "af41,ef", "2")
        assert sim.sallyctl(0, "qos", "show") == "dscp 2 af41 ef\n"
        for words in (["ef", "64"], ["none", "ef"], ["af45"], []):
            with pytest.raises(InputError):
                sim.sallyctl(0, "qos", "set", "dscp", *words)
        assert sim.sallyctl(0, "qos", "show") == "dscp 2 af41 ef\n"
