# SPDX-License-Identifier: Apache-2.0
"""ICMP errors about flows of a tunnel (RFC 4301 6.2), in whole boxes. The box judges an error by
its own source and destination, and does not read the packet in it."""

from __future__ import annotations

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.reference import Tunnel, esp_payload, forwarded

TUNNEL = Tunnel()
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
HERE, THERE, ELSEWHERE = "198.18.0.1", "198.19.0.1", "203.0.113.5"
ALL = TUNNEL.batch(src="198.18.0.0/16", dst="198.19.0.0/16", back="198.19.0.0/16")
# The same tunnel for UDP alone.
PORTS = ALL.replace("dst 198.19.0.0/16 dir out", "dst 198.19.0.0/16 proto udp dir out").replace(
    "dst 0.0.0.0/0 dir in", "dst 0.0.0.0/0 proto udp dir in"
)
# Port unreachable, fragmentation needed, time exceeded.
KINDS = [{"type": 3, "code": 3}, {"type": 3, "code": 4, "nexthopmtu": 1300}, {"type": 11, "code": 0}]


def errors(sender: str, receiver: str, other: str) -> list[Packet]:
    """Errors about a packet from `receiver` to `other`."""
    about = bytes(IP(src=receiver, dst=other, id=7) / UDP(sport=7, dport=9) / Raw(bytes(100)))[:28]
    return [IP(src=sender, dst=receiver, id=n) / ICMP(**kind) / Raw(about) for n, kind in enumerate(KINDS)]


def opened(outcome) -> list[bytes]:
    peer = TUNNEL.peer_receiver()
    return [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out]


def through_tunnel(packets: list[Packet]) -> list[Packet]:
    sender = TUNNEL.peer_sender()
    return [ETHERNET / sender.encrypt(packet, seq_num=2001 + n) for n, packet in enumerate(packets)]


def test_an_sa_of_all_protocols_carries_errors_both_ways(make_box) -> None:
    """Also those about flows that are not the tunnel's: the packet in an error is not read."""
    out = errors(HERE, THERE, HERE) + errors(HERE, THERE, ELSEWHERE)
    outcome = make_box(ALL).red([ETHERNET / packet for packet in out])
    assert opened(outcome) == [forwarded(bytes(packet)) for packet in out]
    assert outcome.named() == {}
    back = errors(THERE, HERE, THERE) + errors(THERE, HERE, ELSEWHERE)
    outcome = make_box(ALL).black(through_tunnel(back))
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(packet)) for packet in back]
    assert outcome.named() == {}


def test_an_sa_of_ports_carries_no_errors(make_box) -> None:
    """They would fit the SA of the return traffic by the packet in them."""
    assert PORTS.count("proto udp") == 2
    flow = [IP(src=HERE, dst=THERE) / UDP(sport=9, dport=7) / Raw(bytes(20))]
    outcome = make_box(PORTS).red([ETHERNET / packet for packet in flow + errors(HERE, THERE, HERE)])
    assert opened(outcome) == [forwarded(bytes(packet)) for packet in flow]
    assert outcome.named() == {"inner.drop_policy": len(KINDS)}
    flow = [IP(src=THERE, dst=HERE) / UDP(sport=7, dport=9) / Raw(bytes(20))]
    outcome = make_box(PORTS).black(through_tunnel(flow + errors(THERE, HERE, THERE)))
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(packet)) for packet in flow]
    assert outcome.named() == {"inner.drop_selector_mismatch": len(KINDS)}
