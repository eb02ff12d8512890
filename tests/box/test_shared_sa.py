# SPDX-License-Identifier: Apache-2.0
"""Boxes that share an outbound SA (decision 16), each without a word from the others: scapy and a
box as their peer judge their packets."""

from __future__ import annotations

import random

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.reference import Tunnel, esp_payload, forwarded

NODES = 4
# Each node's SA goes on above such a number: a node that took over a counter among those that did
# not, and one that counts anew.
SENT_BEFORE = {0: 0, 1: 0, 3: 57}
PACKETS = 40
IV = slice(8, 16)


def numbers(node: int, above: int) -> list[int]:
    """The numbers of a node: one of each block of NODES, from the block behind `above` on."""
    block = above // NODES
    return [(block + n) * NODES + node for n in range(1, PACKETS + 1)]


def packet(node: int, index: int) -> Packet:
    body = random.Random(64 * node + index).randbytes(40 + index)
    return IP(src="198.18.0.1", dst="198.19.0.1", id=index) / UDP(sport=node, dport=9) / Raw(body)


@pytest.mark.parametrize("esn", [False, True], ids=["32-bit", "esn"])
def test_boxes_that_share_an_sa(make_box, esn: bool) -> None:
    """No number and no IV comes from two boxes, and their peer takes each packet once."""
    tunnel = Tunnel(esn=esn)
    black: list[bytes] = []
    sent: list[tuple[int, bytes, bytes]] = []
    for node, above in SENT_BEFORE.items():
        spi = f"spi {tunnel.spi_out:#x} "
        batch = tunnel.batch().replace(spi, f"{spi}dir out node {node} of {NODES} replay-oseq {above} ", 1)
        packets = [packet(node, index) for index in range(PACKETS)]
        outcome = make_box(batch).red([Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / p for p in packets])
        assert outcome.named() == {}
        scapy = tunnel.peer_receiver()
        for p, number, frame in zip(packets, numbers(node, above), outcome.out, strict=True):
            outer = esp_payload(frame)
            assert outer[ESP].seq == number
            sent.append((number, bytes(outer[ESP])[IV], forwarded(bytes(p))))
            assert bytes(scapy.decrypt(outer)) == sent[-1][2]
        black += outcome.out
    assert len({number for number, _, _ in sent}) == len({iv for _, iv, _ in sent}) == len(sent)

    # The peer gets them in the order of their numbers, then all once more.
    in_order = sorted(range(len(sent)), key=lambda at: sent[at][0])
    far = Tunnel(tunnel.suite, tunnel.spi_in, tunnel.spi_out, esn, near=tunnel.far, far=tunnel.near)
    outcome = make_box(far.batch(window=1024)).black(2 * [black[at] for at in in_order])
    passed = [sent[at][2] for at in in_order]
    assert [frame[14:][: len(p)] for frame, p in zip(outcome.out, passed, strict=True)] == [
        forwarded(p) for p in passed
    ]
    assert outcome.named() == {"inner.drop_replayed": len(sent)}
