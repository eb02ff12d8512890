# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/trex-software.md as it stands there: its links and files everywhere, all of it where
TREX names a TRex release."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from sallyport.rfc2544 import search
from sallyport.trex import lab as lab_file
from tests.support.paths import ROOT
from tests.trex.lab import Lab, trial
from tests.trex.software import CONFIG, LAB, LINKS, SEARCH, START, client, release, running

RATE, QUEUE = 45_000_000 / (8 * 1396), 100_000 // 1396
NAMESPACE = f"sallyport-{os.getpid()}"


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Run]:
    """Runs shell lines in a network namespace of their own, in this test's folder."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        pytest.skip("network namespaces and links need root and iproute2")
    made = subprocess.run(["ip", "netns", "add", NAMESPACE], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no network namespace: {made.stderr.strip()}")

    def run(lines: str, **more: object) -> subprocess.CompletedProcess[str]:
        words = ["ip", "netns", "exec", NAMESPACE, "sh", "-ec", lines]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]

    run("ip link set lo up")
    yield run
    subprocess.run(["ip", "netns", "del", NAMESPACE], check=True)


def test_the_links_of_the_page_come_up(inside: Run) -> None:
    done = inside(LINKS)
    if "tbf" in done.stderr or "bridge" in done.stderr:
        pytest.skip(f"this kernel lacks what the page needs: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    links = {link["ifname"]: link for link in json.loads(inside("ip -j link").stdout)}
    assert (links["trex0"]["address"], links["trex1"]["address"]) == ("02:00:00:00:01:00", "02:00:00:00:01:01")
    assert {links[name]["master"] for name in ("box0", "box1")} == {"box"}
    assert all("UP" in links[name]["flags"] for name in ("trex0", "trex1", "box0", "box1", "box"))
    assert inside("tc qdisc show").stdout.count("tbf 8") == 2


def test_the_files_of_the_page_fit_each_other(tmp_path: Path) -> None:
    (config,) = yaml.safe_load(CONFIG)
    (tmp_path / "lab.yaml").write_text(LAB)
    lab = lab_file.load(tmp_path / "lab.yaml")
    assert config["low_end"] and "--no-scapy-server" in START
    assert [port["src_mac"] for port in config["port_info"]] == [box.red.mac for box in lab.boxes]
    assert [port["dest_mac"] for port in config["port_info"]] == [box.red.next_hop for box in lab.boxes]
    assert all(
        f"{name} address {box.red.mac}" in LINKS for name, box in zip(config["interfaces"], lab.boxes, strict=True)
    )


def test_such_a_bridge_is_found_in_six_trials(lab: Lab) -> None:
    """By the stand-in, which starts late and has the bridge's rate and queue."""
    lab.world(capacity_fps=RATE, queue=QUEUE)
    backend = lab.backend()
    plain = trial(mix={1400: 1}).setup

    def run(fps: Fraction, measure_ns: int):
        return backend.run_trial(replace(trial(mix={1400: 1}), setup=replace(plain, measure_ns=measure_ns), fps=fps))

    line = replace(plain, line_gbps=10).line_fps
    found = search.throughput(run, line / 100, 4_000_000_000)
    assert float(found.fps) == pytest.approx(RATE, rel=0.02)
    assert len(found.trials) <= 6


def test_the_page_with_a_real_trex(inside: Run, tmp_path: Path) -> None:
    folder = release()
    assert inside(LINKS).returncode == 0
    (tmp_path / "trex_cfg.yaml").write_text(CONFIG)
    (tmp_path / "software.lab.yaml").write_text(re.sub(r"client: .*", f"client: {client(folder)}", LAB))
    with running(NAMESPACE, folder, tmp_path):
        done = inside(SEARCH.replace("./sallyport", str(ROOT / "sallyport")))
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "software.json").read_text())
    assert row["mpps"] * 1e6 == pytest.approx(RATE, rel=0.02)
    assert row["trials"] <= 6
