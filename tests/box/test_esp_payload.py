# SPDX-License-Identifier: Apache-2.0
"""What a peer may put around the packet in an ESP payload (RFC 4303 2.4, 2.6, 2.7): padding, TFC
padding, nothing but noise."""

from __future__ import annotations

import random

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.reference import Tunnel, forwarded

TUNNEL = Tunnel()
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
IP_IN_IP, NO_NEXT_HEADER = 4, 59


def packet(size: int) -> Packet:
    return IP(src="198.19.0.1", dst="198.18.0.1", id=size) / UDP(sport=7, dport=9) / Raw(bytes(size))


def sealed(number: int, data: bytes, next_header: int = IP_IN_IP, longest_pad: bool = False) -> Packet:
    """The black frame of an authentic ESP packet with this payload."""
    peer = TUNNEL.peer_sender()
    pad = peer.crypt_algo.pad

    def padded(esp: Packet) -> Packet:
        esp.data, esp.nh = data, next_header
        esp = pad(esp)
        if longest_pad:
            esp.padlen += (255 - esp.padlen) // 4 * 4
            esp.padding = bytes(range(1, esp.padlen + 1))
        return esp

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peer.crypt_algo, "pad", padded)
        return ETHERNET / peer.encrypt(packet(0), seq_num=number)


def check(make_box, frames: list[Packet], inner: list[Packet], named: dict[str, int]) -> None:
    """These packets and nothing else come out, none so short that its frame is padded."""
    outcome = make_box(TUNNEL.batch()).black(frames)
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(whole)) for whole in inner]
    assert outcome.named() == named


def test_traffic_flow_padding_is_taken_off(make_box) -> None:
    """Bytes behind the IP packet, as many as a sender likes, whatever their value."""
    noise = random.Random(27)
    extra = [0, 1, 2, 3, 4, 63, 64, 1000, 8000]
    inner = [packet(100 + number) for number in range(len(extra))]
    frames = [
        sealed(number, bytes(whole) + noise.randbytes(size))
        for number, (whole, size) in enumerate(zip(inner, extra, strict=True), start=1)
    ]
    check(make_box, frames, inner, {})


def test_dummy_packets_are_discarded(make_box) -> None:
    """Nothing of them goes on, well-formed or not, and they harm no packet beside them."""
    noise = random.Random(26)
    sizes = [0, 1, 20, 100, 1400]
    inner = [packet(100 + size) for size in sizes]
    payloads = [noise.randbytes(size) for size in sizes] + [bytes(inner[0])]
    frames = [sealed(number, payload, NO_NEXT_HEADER) for number, payload in enumerate(payloads, start=10)]
    for number, whole in enumerate(inner):
        frames.insert(2 * number, sealed(100 + number, bytes(whole)))
    check(make_box, frames, inner, {"crypto.drop_dec_dummy": len(payloads)})


def test_longest_padding_is_taken_off(make_box) -> None:
    inner = [packet(size) for size in range(100, 104)]
    frames = [sealed(number, bytes(whole), longest_pad=True) for number, whole in enumerate(inner, start=1)]
    least = [bytes(sealed(number, bytes(whole))) for number, whole in enumerate(inner, start=1)]
    assert {len(long) - len(short) for long, short in zip(frames, least, strict=True)} == {252}
    check(make_box, frames, inner, {})
