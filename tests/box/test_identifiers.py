# SPDX-License-Identifier: Apache-2.0
"""Identifications that a box gives cannot be foreseen from others (RFC 7739, RFC 6864)."""

from __future__ import annotations

from itertools import pairwise

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from tests.support.reference import FAR_V6, NEAR_V6, Tunnel

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
PACKETS = 400


def sent(make_box, tunnel: Tunnel, size: int) -> list:
    """What leaves the black port for packets of one flow, opened by scapy."""
    flow = IP(src="198.18.0.1", dst="198.19.0.1") / UDP(sport=7, dport=9) / Raw(bytes(size))
    outcome = make_box(f"link set dev black mtu 1400\n{tunnel.batch()}").red([ETHERNET / flow] * PACKETS)
    assert outcome.named() == {}
    return [Ether(frame).payload for frame in outcome.out]


def unforeseen(numbers: list[int], bits: int) -> None:
    """No number twice, no favourite step to the next one, and each bit 1 some half of the time."""
    assert len(set(numbers)) == len(numbers)
    modulus = 1 << bits
    steps = {(b - a) % modulus for a, b in pairwise(numbers)}
    assert len(steps) > 0.9 * len(numbers)
    for bit in range(bits):
        ones = sum(number >> bit & 1 for number in numbers)
        assert abs(ones - len(numbers) / 2) < 2.5 * len(numbers) ** 0.5, f"bit {bit}: {ones} of {len(numbers)}"


def test_identifications_of_ipv4_cannot_be_foreseen(make_box) -> None:
    packets = sent(make_box, Tunnel(), 100)
    assert len(packets) == PACKETS
    unforeseen([packet.id for packet in packets], 16)


def test_identifications_of_ipv6_fragments_cannot_be_foreseen(make_box) -> None:
    pieces = sent(make_box, Tunnel(near=NEAR_V6, far=FAR_V6), 2000)
    numbers = [piece[IPv6ExtHdrFragment].id for piece in pieces if piece[IPv6ExtHdrFragment].offset == 0]
    assert len(numbers) == PACKETS
    unforeseen(numbers, 32)
