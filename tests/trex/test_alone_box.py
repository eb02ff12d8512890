# SPDX-License-Identifier: Apache-2.0
"""The tester of a box alone, with a simulated box for its lab's: the box takes the SAs and the ESP
that the tester makes, drops its hostile frames by name, and passes its judgement."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

from sallyport.trex import alone, black, encrypted, frames, samples
from sallyport.trex.streams import Way
from sallyport.tunnels import Tunnels
from tests.support.replay import Box
from tests.trex.lab import setup

TESTER, BOX = ("02:00:00:00:01:00", "02:00:00:00:01:01"), ("02:00:00:00:02:00", "02:00:00:00:02:01")
RED, BLACK = (Way(n, n, 1 - n, TESTER[n], BOX[n]) for n in (0, 1))
MIX, COUNT = {90: 2, 594: 1}, 12
SETUPS = [
    {"suite": "aes256gcm16", "sas": 2},
    {"suite": "sm4-sm3", "nat_t": True},
    {"suite": "aes128-sha256", "ip": 6},
    {"suite": "chacha20poly1305", "mode": "transport"},
]


def batch(asked) -> str:
    """What a person and then the tester would give the box; twice, as in a second run."""
    tunnels = Tunnels(asked)
    written = [*alone.FLUSH, *tunnels.associations(0)]
    return "".join(f"{line}\n" for line in [*tunnels.network(0, 9000), *written, *written])


def judged(judge, found: list[bytes]) -> list[str | None]:
    packets = [packet for packet in map(black.read, found) if packet and judge.mine(packet)]
    return [judge.wrong(packet) for packet in packets]


@pytest.mark.parametrize("changes", SETUPS, ids=str)
def test_a_simulated_box_and_the_tester_agree(tmp_path: Path, changes: dict) -> None:
    asked = setup(MIX, boxes=1, **changes)
    box = Box(tmp_path, batch(asked))
    sealed = [frame for frame, _ in encrypted.Sender(asked, Tunnels(asked), "round-robin", 0).frames(MIX, BLACK, COUNT)]
    outcome = box.black(sealed)
    assert judged(samples.Clear(asked, BLACK, 0), outcome.out) == [None] * COUNT, outcome.named()
    sizes = cycle(MIX)
    clear = [
        frames.frame(0, at % asked.sas, asked.ip, next(sizes), TESTER[0], BOX[0], checked=True) for at in range(COUNT)
    ]
    outcome = box.red(clear)
    assert judged(samples.Sealed(asked, RED, 0, Tunnels(asked)), outcome.out) == [None] * COUNT, outcome.named()


@pytest.mark.parametrize(
    ("kind", "counter"),
    [("replay", "inner.drop_replayed"), ("bad-icv", "crypto.drop_dec_icv"), ("unknown-spi", "outer.punt_unknown_spi")],
)
def test_a_simulated_box_drops_hostile_frames(tmp_path: Path, kind: str, counter: str) -> None:
    """And no honest one beside them."""
    asked = setup(MIX, boxes=1, sas=2)
    sent = encrypted.Sender(asked, Tunnels(asked), "round-robin", 0).frames(MIX, BLACK, COUNT)
    outcome = Box(tmp_path, batch(asked)).black(list(encrypted.attacked(sent, kind)))
    assert judged(samples.Clear(asked, BLACK, 0), outcome.out) == [None] * COUNT
    assert outcome.named() == {counter: COUNT}
