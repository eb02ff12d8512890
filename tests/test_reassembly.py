"""Fragments to both ports of one box: what scapy cut goes on whole, judged by scapy; an overlap costs its datagram alone."""

from __future__ import annotations

import pytest
from conftest import SHARED, read_frames
from reference import FAR_V6, NEAR_V6, Tunnel, classify_red, esp_payload, forwarded
from scapy.layers.inet import IP, TCP, UDP, defrag, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

TUNNEL, V6_TUNNEL = Tunnel(), Tunnel(near=NEAR_V6, far=FAR_V6)
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")


def v4_packet(number: int, size: int = 2000) -> Packet:
    packet = IP(src="198.18.0.1", dst="198.19.0.1", id=number) / UDP(sport=7, dport=9) / Raw(bytes([number]) * size)
    return IP(bytes(packet))


def v6_cut(number: int, size: int) -> tuple[Packet, list[Packet]]:
    """A packet and its fragments."""
    head = IPv6(src="2001:db8:1::1", dst="2001:db8:2::1")
    upper = TCP(sport=7, dport=9) / Raw(bytes([number]) * size)
    return IPv6(bytes(head / upper)), fragment6(head / IPv6ExtHdrFragment(id=number) / upper, 1280)


def together(outcome, packets: list[Packet], frames: list[Packet]) -> None:
    """These packets and nothing else came out of the tunnel, and the inner chip counted what it made them of."""
    peer = TUNNEL.peer_receiver()
    received = [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out]
    assert received == [forwarded(bytes(packet)) for packet in packets]
    assert outcome.named() == {}
    assert outcome.counters["inner"]["reasm_datagrams"] == len(packets)
    assert outcome.counters["inner"]["reasm_merged"] == len(frames) - len(packets)


def test_fragments_are_protected_as_one_packet(make_box) -> None:
    """In order, the last first, two datagrams in turn, in a VLAN."""
    packets = [v4_packet(number) for number in range(1, 6)]
    cuts = [fragment(packet, 576) for packet in packets]
    frames = [ETHERNET / piece for piece in cuts[0] + cuts[1][::-1]]
    frames += [ETHERNET / piece for pair in zip(cuts[2], cuts[3], strict=True) for piece in pair]
    frames += [ETHERNET / Dot1Q(vlan=5) / piece for piece in cuts[4]]
    together(make_box(TUNNEL.batch()).red(frames), packets, frames)


def test_ipv6_fragments_are_protected_as_one_packet(make_box) -> None:
    cuts = [v6_cut(number, 1500 * number) for number in range(1, 5)]
    frames = [ETHERNET / piece for _, pieces in cuts for piece in reversed(pieces)]
    outcome = make_box(TUNNEL.batch("::/0", "::/0", "::/0")).red(frames)
    together(outcome, [packet for packet, _ in cuts], frames)


@pytest.mark.parametrize("tunnel", [TUNNEL, V6_TUNNEL], ids=["IPv4", "IPv6"])
def test_fragments_of_esp_are_decrypted(make_box, tunnel: Tunnel) -> None:
    peer = tunnel.peer_sender()
    inner = [
        IP(src="198.19.0.1", dst="198.18.0.1", id=size) / UDP(sport=7, dport=9) / Raw(bytes(size))
        for size in (1400, 3000)
    ]
    frames: list[Packet] = []
    for number, packet in enumerate(inner):
        outer = peer.encrypt(packet)
        if tunnel is V6_TUNNEL:
            pieces = fragment6(IPv6(src=outer.src, dst=outer.dst) / IPv6ExtHdrFragment(id=number) / outer.payload, 1280)
        else:
            pieces = fragment(outer, 800)
        assert len(pieces) > 1
        frames += [ETHERNET / piece for piece in reversed(pieces)]
    outcome = make_box(tunnel.batch()).black(frames)
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(packet)) for packet in inner]
    assert outcome.named() == {}
    assert outcome.counters["outer"]["reasm_datagrams"] == 2


def test_an_overlap_is_dropped_by_name(make_box) -> None:
    good, bad = v4_packet(1), v4_packet(2)
    pieces = fragment(bad, 576)
    frames = [ETHERNET / piece for piece in [*fragment(good, 576), pieces[0], *pieces, *fragment(v4_packet(3), 800)]]
    outcome = make_box(TUNNEL.batch()).red(frames)
    peer = TUNNEL.peer_receiver()
    received = [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out]
    assert received == [forwarded(bytes(packet)) for packet in (good, v4_packet(3))]
    assert outcome.named() == {"inner.drop_reasm_overlap": len(pieces) + 1}


def test_what_is_legal_in_a_capture_is_put_together(make_box) -> None:
    """What scapy's reassembly makes of the capture, and nothing else, is protected."""
    path = SHARED / "pcaps" / "fragroute.pcap"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this clone (../shared/pcaps)")
    alone, joined, _ = defrag([Ether(frame) for frame in read_frames(path)])
    whole = [bytes(frame) for frame in [*alone, *joined]]
    expected = [forwarded(frame[14:]) for frame in whole if classify_red(frame.ljust(60, b"\0")) == "protect"]
    assert expected
    outcome = make_box(TUNNEL.batch()).red(path)
    peer = TUNNEL.peer_receiver()
    assert sorted(bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out) == sorted(expected)
    assert outcome.counters["inner"]["reasm_datagrams"] == len(joined)
