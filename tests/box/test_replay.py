# SPDX-License-Identifier: Apache-2.0
"""A real capture and scapy's own ESP through one box: scapy judges the output, never our code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from tests.support.frames import read_frames
from tests.support.reference import FAR, NEAR, Tunnel, classify_red, esp_payload, forwarded

MINIMUM = 60  # bytes of the shortest frame without its FCS


@pytest.mark.parametrize("esn", [False, True], ids=["32-bit", "esn"])
def test_office_lan_decrypts_with_scapy(make_box, office_lan: Path, esn: bool) -> None:
    tunnel = Tunnel(esn=esn)
    outcome = make_box(tunnel.batch()).red(office_lan)
    frames = [frame.ljust(MINIMUM, b"\0") for frame in read_frames(office_lan)]
    expected = Counter(map(classify_red, frames))
    protected = [forwarded(frame[14:]) for frame in frames if classify_red(frame) == "protect"]

    peer = tunnel.peer_receiver()
    received = []
    for number, frame in enumerate(outcome.out, start=1):
        outer = esp_payload(frame)
        assert (outer.src, outer.dst) == (NEAR, FAR)
        assert outer[ESP].seq == number
        received.append(bytes(peer.decrypt(outer)))
    assert received == protected
    assert outcome.named() == {f"inner.{name}": count for name, count in expected.items() if name != "protect"}


@pytest.mark.parametrize("esn", [False, True], ids=["32-bit", "esn"])
def test_scapy_esp_is_decrypted(make_box, esn: bool) -> None:
    tunnel = Tunnel(esn=esn)
    peer = tunnel.peer_sender()
    sizes = [0, 1, 2, 3, 4, 13, 18, 19, 20, 21, 22, 23, 36, 100, 511, 1000, 1400, 1472, 4000, 9000]
    inner = [
        IP(src="198.19.0.1", dst="198.18.0.1", id=size) / UDP(sport=7, dport=9) / Raw(bytes(size)) for size in sizes
    ]
    wire = [Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / peer.encrypt(packet) for packet in inner]
    outcome = make_box(tunnel.batch()).black(wire)
    expected = [forwarded(bytes(packet)) for packet in inner]
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert all(set(frame[14 + len(packet) :]) <= {0} for frame, packet in zip(outcome.out, expected, strict=True))
    assert outcome.named() == {}
