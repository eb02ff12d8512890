# SPDX-License-Identifier: Apache-2.0
"""SAs are replaced while traffic crosses two boxes, and the packets do not show it."""

from __future__ import annotations

import json
import random
from itertools import groupby
from pathlib import Path

import pytest
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether

from sallyport import suites
from sallyport.backend import Setup
from sallyport.backend_sim.rekey import Rekeys, measure_us
from sallyport.simulator import Simulator
from sallyport.tunnels import FIRST_SPI, Tunnels
from tests.support.boxes import next_hops
from tests.support.frames import read_frames
from tests.support.replay import sallyport

GCM = suites.parse("aes256gcm16")


def configured(sim: Simulator, boxes: int, sas: int) -> None:
    for box in range(boxes):
        sim.batch(box, Tunnels(Setup({}, GCM, sas=sas)).batch(box, mtu=9582).splitlines())
        next_hops(sim, box)


def stream(way: int, to: str, load: float, size: int) -> dict:
    """All packets of tunnel 0 from behind box `way`."""
    flow = Tunnels(Setup({}, GCM)).flow(way, 0)
    addresses = {"src_ip": str(flow.src), "dst_ip": str(flow.dst), "src_port": flow.src_port, "dst_port": flow.dst_port}
    return {"id": way, "from": f"box{way}.red", "to": to, "load_pct": load, "frame_size": size, "flows": addresses}


def esp_packets(capture: Path) -> list[tuple[int, int]]:
    """SPI and sequence number of each packet, in their order."""
    packets = [Ether(frame)[ESP] for frame in read_frames(capture)]
    return [(packet.spi, packet.seq) for packet in packets]


@pytest.mark.parametrize(("size", "sas", "rekeys"), [pytest.param("imix", 5, 20, marks=pytest.mark.long), ("64", 1, 4)])
def test_rekeys_at_90_percent_lose_nothing(tmp_path: Path, size: str, sas: int, rekeys: int) -> None:
    """A slice of what docs/explanation/performance.md does a thousand times."""
    rows_file = tmp_path / "rows.json"
    sallyport(
        "rfc2544", "--test", "latency", "--latency-at", "100", "--share", "90", "--frame-size", size, "--sas", sas, "--rekeys", rekeys,
        "--warmup-us", "10",
        "--json", rows_file,
    )  # fmt: skip
    (row,) = json.loads(rows_file.read_text())
    assert (row["rekeys"], row["lost"], row["reordered"], row["passed"]) == (rekeys, 0, 0, True)
    assert row["ratio"] == 0.9
    assert row["tx_frames"] == row["rx_frames"] > 0


def test_packets_move_from_sa_to_sa(tmp_path: Path) -> None:
    """On the black wire each SA has the numbers from 1 on without a gap, and none is used again
    after the next one's first."""
    rekeys, captures = 3, [tmp_path / f"box{box}.pcapng" for box in (0, 1)]
    setup = Setup({256: 1}, GCM, rekeys=rekeys, warmup_ns=10_000, measure_ns=measure_us(rekeys, 1, GCM) * 1000)
    with Simulator(boxes=2, threads=None, seed=1) as sim:
        configured(sim, 2, setup.sas)
        for box, capture in enumerate(captures):
            sim.command("capture", port=f"box{box}.black", direction="out", file=str(capture))
        rekeying = Rekeys(sim, setup, Tunnels(setup))
        streams = [stream(0, "box1.red", 70, 256), stream(1, "box0.red", 20, 256)]
        answer = sim.trial(
            **rekeying.turns(), warmup_us=10, measure_us=setup.measure_ns / 1000, seed=1, streams=streams
        )
        rekeying.finish(answer)
        assert answer["passed"]
        sim.command("quit")
    for row, capture in zip(answer["streams"], captures, strict=True):
        packets = esp_packets(capture)
        assert len(packets) == row["tx_frames_total"]
        runs = [(spi, [number for _, number in run]) for spi, run in groupby(packets, key=lambda packet: packet[0])]
        assert [spi for spi, _ in runs] == [FIRST_SPI + n for n in range(rekeys + 1)]
        for _, numbers in runs:
            assert numbers == list(range(1, len(numbers) + 1))


def test_rekeys_are_the_same_every_time() -> None:
    """What software asks for decides over simulated time, not when it asks, nor the number
    of threads."""
    setup = Setup({1400: 1}, GCM, rekeys=1, warmup_ns=5_000, measure_ns=measure_us(1, 1, GCM) * 1000)

    def run(threads: int) -> dict:
        with Simulator(boxes=2, threads=threads, seed=1) as sim:
            configured(sim, 2, setup.sas)
            streams = [stream(0, "box1.red", 90, 1400)]
            answer = sim.trial(
                **Rekeys(sim, setup, Tunnels(setup)).turns(),
                warmup_us=5,
                measure_us=setup.measure_ns / 1000,
                streams=streams,
            )
            return {key: answer[key] for key in ("streams", "software", "cycle")} | {"counters": sim.counters(1)}

    assert run(1) == run(2)


def test_one_batch_lets_packets_out_before_their_sa_goes(tmp_path: Path) -> None:
    """An outbound SA and its successor in one batch: what the old one has under way leaves before
    its rows are cleared."""
    capture = tmp_path / "black.pcapng"
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        configured(sim, 1, 1)
        sim.command("capture", port="box0.black", direction="out", file=str(capture))

        def replace() -> dict:
            sas = Tunnels(Setup({}, GCM))
            new, old = sas.state(0, 0, 0x2000, random.Random(2)), sas.ends(0, 0)
            sim.batch(0, [f"xfrm state delete {old} spi {FIRST_SPI:#x}", new])
            return {}

        streams = [stream(0, "box0.black", 90, 1400) | {"expect": "esp"}]
        answer = sim.trial(on_turn=replace, software_after_us=5, warmup_us=0, measure_us=20, streams=streams)
        (row,) = answer["streams"]
        drops = {name: count for name, count in sim.counters(0)["crypto"].items() if name.startswith("drop_") and count}
        sim.command("quit")
    assert (row["lost_total"], drops) == (0, {})
    # sallyctl waits for a millisecond, in simulated time
    assert answer["software"]["sim_us"] > 1000
    assert [spi for spi, _ in groupby(esp_packets(capture), key=lambda packet: packet[0])] == [
        FIRST_SPI,
        0x2000,
    ]
