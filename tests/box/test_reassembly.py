# SPDX-License-Identifier: Apache-2.0
"""Fragments that a box puts together: ESP to its black port, and what transport mode protects (RFC
4303 3.3.4). What scapy cut goes on whole, judged by scapy; an overlap costs its datagram alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.errors import InputError
from sallyport.simulator import Simulator
from tests.support.boxes import TAKE_ALL, Seen, next_hops, run
from tests.support.hosts import FAR_V6 as HOST_FAR_V6
from tests.support.hosts import NEAR_V6 as HOST_NEAR_V6
from tests.support.hosts import TAGS, TO_BLACK, Pair, opened
from tests.support.reference import FAR_V6, NEAR_V6, Tunnel, forwarded
from tests.support.registers import Registers

TUNNEL, V6_TUNNEL = Tunnel(), Tunnel(near=NEAR_V6, far=FAR_V6)
HOSTS = {False: Pair(), True: Pair(near=HOST_NEAR_V6, far=HOST_FAR_V6)}
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")


def v4_packet(number: int, size: int = 2000) -> Packet:
    packet = IP(src="198.18.0.1", dst="198.19.0.1", id=number) / UDP(sport=7, dport=9) / Raw(bytes([number]) * size)
    return IP(bytes(packet))


def v6_cut(number: int, size: int) -> tuple[Packet, list[Packet]]:
    """A packet and its fragments."""
    head = IPv6(src="2001:db8:1::1", dst="2001:db8:2::1")
    upper = TCP(sport=7, dport=9) / Raw(bytes([number]) * size)
    return IPv6(bytes(head / upper)), fragment6(head / IPv6ExtHdrFragment(id=number) / upper, 1280)


def protected(frames: list[Packet], folder: Path, v6: bool = False) -> tuple[list[bytes], Seen]:
    """What the far host gets for frames to the red port of a bump in the wire, by scapy."""
    pair = HOSTS[v6]
    seen = run([pair.batch()], {"box0.red": [*frames]}, ["box0.black"], folder)
    peer = pair.far_receiver()
    return [opened(peer, frame) for frame in seen.out["box0.black"]], seen


def test_transport_mode_protects_fragments_as_one_packet(tmp_path: Path) -> None:
    """In order, the last first, two datagrams in turn, in a VLAN."""
    packets = [v4_packet(number) for number in range(1, 6)]
    cuts = [fragment(packet, 576) for packet in packets]
    ethernets = [TO_BLACK] * 4 + [TAGS["VLAN"](TO_BLACK)]
    frames = [TO_BLACK / piece for piece in cuts[0] + cuts[1][::-1]]
    frames += [TO_BLACK / piece for pair in zip(cuts[2], cuts[3], strict=True) for piece in pair]
    frames += [ethernets[4] / piece for piece in cuts[4]]
    received, seen = protected(frames, tmp_path)
    expected = [bytes(ethernet / packet) for ethernet, packet in zip(ethernets, packets, strict=True)]
    assert sorted(received) == sorted(expected)
    assert seen.named == [{}]


def test_transport_mode_protects_ipv6_fragments_as_one_packet(tmp_path: Path) -> None:
    cuts = [v6_cut(number, 1500 * number) for number in range(1, 5)]
    frames = [TO_BLACK / piece for _, pieces in cuts for piece in reversed(pieces)]
    received, seen = protected(frames, tmp_path, v6=True)
    assert received == [bytes(TO_BLACK / packet) for packet, _ in cuts]
    assert seen.named == [{}]


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


def test_an_overlap_is_dropped_by_name(tmp_path: Path) -> None:
    """With all fragments of its datagram; an exact duplicate is dropped alone."""
    good, bad = v4_packet(1), v4_packet(2)
    pieces = fragment(bad, 576)
    again = pieces[1].copy()
    again.frag += 1
    del again.chksum
    first, *rest = fragment(v4_packet(3), 800)
    frames = [TO_BLACK / piece for piece in [*fragment(good, 576), *pieces[:-1], again, first, first, *rest]]
    received, seen = protected(frames, tmp_path)
    assert received == [bytes(TO_BLACK / packet) for packet in (good, v4_packet(3))]
    assert seen.named == [{"inner.drop_reasm_overlap": len(pieces), "inner.drop_reasm_duplicate": 1}]


# Linux's ip_frag_ecn_table (RFC 3168 5.3): ECN fields of three fragments, and that of the datagram,
# None if it is dropped. Those end with the fragment that does not fit: one behind it would begin
# a new datagram.
NOT_ECT, ECT1, ECT0, CE = range(4)
MARKS: list[tuple[tuple[int, int, int], int | None]] = [
    ((ECT0, ECT0, CE), CE),
    ((CE, ECT1, ECT1), CE),
    ((ECT0, CE, ECT1), CE),
    ((CE, CE, CE), CE),
    ((ECT0, ECT1, ECT0), ECT0),
    ((ECT1, ECT0, ECT0), ECT1),
    ((ECT0, ECT0, ECT0), ECT0),
    ((NOT_ECT, NOT_ECT, NOT_ECT), NOT_ECT),
    ((NOT_ECT, NOT_ECT, CE), None),
    ((CE, CE, NOT_ECT), None),
    ((ECT0, ECT0, NOT_ECT), None),
    ((ECT1, ECT1, NOT_ECT), None),
    ((CE, ECT0, NOT_ECT), None),
]


def marked(packet: Packet, ecn: int) -> Packet:
    """The packet with another ECN field, and scapy's checksum."""
    fresh = packet.copy()
    if IPv6 in fresh:
        fresh.tc = fresh.tc & 0xFC | ecn
    else:
        fresh.tos = fresh.tos & 0xFC | ecn
        del fresh.chksum
    return type(packet)(bytes(fresh))


