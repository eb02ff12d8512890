# SPDX-License-Identifier: Apache-2.0
"""The tests of IKE of `./sallyport rfc2544`, with real charons: docs/reference/rfc2544-ike.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scapy.contrib.ikev2 import IKEv2
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from sallyport.backend import Setup
from sallyport.ike import gateways
from sallyport.ike import tunnels as set_up
from sallyport.ike.charon import COOKIES
from sallyport.ike.connections import connections
from sallyport.ike.dead_peer import TRIES, WAIT_S
from sallyport.ike.flood import frame, request
from sallyport.ike.tunnels import FRAMES
from tests.ike.charons import skip_without_strongswan
from tests.support.replay import sallyport

# By test: each figure with its unit and clock.
FIGURES = {
    "ike-tunnels": [("tunnels set up", "1/s", "wall"), ("requests sent again", "count", "")],
    "ike-first-packet": [
        ("first packet", "ms", "wall"), ("until charon is asked", "ms", "wall"), ("IKE and its SAs", "ms", "wall"),
    ],
    "ike-rekeys": [("rekeys", "1/s", "wall"), ("blocked", "ns", "simulated")],
    "ike-dead-peer": [
        ("peer found dead", "ms", "wall"), ("first packet again", "ms", "wall"), ("all tunnels again", "ms", "wall"),
    ],
    "ike-half-open": [
        ("tunnels beside the flood", "1/s", "wall"), ("requests of the flood", "1/s", "wall"),
        ("half-open IKE_SAs at most", "count", ""),
    ],
}  # fmt: skip


def rows(folder: Path, test: str, *more: object) -> dict[str, dict]:
    """The rows of one test that passed, by their figures."""
    skip_without_strongswan()
    path = folder / "rows.json"
    sallyport("rfc2544", "--test", test, "--quiet", "--json", path, *more)
    found = json.loads(path.read_text())
    assert [(row["figure_name"], row["unit"], row["clock"]) for row in found] == FIGURES[test]
    return {row["figure_name"]: row for row in found}


@pytest.mark.parametrize(
    ("tunnels", "trials", "more"),
    [
        (2, 1, ("--suite", "aes128-sha256,chacha20poly1305", "--nat-t")),
        pytest.param(64, 3, (), marks=pytest.mark.long),
    ],
)
def test_tunnels_a_second(tmp_path: Path, tunnels: int, trials: int, more: tuple) -> None:
    """Each tunnel carries its frames both ways, not one is lost, and charon counts as many in each
    CHILD_SA (sallyport.ike.tunnels.unlike)."""
    found = rows(tmp_path, "ike-tunnels", "--ike-tunnels", tunnels, "--trials", trials, *more)
    for row in found.values():
        assert (row["tx_frames"], row["lost"], row["reordered"]) == (2 * FRAMES * tunnels * trials, 0, 0)
        assert (row["passed"], row["checks"], row["sas"], row["trials"]) == (True, [], tunnels, trials)
        assert len(row["figure_runs"]) == trials
    assert found["tunnels set up"]["figure"] > 0


def test_a_tunnel_that_does_not_come_up_fails_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The far gateway has another network for one of two tunnels. The other one carries its frames;
    the row has no figure, the reasons, and the frames that were lost."""
    skip_without_strongswan()

    def mistaken(setup: Setup, side: int, *words: str, **more: str) -> str:
        text = connections(setup, side, *words, **more)
        return text.replace("198.18.0.1/32", "198.18.9.9/32") if side == 1 else text

    monkeypatch.setattr(gateways, "connections", mistaken)
    monkeypatch.setattr(set_up, "LEAST_S", 3)
    monkeypatch.setattr(set_up, "EACH_S", 0)
    path = tmp_path / "rows.json"
    words = ("--test", "ike-tunnels", "--ike-tunnels", 2, "--trials", 1, "--quiet", "--json", path)
    done = sallyport("rfc2544", *words, check=False)
    assert done.exit_code == 1 and "Traceback" not in done.stderr
    row = json.loads(path.read_text())[0]
    assert (row["passed"], row["figure"], row["figure_runs"]) == (False, None, [])
    assert (row["tx_frames"], row["lost"]) == (4 * FRAMES, 2 * FRAMES)
    assert "1 of 2 tunnels came up in 3 s" in row["checks"]
    assert any(check.startswith("gateway a: 1 of 2 tunnels have not carried 4 packets") for check in row["checks"])
    assert "1 of 2 tunnels came up in 3 s" in done.stdout


