# SPDX-License-Identifier: Apache-2.0
"""`--crypto model` changes nothing but speed: the same bytes at the same times, the same counters,
whatever comes. The simulation of the RTL takes minutes to build, so these tests are long; the short
form compares each port of a lane in each cycle (LaneModelSpec)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sallyport import simulator, suites
from sallyport.backend import Setup
from sallyport.errors import InputError
from sallyport.simulator import CRYPTO, Simulator
from sallyport.tunnels import Tunnels
from tests.support.boxes import next_hops
from tests.support.frames import read_frames, write_frames
from tests.support.reference import Tunnel
from tests.support.replay import sallyport
from tests.support.runs import digest, rows

SEED = 11
ALL = tuple(suites.find(name) for name in suites.SUITES)
SAS = 2 * len(ALL)
SETUP = Setup({}, ALL, sas=SAS, seed=SEED)
MTU = 9000
# What a trial and a counter file tell of the machine and the program that ran them.
OURS = {"simulation", "id"}


def box(crypto: str, number: int, boxes: int) -> Simulator:
    """A simulation of `boxes` boxes, the first of them being box `number`; SAs of every suite
    in turn."""
    sim = Simulator(boxes, None, SEED, crypto=crypto)
    for each in range(boxes):
        next_hops(sim, each)
        sim.batch(each, Tunnels(SETUP).batch(number + each, MTU).splitlines())
    return sim


def stream(way: int, sizes: dict[int, int], load: float) -> dict:
    first = Tunnels(SETUP).flow(way, 0)
    return {
        "id": way,
        "from": f"box{way}.red",
        "to": f"box{1 - way}.red",
        "load_pct": load,
        "sizes": [{"size": size, "weight": weight} for size, weight in sizes.items()],
        "flows": {
            "count": SAS,
            "order": "random",
            "src_ip": str(first.src),
            "dst_ip": str(first.dst),
            "src_ip_step": 1,
            "dst_ip_step": 1,
            "src_port": first.src_port,
            "dst_port": first.dst_port,
            "src_port_step": 0,
        },
    }


def two_boxes(crypto: str, folder: Path) -> tuple[list, str]:
    """Two boxes with every suite both ways, over a damaging cable and links: the counters, and
    every capture's bytes."""
    folder.mkdir()
    counted: list = []
    with box(crypto, 0, boxes=2) as sim:
        for port in ("box0.red", "box0.black", "box1.red", "box1.black"):
            sim.command("capture", port=port, direction="both", file=str(folder / f"{port}.pcapng"))
        for load, damage in ((45.0, False), (25.0, True)):
            if damage:
                sim.command("fault", cable="box0>box1", loss=0.01, duplicate=0.02, reorder=0.02, seed=3)
                sim.command("fault", link="box0.crypto>inner", ber=1e-6, seed=4)
            answer = sim.trial(
                warmup_us=5,
                measure_us=25,
                seed=SEED,
                streams=[stream(0, {64: 7, 594: 4, 1518: 1}, load), stream(1, {64: 3, 127: 2, 1400: 1, 8000: 1}, load)],
            )
            counted.append({key: value for key, value in answer.items() if key not in OURS})
            if not damage:
                assert answer["total"]["lost_total"] == answer["total"]["corrupted"] == 0, (
                    "the first trial is undisturbed"
                )
        counted += [sim.counters(each) for each in (0, 1)]
        sim.command("quit")
    return counted, digest(folder)


@pytest.mark.long
def test_every_suite_both_ways(tmp_path: Path) -> None:
    assert two_boxes("model", tmp_path / "model") == two_boxes("rtl", tmp_path / "rtl")


def opened(crypto: str, frames: Path, folder: Path) -> tuple[dict, str]:
    """A box that gets `frames` on black, loses its keys in the middle of them, and gets
    the rest."""
    folder.mkdir()
    with box(crypto, 1, boxes=1) as sim:
        sim.command("capture", port="box0.red", direction="out", file=str(folder / "red.pcapng"))
        inputs = [{"port": "box0.black", "file": str(frames)}]
        assert sim.command("replay", inputs=inputs)["quiescent"]
        sim.command("replay", inputs=inputs, limit_cycles=1500)
        sim.command("tamper", box=0, on=True)
        sim.command("idle", cycles=4000)
        sim.command("tamper", box=0, on=False)
        sim.command("idle", cycles=4000)
        assert sim.command("replay", inputs=inputs)["quiescent"]
        counters = sim.counters(0)
        sim.command("quit")
    return counters, digest(folder)