@pytest.mark.parametrize("v6", [False, True], ids=["IPv4", "IPv6"])
def test_ecn_of_fragments_is_combined(tmp_path: Path, v6: bool) -> None:
    """Congestion that any fragment met reaches the host; what no sender makes is dropped by name
    (RFC 3168 5.3)."""
    frames, expected, dropped = [], [], 0
    for number, (marks, result) in enumerate(MARKS, start=1):
        packet, pieces = v6_cut(number, 3000) if v6 else (p := v4_packet(number), fragment(p, 744))
        assert len(pieces) == len(marks)
        cut = [TO_BLACK / marked(piece, ecn) for piece, ecn in zip(pieces, marks, strict=True)]
        frames += cut if result is None or number % 2 else cut[::-1]
        if result is None:
            dropped += len(pieces)
        else:
            expected.append(bytes(TO_BLACK / marked(packet, result)))
    received, seen = protected(frames, tmp_path, v6)
    assert sorted(received) == sorted(expected)
    assert seen.named == [{"inner.drop_reasm_ecn": dropped}]


def test_congestion_of_esp_fragments_reaches_the_host(make_box) -> None:
    """RFC 3168 5.3, then RFC 6040 figure 4: one fragment of ESP has CE, and so has the packet that
    was in it."""
    inner = IP(bytes(IP(src="198.19.0.1", dst="198.18.0.1", id=1, tos=ECT0) / UDP(sport=7, dport=9) / Raw(bytes(1400))))
    outer = TUNNEL.peer_sender().encrypt(inner)
    pieces = [marked(piece, ecn) for piece, ecn in zip(fragment(outer, 800), (ECT0, CE), strict=True)]
    outcome = make_box(TUNNEL.batch()).black([ETHERNET / piece for piece in pieces])
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(marked(inner, CE)))]
    assert outcome.named() == {}