def test_time_to_the_first_packet(tmp_path: Path) -> None:
    """The first packet has charon asked and is itself dropped; the last one sent is the one that
    arrives."""
    found = rows(tmp_path, "ike-first-packet", "--ike-tunnels", 2, "--trials", 1)
    first = found["first packet"]
    assert (first["rx_frames"], first["lost"]) == (1, first["tx_frames"] - 1) and first["lost"] > 0
    assert 0 < found["until charon is asked"]["figure"] < first["figure"]
    assert found["IKE and its SAs"]["figure"] > 0


@pytest.mark.parametrize(
    ("tunnels", "measure_us"), [(1, 20), pytest.param(16, 200, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_rekeys_under_load(tmp_path: Path, tunnels: int, measure_us: int) -> None:
    """Every CHILD_SA is replaced while its tunnel carries its share of 90 % of the maximum, and not
    a frame is lost or reordered."""
    load = ("--share", 90, "--measure-us", measure_us)
    found = rows(tmp_path, "ike-rekeys", "--ike-tunnels", tunnels, "--trials", 1, *load)
    for row in found.values():
        assert (row["passed"], row["lost"], row["reordered"], row["checks"]) == (True, 0, 0, [])
        # At least the piece with the rekey in it and the one behind it.
        assert row["tx_frames"] > 2 * 2 * 0.99 * row["intended_fps"] * measure_us / 1e6
    assert found["rekeys"]["figure"] > 0
    assert 0 <= found["blocked"]["figure"] < 1000 * measure_us


@pytest.mark.parametrize(
    ("tunnels", "trials"), [(2, 1), pytest.param(16, 3, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_a_dead_peer_is_found_and_replaced(tmp_path: Path, tunnels: int, trials: int) -> None:
    """Not before charon has waited as often as it was told, and then all tunnels come up again.
    Frames that the box sends meanwhile are lost."""
    found = rows(tmp_path, "ike-dead-peer", "--ike-tunnels", tunnels, "--trials", trials)
    for row in found.values():
        assert (row["rx_frames"], row["checks"]) == (trials, []) and row["lost"] > 0
    dead, packet, complete = (found[name]["figure_runs"] for name, *_ in FIGURES["ike-dead-peer"])
    for number in range(trials):
        assert 1000 * WAIT_S * (TRIES + 1) < dead[number] < packet[number] <= complete[number]


def test_requests_of_the_flood_are_what_scapy_says() -> None:
    """Each is complete by its own lengths, with right checksums and an SPI of its own; another test
    has charon take ten of them."""
    ether = Ether(frame(bytes(range(12)), 0x0A010203, 0xC0000202))
    assert (ether.dst, ether.src) == ("00:01:02:03:04:05", "06:07:08:09:0a:0b")
    assert (ether[IP].src, ether[IP].dst, ether[UDP].dport) == ("10.1.2.3", "192.0.2.2", 500)
    ike = ether[IKEv2]
    assert (ike.exch_type, ike.length, ike.resp_SPI) == (34, len(bytes(ike)), bytes(8))
    assert ike.lastlayer().name == "IKEv2 Nonce" and len(bytes(ike.lastlayer())) == 36
    rebuilt = ether.copy()
    del rebuilt[IP].chksum, rebuilt[IP].len, rebuilt[UDP].len
    assert bytes(Ether(bytes(rebuilt))[IP])[:20] == bytes(ether[IP])[:20]
    assert len({request()[:8] for _ in range(100)}) == 100


@pytest.mark.parametrize(
    ("tunnels", "flood"), [(2, 500), pytest.param(16, 5000, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_honest_tunnels_come_up_beside_a_flood(tmp_path: Path, tunnels: int, flood: int) -> None:
    """The flood makes as many half-open IKE_SAs as charon allows without cookies, and no more;
    every honest tunnel comes up and carries its frames."""
    found = rows(tmp_path, "ike-half-open", "--ike-tunnels", tunnels, "--trials", 1, "--ike-flood", flood)
    for row in found.values():
        assert (row["passed"], row["checks"], row["tx_frames"], row["lost"]) == (True, [], 2 * FRAMES * tunnels, 0)
    assert found["requests of the flood"]["figure"] > flood / 2
    assert found["half-open IKE_SAs at most"]["figure"] >= COOKIES
