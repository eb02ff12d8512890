# SPDX-License-Identifier: Apache-2.0
"""The tests of IKE of `./sallyport rfc2544`, with real charons: docs/reference/rfc2544-ike.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sallyport.ike.dead_peer import TRIES, WAIT_S
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
