# SPDX-License-Identifier: Apache-2.0
"""Rekeys with ML-KEM under 90 % of the boxes' maximum, by charons of strongSwan 6: no frame is
lost. SALLYPORT_REKEYS is their number, 32 by default and 1,000 in the long form.

Each tunnel has an IKE_SA of its own, so one command rekeys all of them side by side. The load comes
in pieces, one after the other, from before the first rekey until the last old SA is gone. IKE goes
on meanwhile, and the daemons' accesses wait for the chips.
"""

from __future__ import annotations

import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sallyport import suites
from sallyport.backend import Setup
from tests.ike.box import IkeBox
from tests.ike.charons import Charon
from tests.peers.debian_roots import RELEASES, debian_root
from tests.peers.root_charons import rooted_charons

TUNNELS = 32
FRAME = 512
EXCHANGE = "x25519-ke1_mlkem768"
PATIENCE_S = 1800  # for all tunnels once
# Simulated chips are 16,000 times slower than cards and more, but charon's waits are wall time. On
# a busy machine a daemon answered after 39 s. The plugin's 30 s would fail the CHILD_SA.
PATIENT = f"kernel-sallyport {{ answer_timeout = {PATIENCE_S}s }}"
TRIES = 8  # of a request of IKE, which the plugin's requests hold up
# Between a daemon's looks at its chips, whose accesses wait as well.
SELDOM = '[events]\npoll = "10s"'
CONNECTION = """t{n} {{
  version = 2
  local_addrs = {me}
  remote_addrs = {other}
  proposals = aes256gcm16-prfsha256-{exchange}
  mobike = no
  local {{ id = {n}.{me}
    auth = psk }}
  remote {{ id = {n}.{other}
    auth = psk }}
  children {{ n {{ local_ts = {left}
    remote_ts = {right}
    esp_proposals = aes256gcm16-{exchange}-esn
    rekey_time = 0 }} }} }}
"""


def load(charon: Charon, step: int) -> None:
    """Give it all tunnels to networks behind the second gateway, whose `step` is -1."""
    words = {"me": charon.me, "other": charon.other, "exchange": EXCHANGE}
    networks = [("10.1.0.0/16", f"10.2.{n}.0/24")[::step] for n in range(TUNNELS)]
    made = "".join(CONNECTION.format(n=n, left=own, right=far, **words) for n, (own, far) in enumerate(networks))
    path = charon.folder / "swanctl.conf"
    path.write_text(f'connections {{ {made} }}\nsecrets {{ ike-1 {{ secret = "correct horse" }} }}\n')
    charon.swanctl("--load-all", "--clear", "--file", str(path))
    charon.box.forward()


def spis(box: IkeBox) -> set[str]:
    """Of all SAs that a box has."""
    return set(re.findall(r"spi (0x[0-9a-f]{8})", " ".join(box.ask("list", what="state")["items"])))


def streams() -> list[dict]:
    """Both ways through every tunnel in turn."""
    share = float(100 * 0.9 * Setup({FRAME: 1}, suites.parse("aes256gcm16"), sas=TUNNELS).ceiling)
    same = {"count": TUNNELS, "src_port": 7, "src_port_step": 0, "order": "round-robin"}
    there = {"src_ip": "10.1.0.9", "dst_ip": "10.2.0.9", "dst_ip_step": 256}
    back = {"src_ip": "10.2.0.9", "dst_ip": "10.1.0.9", "src_ip_step": 256}
    return [
        {"id": n, "from": f"box{n}.red", "to": f"box{1 - n}.red", "frame_size": FRAME, "load_pct": share,
         "flows": same | flows}
        for n, flows in enumerate((there, back))
    ]  # fmt: skip


class Load:
    """What crosses both boxes, in pieces."""

    def __init__(self, both: tuple[Charon, Charon]) -> None:
        self._both, self._sim, self._streams = both, both[0].box.sim, streams()
        self.pieces = self.sent = 0

    def piece(self) -> None:
        """None of its frames is lost, damaged or out of order."""
        times = {"warmup_us": 0, "measure_us": 10, "drain_us": 200}
        answer = self._sim.trial(seed=1, registers="live", streams=self._streams, **times)
        total = answer["total"]
        fine = answer["passed"] and total["lost_total"] == total["reordered"] == 0
        assert fine, f"piece {self.pieces}: {total}\n{[drops(charon.box) for charon in self._both]}"
        self.pieces += 1
        self.sent += total["tx_frames_total"]


def drops(box: IkeBox) -> dict[str, int]:
    """Why a box dropped or punted packets, and how many."""
    said = json.loads(box.daemon.sallyctl("counters", "--json").stdout)
    every = {f"{chip}.{name}": count for chip in ("inner", "crypto", "outer") for name, count in said[chip].items()}
    return {name: count for name, count in every.items() if count and re.search(r"\.(drop|punt)_", name)}


def rekey(both: tuple[Charon, Charon], wanted: int) -> None:
    """So many rekeys, in rounds of all tunnels, from either side in turn."""
    boxes = [charon.box for charon in both]
    for done in range(0, wanted, TUNNELS):
        count, side = min(TUNNELS, wanted - done), both[done // TUNNELS % 2]
        old = spis(boxes[0])
        assert old == spis(boxes[1]) and len(old) == 2 * TUNNELS
        for one in [[]] if count == TUNNELS else [["--ike", f"t{n}"] for n in range(count)]:
            side.swanctl("--rekey", "--child", "n", *one)
        end = time.monotonic() + PATIENCE_S
        while any(len(held) != len(old) or len(held - old) != 2 * count for held in map(spis, boxes)):
            assert time.monotonic() < end, f"{count} rekeys take more than {PATIENCE_S} s: {side.log()[-3000:]}"
            time.sleep(1)


@pytest.mark.parametrize("wanted", [TUNNELS, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("release", RELEASES)
def test_rekeys_with_ml_kem_lose_nothing(tmp_path: Path, release: str, wanted: int) -> None:
    """All frames arrive, in their order and byte for byte. Each CHILD_SA shows the hybrid."""
    wanted = int(os.environ.get("SALLYPORT_REKEYS", wanted))
    root = debian_root(release)
    with rooted_charons(tmp_path, root, root, tag="k", more=SELDOM, settings=PATIENT, tries=TRIES, threads=2) as both:
        for charon, step in zip(both, (1, -1), strict=True):
            load(charon, step)
        for n in range(TUNNELS):
            both[0].swanctl("--initiate", "--ike", f"t{n}", "--child", "n")
        both[1].box.wait(lambda: len(spis(both[1].box)) == 2 * TUNNELS)
        traffic, began = Load(both), time.monotonic()
        traffic.piece()
        with ThreadPoolExecutor(1) as pool:
            rekeying = pool.submit(rekey, both, wanted)
            while not rekeying.done():
                traffic.piece()
            rekeying.result()
        traffic.piece()
        took, carried = f"{time.monotonic() - began:.0f} s", f"{traffic.sent} frames in {traffic.pieces} pieces"
        print(f"{release}: {wanted} rekeys with {EXCHANGE} in {took}, {carried} sent, none lost")
        for charon in both:
            log = charon.log()
            assert len(re.findall(r"\brekeyed CHILD_SA n\{", log)) == wanted and "giving up after" not in log
            assert charon.swanctl("--list-sas").count("AES_GCM_16-256/CURVE_25519/KE1_ML_KEM_768") == TUNNELS
            assert drops(charon.box) == {}