@pytest.mark.parametrize("size", [8, 16, 24])
def test_a_first_fragment_without_its_headers_is_dropped_by_name(tmp_path: Path, size: int) -> None:
    """RFC 8200 4.5, RFC 7112: 20 bytes of TCP; what lacks some is dropped alone, with one that has
    them the datagram is whole."""
    packet, pieces = v6_cut(1, 2000)
    head, upper = pieces[0][IPv6].copy(), bytes(packet[TCP])
    number = pieces[0][IPv6ExtHdrFragment].id

    def part(start: int, end: int) -> Packet:
        fields = {"nh": 6, "id": number, "m": int(end < len(upper)), "offset": start // 8}
        return TO_BLACK / IPv6(src=head.src, dst=head.dst) / IPv6ExtHdrFragment(**fields) / Raw(upper[start:end])

    frames = [part(0, size), part(24, 1000), part(1000, len(upper))]
    if size < 24:
        frames.append(part(0, 24))
    received, seen = protected(frames, tmp_path, v6=True)
    assert received == [bytes(TO_BLACK / packet)]
    assert seen.named == [{"inner.drop_reasm_headers": 1} if size < 24 else {}]


def test_who_sends_bad_fragments_to_the_box_can_be_told(make_box) -> None:
    """RFC 8200 4.5: they reach the management CPU, which makes ICMPv6 of them, and their datagram
    takes others in their place.

    Such fragments of a datagram in transit are dropped. So are those of IPv4, which has no message
    about their length.
    """
    inner = IP(bytes(IP(src="198.19.0.1", dst="198.18.0.1", id=1) / UDP(sport=7, dport=9) / Raw(bytes(1400))))
    outer = V6_TUNNEL.peer_sender().encrypt(inner)
    pieces = fragment6(IPv6(src=outer.src, dst=outer.dst) / IPv6ExtHdrFragment(id=7) / outer.payload, 1280)

    def bad(dst: str, number: int) -> list[Packet]:
        head = ETHERNET / IPv6(src=outer.src, dst=dst)
        shapes = [(63, {"nh": 50, "m": 1}), (8, {"nh": 50, "offset": 8191}), (16, {"nh": 6, "m": 1})]
        return [head / IPv6ExtHdrFragment(id=number, **fields) / Raw(bytes(size)) for size, fields in shapes]

    other = "2001:db8:77::1"
    frames = [*bad(outer.dst, 7), ETHERNET / pieces[0], *bad(other, 8), *bad(outer.dst, 7), ETHERNET / pieces[1]]
    frames.append(ETHERNET / IP(src=TUNNEL.far, dst=TUNNEL.near, flags="MF", proto=17) / Raw(bytes(63)))
    outcome = make_box(f"addr add {TUNNEL.near}/24 dev black\n" + V6_TUNNEL.batch()).black(frames)
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(inner))]
    assert outcome.named() == {
        "outer.punt_reasm": 6,
        "outer.drop_reasm_length": 3,
        "outer.drop_reasm_headers": 1,
    }


def test_limits_are_what_was_set(tmp_path: Path) -> None:
    """0.25 s and no limit of one source after reset, by the register in cycles of 300 MHz; then as
    sallyctl sets them, on both ports."""
    waits = 3

    def limit(sim: Simulator) -> None:
        assert sim.sallyctl(0, "reassembly", "show") == "timeout 250ms per-source 65535\n"
        with Registers(sim.socket(0)) as registers:
            for chip in ("inner", "outer"):
                ticks = registers.read(chip, "reasm_timeout")
                assert abs(ticks * 2**20 / 300e6 - 0.25) < 2**20 / 300e6
        with pytest.raises(InputError, match="timeout must be 1 to 114 seconds"):
            sim.sallyctl(0, "reassembly", "set", "timeout", "115")
        next_hops(sim)
        sim.sallyctl(0, "reassembly", "set", "timeout", "50ms", "per-source", waits)
        assert sim.sallyctl(0, "reassembly", "show") == f"timeout 50ms per-source {waits}\n"

    def first(peer: str, number: int) -> Packet:
        esp = IP(src=peer, dst=TUNNEL.near, id=number, proto=50) / Raw(bytes(1000))
        return ETHERNET / fragment(IP(bytes(esp)), 600)[0]

    inner = IP(bytes(IP(src="198.19.0.1", dst="198.18.0.9", id=9) / UDP(sport=7, dport=9) / Raw(bytes(1000))))
    whole = [ETHERNET / piece for piece in fragment(TUNNEL.peer_sender().encrypt(inner), 600)]
    black = [first("192.0.2.77", number) for number in range(waits + 2)] + whole
    seen = run([TAKE_ALL + TUNNEL.batch()], {"box0.black": [*black]}, ["box0.red"], tmp_path, before=limit, quiet=32768)
    assert [frame[14:] for frame in seen.out["box0.red"]] == [forwarded(bytes(inner))]
    assert seen.named == [{"outer.drop_reasm_source": 2, "outer.drop_reasm_timeout": waits}]
