# SPDX-License-Identifier: Apache-2.0
"""Traffic through two boxes back to back, under SAs that two charons negotiated for them: nothing
is lost in a rekey, and IKE goes by the chips' counts."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.ike.box import IkeBox
from tests.ike.charons import Charon, agree, installed, wait_until_replaced

SIZE = 256
PACKET = SIZE - 18  # without Ethernet's header and FCS


def stream(way: int, **more: object) -> dict:
    """From the network behind box `way` to the other one."""
    flows = {"src_ip": f"10.{way + 1}.0.9", "dst_ip": f"10.{2 - way}.0.9"}
    ends = {"from": f"box{way}.red", "to": f"box{1 - way}.red"}
    return {"id": way, **ends, "frame_size": SIZE, "load_pct": 20, "flows": flows, **more}


def trial(both: tuple[IkeBox, IkeBox], *streams: dict, measure_us: int = 10, **more: object) -> list[int]:
    """Nothing of the streams is lost or damaged; how many packets each had."""
    for box in both:
        box.forward()
    answer = both[0].sim.trial(warmup_us=0, measure_us=measure_us, seed=1, streams=[*streams], **more)
    assert answer["passed"], answer
    return [row["tx_frames_total"] for row in answer["streams"]]


def test_rekeys_under_traffic(fresh: tuple[Charon, Charon]) -> None:
    """CHILD_SA and IKE_SA are rekeyed while packets cross the boxes both ways: not one is lost, and
    new SAs carry the last."""
    both = installed(fresh)
    old = both[0].spis()

    def rekey() -> None:
        fresh[1].swanctl("--rekey", "--child", "net")
        wait_until_replaced(old, *both)
        fresh[0].swanctl("--rekey", "--ike", "t")
        fresh[0].wait_for_log(r"IKE_SA t\[\d+\] rekeyed between")

    def both_ways() -> list[int]:
        return trial(both, stream(0), stream(1), registers="live")

    # The first packets cross before the rekey, which may be quicker than a trial begins, and the
    # last behind it.
    sent = [both_ways()]
    with ThreadPoolExecutor() as pool:
        rekeying = pool.submit(rekey)
        while not rekeying.done():
            sent.append(both_ways())
        rekeying.result()
    sent.append(both_ways())
    for box, total in zip(both, map(sum, zip(*sent, strict=True)), strict=True):
        sa = box.only("out")
        assert sa.spi not in old
        assert 0 < box.ask("query-state", dst=sa.dst, proto="esp", spi=sa.spi)["packets"] < total
    agree(*both)


def test_usage(fresh: tuple[Charon, Charon]) -> None:
    """What the chips count is what swanctl shows, and packets of the peer stand for an answer to
    dead peer detection (RFC 7296, 2.4)."""
    a, b = fresh
    both = installed(fresh, options="dpd_delay = 3s")

    def asked() -> bool:
        return any("sending DPD request" in charon.said() for charon in fresh)

    sent = [0, 0]
    stop = time.monotonic() + 5
    while time.monotonic() < stop:
        sent = [x + y for x, y in zip(sent, trial(both, stream(0), stream(1)), strict=True)]
    (negotiated,) = a.children()
    assert [int(negotiated[f"packets-{way}"]) for way in ("out", "in")] == sent
    assert [int(negotiated[f"bytes-{way}"]) for way in ("out", "in")] == [PACKET * count for count in sent]
    assert not asked()
    (there,) = b.children()
    assert (there["packets-in"], there["packets-out"]) == (negotiated["packets-out"], negotiated["packets-in"])
    a.wait_for(asked)


def test_five_tuples(fresh: tuple[Charon, Charon]) -> None:
    """Two flows between the same two hosts, told apart by a port alone, go under two SAs with keys
    of their own."""
    a, b = fresh
    near, far = "10.1.0.9/32[udp/{}]", "10.2.0.9/32[udp/9]"
    frames = {"c7001": 5, "c7002": 8}
    for charon, (mine, theirs) in ((a, ("local", "remote")), (b, ("remote", "local"))):
        ends = [f"{mine}_ts = {near.format(name[1:])}\n {theirs}_ts = {far}\n" for name in frames]
        words = [f"{name} {{ {end} esp_proposals = aes256gcm16 }}\n" for name, end in zip(frames, ends, strict=True)]
        charon.load("".join(words))
    for name in frames:
        a.initiate(name)
    both = (a.box, b.box)
    b.box.wait(lambda: len(b.box.states) == 4)
    agree(*both)
    assert len({state.keys for state in a.box.states}) == 4
    ends = {"src_ip": "10.1.0.9", "dst_ip": "10.2.0.9", "dst_port": 9}
    streams = [
        stream(0, id=n, frames=count, flows=ends | {"src_port": int(name[1:])})
        for n, (name, count) in enumerate(frames.items())
    ]
    assert trial(both, *streams) == [*frames.values()]
    for charon, way in ((a, "out"), (b, "in")):
        assert {sa["name"]: int(sa[f"packets-{way}"]) for sa in charon.children()} == frames


@pytest.mark.parametrize("way", [0, 1])
def test_soft_limit(fresh: tuple[Charon, Charon], way: int) -> None:
    """The chips count to a CHILD_SA's limit in packets, out or in, and charon replaces it."""
    both = installed(fresh, "rekey_packets = 5\n rand_packets = 0\n life_packets = 100")
    old = both[0].spis()
    trial(both, stream(way, frames=8))
    wait_until_replaced(old, *both)
    agree(*both)
    assert trial(both, stream(way, frames=3)) == [3]


def test_hard_limit(fresh: tuple[Charon, Charon]) -> None:
    """In bytes: no more pass, charon deletes the CHILD_SA at both ends, and makes another one."""
    a, _ = fresh
    both = installed(fresh, f"rekey_time = 0\n life_bytes = {5 * PACKET}")
    old = both[0].spis()
    for box in both:
        box.forward()
    answer = both[0].sim.trial(warmup_us=0, measure_us=10, seed=1, streams=[stream(0, frames=8)])
    assert answer["total"]["lost_total"] == 3
    wait_until_replaced(old, *both)
    assert len(re.findall("closing expired CHILD_SA", a.said())) == 1
    agree(*both)