@pytest.mark.long
def test_damaged_and_repeated_packets_and_erased_keys(tmp_path: Path) -> None:
    """ESP of every suite, with each third packet damaged somewhere, then again under
    erased keys."""
    with box("rtl", 0, boxes=1) as sim:
        sim.command("capture", port="box0.black", direction="out", file=str(tmp_path / "black.pcapng"))
        sent = stream(0, {64: 3, 594: 2, 1518: 1}, 40.0) | {"to": "box0.black", "expect": "esp"}
        sim.trial(warmup_us=1, measure_us=20, seed=SEED, streams=[sent])
        sim.command("quit")
    frames = [bytearray(frame) for frame in read_frames(tmp_path / "black.pcapng")]
    for number, frame in enumerate(frames[::3]):
        frame[-1 - number * 7 % (len(frame) - 50)] ^= 1 << number % 8
    write_frames(tmp_path / "damaged.pcap", map(bytes, frames))
    counters, found = opened("model", tmp_path / "damaged.pcap", tmp_path / "model")
    assert (counters, found) == opened("rtl", tmp_path / "damaged.pcap", tmp_path / "rtl")
    assert counters["crypto"]["drop_dec_icv"] >= len(frames) // 6
    assert counters["crypto"]["drop_dec_not_ready"] or counters["crypto"]["drop_dec_no_key"]


@pytest.mark.long
def test_replay_of_a_real_capture(make_box, office_lan: Path) -> None:
    outcome = make_box(Tunnel().batch())
    runs = [outcome.red(office_lan, "--crypto", crypto) for crypto in CRYPTO]
    assert digest(runs[0].folder) == digest(runs[1].folder)


@pytest.mark.long
def test_rfc2544_rows_are_the_same(tmp_path: Path) -> None:
    arguments = (
        "--frame-size",
        "64,1400",
        "--suite",
        "aes256gcm16,sm4-sm3",
        "--test",
        "latency",
        "--latency-at",
        100,
        "--share",
        90,
    )
    found = {crypto: rows(tmp_path / f"{crypto}.json", *arguments, "--crypto", crypto) for crypto in CRYPTO}
    for crypto, these in found.items():
        assert [row.pop("crypto") for row in these] == [crypto] * 2
    assert found["model"] == found["rtl"]
    assert all(row["passed"] for row in found["rtl"])


@pytest.mark.parametrize("tables", simulator.TABLES)
def test_model_says_how_it_is_built(monkeypatch: pytest.MonkeyPatch, tables: str) -> None:
    """One sentence, which is exit status 2."""
    size = "" if tables == "standard" else f"TABLES={tables} "
    how = f"make sim {size}CRYPTO=model"
    monkeypatch.setitem(simulator.TABLES, tables, (simulator.ROOT / "build" / "absent", simulator.TABLES[tables][1]))
    with pytest.raises(InputError, match=f"build/absent/sallyport-sim-model is not built; run '{how}' first"):
        Simulator(1, None, SEED, tables=tables, crypto="model")


def test_lock_step_has_one_thread() -> None:
    command = [simulator.simulation(None, "core", "standard"), "--lock-step", "--threads", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sallyport-sim: --lock-step runs on one thread; leave --threads 2 out\n"


@pytest.mark.long
def test_bench_measures_both_beside_lock_step(tmp_path: Path) -> None:
    """Its figures are this machine's; that all contenders' trials agree it checks itself."""
    sallyport("bench", "--rounds", 1, "--frame-size", "1400", "--json", tmp_path / "bench.json")
    text = (tmp_path / "bench.json").read_text()
    for word in ("lock-step", "1 thread", "2 threads", "model_to_rtl", "two_threads_to_lock_step_rtl"):
        assert word in text


def test_bench_measures_one_beside_lock_step(tmp_path: Path) -> None:
    words = ("--rounds", 1, "--frame-size", "1400", "--crypto", os.environ.get("SALLYPORT_CRYPTO", "rtl"))
    sallyport("bench", *words, "--json", tmp_path / "bench.json")
    text = (tmp_path / "bench.json").read_text()
    assert all(word in text for word in ("lock-step", "1 thread", "2 threads"))
    assert "model_to_rtl" not in text
