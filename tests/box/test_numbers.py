# SPDX-License-Identifier: Apache-2.0
"""Sequence numbers that do not begin at 1: of SAs that another box had before
(docs/decisions/0008)."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from tests.support.reference import Tunnel, esp_payload, forwarded

BEFORE = 0xFFFFFFF0  # the low half turns while the test runs
PACKETS = [IP(src="198.18.0.1", dst="198.19.0.1", id=n) / UDP(sport=7, dport=9) / Raw(bytes(n)) for n in range(60)]
MODEL = ("--crypto", "model")


def from_number(tunnel: Tunnel, spi: int, words: str) -> str:
    """The tunnel's batch, with words more for the SA of an SPI."""
    return tunnel.batch().replace(f"spi {spi:#x} reqid", f"spi {spi:#x} {words} reqid")


@pytest.mark.parametrize("high", [None, 0, 3], ids=["32-bit", "esn", "esn-high"])
def test_what_is_sent_is_above_replay_oseq(make_box, high: int | None) -> None:
    tunnel = Tunnel(esn=high is not None)
    before = 0x10000 if high is None else BEFORE
    words = f"replay-oseq {before:#x}" + (f" replay-oseq-hi {high}" if high else "")
    frames = [Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / packet for packet in PACKETS]
    outcome = make_box(from_number(tunnel, tunnel.spi_out, words)).red(frames, *MODEL)
    assert outcome.named() == {} and len(outcome.out) == len(PACKETS)
    peer = tunnel.peer_receiver()
    for n, (packet, frame) in enumerate(zip(PACKETS, outcome.out, strict=True), start=1):
        number = ((high or 0) << 32) + before + n
        outer = esp_payload(frame)
        assert outer[ESP].seq == number & 0xFFFFFFFF
        assert bytes(outer[ESP].data[:8]) == number.to_bytes(8, "big"), "the IV is the number"
        inner = peer.decrypt(outer, esn_en=tunnel.esn, esn=number >> 32)
        assert bytes(inner) == forwarded(bytes(packet))


def test_the_last_number_is_the_last(make_box) -> None:
    tunnel = Tunnel()
    frames = [Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / packet for packet in PACKETS]
    outcome = make_box(from_number(tunnel, tunnel.spi_out, "replay-oseq 0xfffffff0")).red(frames, *MODEL)
    assert [esp_payload(frame)[ESP].seq for frame in outcome.out] == list(range(0xFFFFFFF1, 1 << 32))
    assert outcome.named() == {"crypto.drop_enc_sequence_exhausted": len(PACKETS) - 15}


def test_what_is_received_is_above_replay_seq(make_box) -> None:
    """Numbers up to replay-seq are refused; those above it are opened, with the high half that
    follows from it."""
    tunnel = Tunnel(esn=True)
    peer = tunnel.peer_sender()
    wire, expected = [], []
    for n, packet in enumerate(PACKETS):
        number = (3 << 32) + BEFORE - 9 + n
        inner = IP(src="198.19.0.1", dst="198.18.0.1", id=n) / packet[UDP]
        peer.seq_num = number & 0xFFFFFFFF  # as an argument scapy takes 0 for none
        outer = peer.encrypt(inner, esn=number >> 32)
        wire.append(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / outer)
        if number > (3 << 32) + BEFORE:
            expected.append(forwarded(bytes(inner)))
    words = f"replay-seq {BEFORE:#x} replay-seq-hi 3"
    outcome = make_box(from_number(tunnel, tunnel.spi_in, words)).black(wire, *MODEL)
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {"inner.drop_replayed": len(PACKETS) - len(expected)}
