# SPDX-License-Identifier: Apache-2.0
"""Postquantum preshared keys (RFC 8784): both charons mix a secret that never crosses the wire into
the keys of IKE and of ESP."""

from __future__ import annotations

import json
import re

import pytest

from tests.ike.charons import Charon, agree, child, wait_until_replaced
from tests.ike.test_traffic import stream, trial

IDENTITY = "site.example"
PPK = "0x8f1d6a3c5b7e9024a6c8e0f21436587a9bbcddef00112233445566778899aabb"
OTHER = PPK[:-1] + "a"
FRAMES = 8


def gateways(
    both: tuple[Charon, Charon], secrets: tuple[str | None, str | None], required: tuple[bool, bool], words: str = ""
) -> None:
    """Both loaded, with these PPKs or none; the words are of the first one's child."""
    for n, (charon, secret, must) in enumerate(zip(both, secrets, required, strict=True)):
        options = f"ppk_id = {IDENTITY}\n ppk_required = {'yes' if must else 'no'}" if secret or must else ""
        given = f"ppk-site {{ id = {IDENTITY}\n secret = {secret} }}" if secret else ""
        own = f"esp_proposals = aes256gcm16-esn\n {'' if n else words}"
        charon.load(child("net", 1 + n, 2 - n, own), options, secrets=given)


def has_ppk(charon: Charon) -> bool:
    """What it says of its one IKE_SA."""
    raw = charon.swanctl("--list-sas", "--raw")
    assert len(re.findall(r"list-sa event \{t \{", raw)) == 1, raw
    return " ppk=yes " in raw


def counters(charon: Charon) -> dict[str, dict[str, int]]:
    """Of its box's chips."""
    return json.loads(charon.box.daemon.sallyctl("counters", "--json").stdout)


def established(both: tuple[Charon, Charon]) -> None:
    """The first one makes the tunnel; both boxes have its SAs, and packets cross it both ways."""
    boxes = (both[0].box, both[1].box)
    both[0].initiate("net")
    boxes[1].wait(lambda: len(boxes[1].states) == 2 and len(boxes[1].policies) == 2)
    agree(*boxes)
    assert trial(boxes, stream(0, frames=FRAMES), stream(1, frames=FRAMES)) == [FRAMES, FRAMES]


def test_ppk(fresh: tuple[Charon, Charon]) -> None:
    """Both require it: the tunnel stands with the PPK, and so do the SAs behind rekeys."""
    gateways(fresh, (PPK, PPK), (True, True))
    established(fresh)
    boxes = (fresh[0].box, fresh[1].box)
    for charon in fresh:
        assert has_ppk(charon)
        charon.wait_for_log(f"using PPK for PPK_ID '{IDENTITY}'")
    old = boxes[0].spis()
    fresh[1].swanctl("--rekey", "--child", "net")
    wait_until_replaced(old, *boxes)
    fresh[0].swanctl("--rekey", "--ike", "t")
    for charon in fresh:
        charon.wait_for_log(r"IKE_SA t\[\d+\] rekeyed between")
    agree(*boxes)
    assert trial(boxes, stream(0, frames=FRAMES), stream(1, frames=FRAMES)) == [FRAMES, FRAMES]


@pytest.mark.parametrize(
    ("theirs", "required", "said"),
    [
        (OTHER, (True, True), "AUTH_FAILED"),
        (OTHER, (True, False), "AUTH_FAILED"),
        (None, (True, False), "PPK required but peer does not support PPK"),
    ],
    ids=["another", "another-not-required-there", "none"],
)
def test_refused(fresh: tuple[Charon, Charon], theirs: str | None, required: tuple[bool, bool], said: str) -> None:
    """Without the right PPK no SA comes. What the tunnel is for waits at the trap and leaves in no
    form: not a frame is on the cable between the boxes."""
    a, b = fresh
    gateways(fresh, (PPK, theirs), required, "start_action = trap")
    a.box.wait(lambda: len(a.box.policies) == 2)
    assert "failed" in a.initiate("net", check=False)
    a.wait_for_log(said)
    for charon in fresh:
        assert not charon.box.states and "established successfully" not in charon.said()
    for box in (a.box, b.box):
        box.forward()
    before = counters(a), counters(b)
    answer = a.box.sim.trial(warmup_us=0, measure_us=10, seed=1, streams=[stream(0, frames=FRAMES)])
    assert (answer["total"]["tx_frames_total"], answer["total"]["lost_total"]) == (FRAMES, FRAMES)
    after = counters(a), counters(b)
    assert after[0]["inner"]["punt_policy"] - before[0]["inner"]["punt_policy"] == FRAMES
    for old, new in zip(before, after, strict=True):
        assert new["outer"] == old["outer"] and new["crypto"] == old["crypto"]


def test_not_required(fresh: tuple[Charon, Charon]) -> None:
    """A peer without any gets a tunnel where neither side requires one, and both say that the PPK
    is not in it."""
    gateways(fresh, (PPK, None), (False, False))
    established(fresh)
    assert not any(map(has_ppk, fresh))
