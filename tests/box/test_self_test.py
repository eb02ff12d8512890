# SPDX-License-Identifier: Apache-2.0
"""The self-test of the crypto chip's lanes in simulated boxes: beside traffic, and each period.
Lanes that fail are `SelfTestSpec`'s."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from sallyport import suites
from sallyport.backend import Setup
from sallyport.simulator import Simulator
from sallyport.tunnels import Tunnels
from tests.support.boxes import next_hops
from tests.support.registers import Registers

SETUP = Setup({}, suites.parse("aes256gcm16"))
RUN, RUNNING, RUNS = 1, 1, 16
PERIOD_CYCLES = 1 << 20


def status(registers: Registers) -> tuple[bool, int]:
    """Whether a run goes on, and how many have ended."""
    word = registers.read("crypto", "self_test_status")
    return bool(word & RUNNING), word >> RUNS


def stream(way: int, load: float, size: int) -> dict:
    flow = Tunnels(SETUP).flow(way, 0)
    addresses = {"src_ip": str(flow.src), "dst_ip": str(flow.dst), "src_port": flow.src_port, "dst_port": flow.dst_port}
    return {
        "id": way,
        "from": f"box{way}.red",
        "to": f"box{1 - way}.red",
        "load_pct": load,
        "frame_size": size,
        "flows": addresses,
    }


@pytest.mark.parametrize(("size", "load"), [(64, 60), (1400, 95)])
def test_a_run_beside_traffic_both_ways_loses_nothing(size: int, load: float) -> None:
    """Each lane of four leaves the traffic in turn; the load is what ESP leaves room for."""
    with Simulator(boxes=2, threads=None, seed=1) as sim, ExitStack() as stack:
        boxes = [stack.enter_context(Registers(sim.socket(box))) for box in (0, 1)]
        for box, registers in enumerate(boxes):
            sim.batch(box, Tunnels(SETUP).batch(box, mtu=9582).splitlines())
            next_hops(sim, box)
            assert status(registers) == (False, 1)
            registers.write("crypto", "self_test_control", RUN)
        assert [status(registers) for registers in boxes] == [(True, 1)] * 2
        streams = [stream(way, load, size) for way in (0, 1)]
        answer = sim.command("trial", warmup_us=10, measure_us=60, seed=1, streams=streams)
        for row in answer["streams"]:
            assert row["tx_frames_total"] > 0
            assert (row["lost_total"], row["reordered"], row["duplicated"], row["corrupted"]) == (0, 0, 0, 0)
        for box, registers in enumerate(boxes):
            assert status(registers) == (False, 2)
            assert registers.read("crypto", "self_test_failed") == 0
            drops = {name: count for name, count in sim.counters(box)["crypto"].items() if name.startswith("drop_")}
            assert not any(drops.values()), drops
        sim.command("quit")


# SelfTestScheduleSpec counts the cycles of a period; this waits for a million of a whole box.
@pytest.mark.long
def test_runs_each_period() -> None:
    with Simulator(boxes=1, threads=None, seed=1) as sim, Registers(sim.socket(0)) as registers:
        assert status(registers) == (False, 1)
        registers.write("crypto", "self_test_period", 1)
        sim.command("idle", cycles=PERIOD_CYCLES + 50_000)
        assert status(registers) == (False, 2)
        assert registers.read("crypto", "self_test_failed") == 0
        sim.command("quit")
