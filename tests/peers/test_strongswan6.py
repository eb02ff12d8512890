# SPDX-License-Identifier: Apache-2.0
"""strongSwan 6 of Debian 13 and of testing: two charons with the plugin, each before a simulated
box, negotiate ML-KEM beside a classic group (RFC 9370), in fragments (RFC 7383)."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

from tests.ike.box import IkeBox
from tests.ike.charons import Charon, agree, child, wait_until_replaced
from tests.ike.test_traffic import stream, trial
from tests.peers.debian_roots import RELEASES, debian_root
from tests.peers.root_charons import rooted_charons

HYBRIDS = {"ke1_mlkem768": "KE1_ML_KEM_768", "ke1_mlkem1024": "KE1_ML_KEM_1024"}
CLASSIC = "x25519"
SUITE = "aes256gcm16-prfsha256"
TUNNELS = 10  # of each exchange, for times


def tunnel(both: tuple[Charon, Charon], exchange: str) -> tuple[IkeBox, IkeBox]:
    """One tunnel between them, whose IKE_SA and whose rekeyed CHILD_SAs have these exchanges."""
    for n, charon in enumerate(both):
        words = f"esp_proposals = aes256gcm16-{exchange}-esn"
        charon.load(child("net", 1 + n, 2 - n, words), f"proposals = {SUITE}-{exchange}")
    both[0].initiate("net")
    boxes = (both[0].box, both[1].box)
    boxes[1].wait(lambda: len(boxes[1].states) == 2 and len(boxes[1].policies) == 2)
    return boxes


def carries(both: tuple[Charon, Charon], *frames: int) -> None:
    """So many packets cross the tunnel each way, and both charons have the boxes' counts."""
    boxes = (both[0].box, both[1].box)
    assert trial(boxes, *(stream(way, frames=count) for way, count in enumerate(frames))) == [*frames]
    for charon, (out, into) in zip(both, (frames, frames[::-1]), strict=True):
        (sa,) = charon.children()
        assert (int(sa["packets-out"]), int(sa["packets-in"])) == (out, into)


def said_at(charon: Charon, words: str) -> int:
    """When its log first has these words behind the mark, in milliseconds of the day."""
    found = re.search(rf"^(\d+):(\d+):(\d+)\.(\d+) .*{words}", charon.said(), re.MULTILINE)
    assert found, words
    hour, minute, second, milli = map(int, found.groups())
    return ((hour * 60 + minute) * 60 + second) * 1000 + milli


def spread(took: list[int]) -> str:
    return f"{median(took):.0f} ms ({min(took)} to {max(took)})"


@pytest.mark.parametrize("hybrid", HYBRIDS)
def test_hybrid(fresh: tuple[Charon, Charon], hybrid: str) -> None:
    """Both charons show the hybrid from the first IKE_SA and in each rekey of it and of the
    CHILD_SA; the boxes have the keys, and carry packets under each."""
    boxes = tunnel(fresh, f"{CLASSIC}-{hybrid}")
    shown = f"CURVE_25519/{HYBRIDS[hybrid]}"
    agree(*boxes)
    carries(fresh, 5, 7)
    for charon in fresh:
        assert f"PRF_HMAC_SHA2_256/{shown}" in charon.swanctl("--list-sas")
    old = boxes[0].spis()
    fresh[0].swanctl("--rekey", "--child", "net")
    wait_until_replaced(old, *boxes)
    fresh[1].swanctl("--rekey", "--ike", "t")
    for charon in fresh:
        charon.wait_for_log(r"IKE_SA t\[\d+\] rekeyed between")
        listed = charon.swanctl("--list-sas")
        assert f"PRF_HMAC_SHA2_256/{shown}" in listed and f"AES_GCM_16-256/{shown}" in listed
        # The key of ML-KEM-768 and the rest of a rekey are more than one packet of charon's, too.
        said = charon.said()
        assert re.search(r"splitting IKE message \(\d+ bytes\) into 2 fragments", said)
        assert re.search(r"received fragment #2 of 2, reassembled fragmented IKE message", said)
    agree(*boxes)
    carries(fresh, 3, 2)


def test_classic(fresh: tuple[Charon, Charon]) -> None:
    boxes = tunnel(fresh, CLASSIC)
    agree(*boxes)
    carries(fresh, 4, 6)
    assert "ML_KEM" not in "".join(charon.swanctl("--list-sas") for charon in fresh)


def test_two_releases(tmp_path: Path) -> None:
    """They agree on ML-KEM: Debian 13's is strongSwan's own, testing's is OpenSSL's."""
    with rooted_charons(tmp_path, *map(debian_root, RELEASES), tag="x") as both:
        for hybrid, shown in HYBRIDS.items():
            agree(*tunnel(both, f"{CLASSIC}-{hybrid}"))
            carries(both, 5, 7)
            assert all(f"CURVE_25519/{shown}" in charon.swanctl("--list-sas") for charon in both)
            both[0].terminate()
            both[1].box.wait_until_empty()


@pytest.mark.parametrize("release", RELEASES)
def test_with_this_machines_charon(release: str, tmp_path: Path) -> None:
    """A box with strongSwan 5.9.8 beside one with 6, which offers a hybrid and a classic group."""
    with rooted_charons(tmp_path, None, debian_root(release), tag="x") as both:
        for n, charon in enumerate(both):
            offered = f"{SUITE}-{CLASSIC}-ke1_mlkem768, {SUITE}-{CLASSIC}" if n else f"{SUITE}-{CLASSIC}"
            charon.load(child("net", 1 + n, 2 - n, "esp_proposals = aes256gcm16-esn"), f"proposals = {offered}")
        both[1].initiate("net")
        boxes = (both[0].box, both[1].box)
        boxes[0].wait(lambda: len(boxes[0].states) == 2 and len(boxes[0].policies) == 2)
        agree(*boxes)
        carries(both, 5, 7)


def test_set_up_times(fresh: tuple[Charon, Charon]) -> None:
    """Prints how long charon takes from its first packet to the SAs in its box, and to the end of
    the key exchanges."""
    for exchange in (CLASSIC, "ecp384", *(f"{CLASSIC}-{hybrid}" for hybrid in HYBRIDS)):
        keys, whole = [], []
        for _ in range(TUNNELS):
            fresh[0].mark()
            boxes = tunnel(fresh, exchange)
            began = said_at(fresh[0], r"initiating IKE_SA t\[")
            keys.append(said_at(fresh[0], "generating IKE_AUTH request") - began)
            whole.append(said_at(fresh[0], r"CHILD_SA net\{\d+\} established") - began)
            assert 0 <= keys[-1] <= whole[-1]
            fresh[0].terminate()
            for box in boxes:
                box.wait_until_empty()
        print(f"{exchange}: {TUNNELS} tunnels, keys {spread(keys)}, whole {spread(whole)}")
