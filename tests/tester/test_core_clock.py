# SPDX-License-Identifier: Apache-2.0
"""Boxes with a core clock below 300 MHz (docs/reference/simulator.md, Core clock)."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from sallyport import suites
from sallyport.backend import Setup, Trial
from sallyport.backend_sim import SimBackend
from sallyport.simulator import CRYPTO_VARIABLE, Simulator, simulation
from tests.support.reference import Tunnel
from tests.support.replay import called

CRYPTO = os.environ.get(CRYPTO_VARIABLE, "rtl")
GCM = ("aes128gcm16", "aes192gcm16", "aes256gcm16", "aes256gmac", "sm4gcm16")
# A policy takes a packet in two cycles, and 64 B frames come 148.81 million a second.
BYPASS_PERCENT = 84


@pytest.mark.parametrize("suite", GCM)
def test_250_mhz_carry_every_gcm_suite(suite: str) -> None:
    setup = Setup({64: 1}, suites.parse(suite), core_mhz=250, warmup_ns=10_000, measure_ns=40_000, crypto=CRYPTO)
    with closing(SimBackend()) as backend:
        trial = backend.run_trial(Trial(setup, setup.ceiling * setup.line_fps))
    assert trial.passed and trial.lost == 0
    assert trial.rx_frames == trial.tx_frames > 7000


def test_250_mhz_carry_a_packet_in_two_cycles(tmp_path: Path) -> None:
    batch = tmp_path / "bypass.xfrm"
    ends = "src 0.0.0.0/0 dst 0.0.0.0/0"
    batch.write_text(f"xfrm policy add {ends} dir out action allow\nxfrm policy add {ends} dir in action allow\n")
    with Simulator(boxes=2, threads=None, seed=1, core_mhz=250) as sim:
        for box in (0, 1):
            sim.sallyctl(box, "-batch", batch)
            sim.face_tester(box)
        flows = {"count": 16, "src_ip": "198.18.0.1", "dst_ip": "198.19.0.1", "src_ip_step": 1, "dst_ip_step": 1}
        streams = [
            {"id": n, "from": f"box{n}.red", "to": f"box{1 - n}.red", "load_pct": BYPASS_PERCENT}
            | {"frame_size": 64, "flows": flows}
            for n in (0, 1)
        ]
        answer = sim.command("trial", warmup_us=10, measure_us=40, seed=1, streams=streams)
    for row in answer["streams"]:
        assert row["rx_frames"] == row["tx_frames"] >= 4900


def test_a_box_says_its_clock() -> None:
    """As the nearest one below that the simulator has."""
    with Simulator(boxes=1, threads=1, seed=1, core_mhz=249) as sim:
        assert sim.ready["core_mhz"] == pytest.approx(37_500 / 151)
        shown = json.loads(sim.sallyctl(0, "id", "--json"))
    assert {chip["capabilities"]["core_khz"] for chip in shown.values()} == {248_344}


@pytest.mark.parametrize("clock", ["149", "301", "fast"])
def test_a_clock_that_no_box_has_is_refused(tmp_path: Path, clock: str) -> None:
    batch = tmp_path / "box.xfrm"
    batch.write_text(Tunnel().batch())
    done = called("replay", "--xfrm", batch, "--out", tmp_path / "out", "--core-mhz", clock)
    assert done.exit_code == 2 and "--core-mhz" in done.stderr and not (tmp_path / "out").exists()
    engine = subprocess.run(
        [simulation(None, "core", "standard"), "--core-mhz", clock], capture_output=True, text=True, check=False
    )
    assert engine.returncode == 2 and f"--core-mhz {clock}: give a clock from 150 to" in engine.stderr
