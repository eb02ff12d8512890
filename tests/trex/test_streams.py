# SPDX-License-Identifier: Apache-2.0
"""What TRex is told to send, byte for byte: frames and field engine programs against scapy and
[sallyport.tunnels]."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from sallyport import limits, tunnels
from sallyport.trex import frames, streams
from tests.trex.lab import BOX_MAC, MAC, Lab, setup, trial


def addresses(way: int, number: int, ip: int) -> tuple[str, str]:
    if ip == 4:
        flow = tunnels.flow(way, number, 4)
        return str(flow.src), str(flow.dst)
    host = f"::{number:x}"
    nets = ("2001:2:0:100", "2001:2:0:101")
    return nets[way] + host, nets[1 - way] + host


def expected(way: int, number: int, size: int, ip: int = 4, dst: str | None = None, summed: bool = False) -> bytes:
    """As the simulated tester makes it (sim/engine/src/tester/test_packet.cpp), by scapy, without
    the FCS."""
    src, to = addresses(way, number, ip)
    header = IP(src=src, dst=to, ttl=64, id=0) if ip == 4 else IPv6(src=src, dst=to, hlim=64)
    datagram = UDP(sport=tunnels.UDP_PORTS[0], dport=tunnels.UDP_PORTS[1], chksum=None if summed else 0)
    packet = Ether(src=MAC[way], dst=dst or BOX_MAC[way]) / header / datagram
    return bytes(packet / Raw(bytes(size - 4 - len(packet))))


def sent(stream: dict, flow: int) -> bytes:
    """A stream's frame after its program has run with that value of its one variable."""
    frame = bytearray.fromhex(stream["packet"])
    for name, fields in stream["vm"]:
        if name == "STLVmFlowVar":
            assert fields["low"] <= flow <= fields["high"] and fields["size"] == 2
        elif name == "STLVmWrFlowVar":
            frame[fields["at"] : fields["at"] + 2] = flow.to_bytes(2, "big")
        else:
            packet = Ether(bytes(frame))
            if name == "STLVmFixIpv4":
                del packet[IP].chksum
            else:
                assert (name, fields["udp"]) == ("STLVmFixChecksumHw", len(packet) - len(packet[UDP]))
                del packet[UDP].chksum
            frame = bytearray(bytes(packet))
    return bytes(frame)


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("sas", [1, 2, 65_536])
def test_every_flow_has_the_bytes_that_the_simulated_tester_would_send(lab: Lab, ip: int, sas: int) -> None:
    lab.backend().run_trial(trial(mix={90: 1}, of={"ip": ip, "sas": sas}))
    for way, added in lab.streams().items():
        bulk, latency = added
        assert (bulk["latency"], latency["latency"]) == (False, True)
        for number in {0, sas // 2, sas - 1}:
            assert sent(bulk, number) == expected(way, number, 90, ip, summed=ip == 6)
        assert sent(latency, 0) == expected(way, 0, 90, ip)
        assert not latency["vm"]


def test_flows_may_go_round_robin(lab: Lab) -> None:
    lab.backend(flow_order="round-robin").run_trial(trial(of={"sas": 16}))
    assert {added[0]["vm"][0][1]["op"] for added in lab.streams().values()} == {"inc"}
    lab.backend(flow_order="random").run_trial(trial(of={"sas": 16}))
    assert {added[0]["vm"][0][1]["op"] for added in lab.streams().values()} == {"random"}


def test_bumps_in_the_wire_get_frames_for_the_far_host(lab: Lab) -> None:
    lab.world(bridge=True)
    result = lab.backend().run_trial(trial(of={"mode": "transport"}))
    assert result.passed and result.rx_frames == 1_200_000
    for way, (bulk, _) in lab.streams().items():
        assert sent(bulk, 0) == expected(way, 0, 64, dst=MAC[1 - way])


@pytest.mark.parametrize("fps", [10, 999, 100_000, 90_579_710])
@pytest.mark.parametrize("mix", [{64: 1}, {64: 7, 594: 4, 1518: 1}])
def test_bulk_and_latency_add_up_to_the_load(lab: Lab, fps: int, mix: dict[int, int]) -> None:
    made = streams.make(lab.backend().lab, setup(mix, sas=4), streams.Way(0, 0, 1, *MAC), Fraction(fps), Fraction(fps))
    total: dict[int, float] = {}
    for stream in made.streams:
        frame, rate = stream["args"]["packet"]["args"]["pkt_buffer"]["bytes"], stream["args"]["mode"]["args"]["pps"]
        size = len(frame) * 3 // 4 - frame.count("=") + 4
        total[size] = total.get(size, 0.0) + rate
        assert rate > 0
    weight = sum(mix.values())
    assert total == pytest.approx({size: fps * part / weight for size, part in mix.items()})
    assert [len(made.streams), len(made.latency_groups)] == [len(mix) + 1, 1]
    assert float(made.latency_fps) == pytest.approx(min(1000, fps * max(mix.values()) / weight / 2))


def test_sizes_of_a_mix_come_in_the_order_of_their_weights(lab: Lab) -> None:
    lab.backend().run_trial(trial(mix={1518: 1, 594: 4, 64: 7}))
    for added in lab.streams().values():
        assert [len(stream["packet"]) // 2 + 4 for stream in added] == [64, 594, 1518, 64]
        assert [stream["pg_id"] for stream in added[:3]] in ([1, 1, 1], [2, 2, 2])


def test_each_suite_has_a_latency_stream_on_a_flow_of_its_own(lab: Lab) -> None:
    lab.backend().run_trial(trial(of={"suite": "aes256gcm16,sm4-sm3", "sas": 8}))
    for way, (_, *latency) in lab.streams().items():
        assert [sent(stream, 0) for stream in latency] == [expected(way, number, 64) for number in (0, 1)]
        assert len({stream["pg_id"] for stream in latency}) == 2


@pytest.mark.parametrize(("latency_fps", "apart_us"), [(4000, 250), (1000, 1000), (50, 1000)])
def test_latency_frames_of_many_suites_leave_one_after_the_other(lab: Lab, latency_fps: int, apart_us: int) -> None:
    """At once they would fill a short queue by themselves. Where they are few they are not spread
    so far that a short trial has none of a suite."""
    suites = "aes256gcm16,aes128gcm16,sm4-sm3,aes256ctr-sha256"
    result = lab.backend(latency_fps=latency_fps).run_trial(trial(of={"suite": suites, "sas": 4}))
    assert result.passed, result.checks
    for bulk, *latency in lab.streams().values():
        assert {4e6 / stream["mode"]["pps"] for stream in latency} == {16e6 / latency_fps}
        assert [stream["isg"] for stream in (bulk, *latency)] == [100_000, *(100_000 + n * apart_us for n in range(4))]


def test_a_load_can_be_changed_to_a_smaller_one(lab: Lab) -> None:
    way = streams.Way(0, 0, 1, *MAC)
    made = streams.make(lab.backend().lab, setup({64: 1}), way, Fraction(10_000), Fraction(1000))
    assert float(made.latency_fps) == 500
    bulk = made.streams[0]["args"]["mode"]["args"]["pps"]
    assert bulk * float(made.multiplier(Fraction(1000))) + 500 == pytest.approx(1000, abs=1e-4)


def test_a_burst_has_exactly_its_frames(lab: Lab) -> None:
    made = streams.burst(
        lab.backend().lab, setup({64: 7, 594: 4, 1518: 1}), streams.Way(1, 1, 0, *MAC), 1001, Fraction(10_000)
    )
    modes = [stream["args"]["mode"]["args"] for stream in made.streams]
    assert [mode["total_pkts"] for mode in modes] == [584, 334, 83]
    # All of them end at the same time.
    assert {round(mode["total_pkts"] / mode["pps"], 9) for mode in modes} == {0.1001}
    assert not made.latency_groups


def test_the_smallest_frames_hold_a_signature() -> None:
    for ip in (4, 6):
        size = limits.smallest_frame(ip)
        packet = Ether(frames.frame(0, 0, ip, size, *MAC))
        assert len(packet) + 4 == size and len(packet[UDP].payload) >= 16
