# SPDX-License-Identifier: Apache-2.0
"""Fragments in transit cross a tunnel, two boxes in clear and two bridges as fragments: byte for
byte what scapy cut, in any order, judged by the ports of their first one (RFC 4301 7.3)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.boxes import TAKE_ALL
from tests.support.hosts import BRIDGE, on_the_wire
from tests.support.reference import Tunnel, forwarded

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
TUNNEL = Tunnel()
FAR = replace(TUNNEL, spi_out=TUNNEL.spi_in, spi_in=TUNNEL.spi_out, near=TUNNEL.far, far=TUNNEL.near)
ENDS = {False: ("198.18.0.1", "198.19.0.1"), True: ("2001:db8:1::1", "2001:db8:2::1")}
versions = pytest.mark.parametrize("v6", [False, True], ids=["IPv4", "IPv6"])


def cut(v6: bool, number: int, size: int, mtu: int = 1480, port: int = 2049, back: bool = False) -> list[Packet]:
    """A UDP datagram of `size` bytes, in the fragments that its sender makes of it."""
    src, dst = reversed(ENDS[v6]) if back else ENDS[v6]
    upper = UDP(sport=7, dport=port) / Raw(random.Random(number).randbytes(size - 8))
    if v6:
        return fragment6(IPv6(src=src, dst=dst) / IPv6ExtHdrFragment(id=number) / upper, mtu)
    return [IP(bytes(piece)) for piece in fragment(IP(src=src, dst=dst, id=number) / upper, mtu)]


def in_order(pieces: list[list[Packet]]) -> list[Packet]:
    return [piece for each in pieces for piece in each]


def backwards(pieces: list[list[Packet]]) -> list[Packet]:
    return [piece for each in pieces for piece in reversed(each)]


def interleaved(pieces: list[list[Packet]]) -> list[Packet]:
    """A fragment of each datagram in turn, as far as they reach."""
    most = max(map(len, pieces))
    return [each[at] for at in range(most) for each in pieces if at < len(each)]


orders = pytest.mark.parametrize("order", [in_order, backwards, interleaved])


def tunnels() -> list[str]:
    """Two boxes with a tunnel between them."""
    return [TAKE_ALL + TUNNEL.batch(), TAKE_ALL + FAR.batch()]


def in_clear() -> list[str]:
    anything = [f"src {net} dst {net}" for net in ("0.0.0.0/0", "::/0")]
    rules = "".join(f"xfrm policy add {each} dir {way} action allow\n" for each in anything for way in ("out", "fwd"))
    return [TAKE_ALL + rules] * 2


def bridges() -> list[str]:
    anything = [f"src {net} dst {net}" for net in ("0.0.0.0/0", "::/0")]
    rules = "".join(f"xfrm policy add {each} dir {way} action allow\n" for each in anything for way in ("out", "fwd"))
    return [BRIDGE + rules] * 2


WAYS: dict[str, Callable[[], list[str]]] = {"tunnel": tunnels, "clear": in_clear, "bump": bridges}


def neighbours(sim: Simulator) -> None:
    for box in (0, 1):
        boxes.next_hops(sim, box)


def crossed(batches: list[str], packets: list[Packet], folder: Path) -> boxes.Seen:
    frames: list[bytes | Packet] = [bytes(ETHERNET / packet) for packet in packets]
    return boxes.run(batches, {"box0.red": frames}, ["box1.red"], folder, before=neighbours)


def arrived(way: str, packets: list[Packet]) -> list[bytes]:
    """What a station behind both boxes gets: through a bridge the frames, else the packets."""
    if way == "bump":
        return [on_the_wire(ETHERNET / packet) for packet in packets]
    return [on_the_wire(bytes(14) + forwarded(forwarded(bytes(packet))))[14:] for packet in packets]


@versions
@orders
@pytest.mark.parametrize("way", WAYS)
def test_fragments_cross_two_boxes_as_they_are(tmp_path: Path, way: str, order, v6: bool) -> None:
    packets = order([cut(v6, number, 3000 * number) for number in (1, 2, 3)])
    seen = crossed(WAYS[way](), packets, tmp_path)
    skip = 0 if way == "bump" else 14
    assert sorted(frame[skip:] for frame in seen.out["box1.red"]) == sorted(arrived(way, packets))
    if order is not backwards:
        assert [frame[skip:] for frame in seen.out["box1.red"]] == arrived(way, packets)
    assert seen.named == [{}, {}]


@versions
@pytest.mark.parametrize("way", WAYS)
def test_the_longest_datagram_crosses(tmp_path: Path, way: str, v6: bool) -> None:
    """`ping -s 65000`: longer than any frame, and than what a chip puts together."""
    packets = in_order([cut(v6, 1, 65008)])
    assert len(packets) > 40
    seen = crossed(WAYS[way](), packets, tmp_path)
    skip = 0 if way == "bump" else 14
    assert [frame[skip:] for frame in seen.out["box1.red"]] == arrived(way, packets)
    assert seen.named == [{}, {}]


@versions
@orders
def test_the_ports_of_the_first_fragment_decide(tmp_path: Path, order, v6: bool) -> None:
    """At each look-up of a policy: the SPD, the rules of clear packets at black and at red, and the
    selectors of an SA (RFC 4301 4.4.1, 5.2, 7.3)."""
    (near, far), bits = ENDS[v6], "::/48" if v6 else "/16"
    nets = [end.removesuffix("::1") + bits if v6 else end.removesuffix(".0.1") + ".0.0/16" for end in (near, far)]
    nfs = "proto udp dport 2049"
    batches = [
        TAKE_ALL + TUNNEL.batch(nets[0], f"{nets[1]} {nfs}", nets[1]),
        TAKE_ALL + FAR.batch(nets[1], nets[0], f"{nets[0]} {nfs}"),
    ]
    allow = f"src {nets[0]} dst {nets[1]} proto udp dport 53 dir {{}} action allow priority 1"
    batches[0] += f"xfrm policy add {allow.format('out')}\n"
    batches[1] += f"xfrm policy add {allow.format('fwd')}\n"
    ports = {1: 2049, 2: 53, 3: 123, 4: 2049, 5: 53}
    cuts = {number: cut(v6, number, 4000, port=port) for number, port in ports.items()}
    seen = crossed(batches, order(list(cuts.values())), tmp_path)
    passing = [piece for number, pieces in cuts.items() if ports[number] != 123 for piece in pieces]
    assert sorted(frame[14:] for frame in seen.out["box1.red"]) == sorted(arrived("tunnel", passing))
    assert seen.named == [{"inner.drop_policy": len(cuts[3])}, {}]


@versions
def test_a_second_first_fragment_changes_no_decision(tmp_path: Path, v6: bool) -> None:
    """RFC 1858, RFC 4301 7.3: with other ports it is dropped, and what follows goes by those that
    came first. So is a fragment that writes over the ports or TCP's flags; a copy passes."""
    first, *rest = cut(v6, 1, 4000)
    other = cut(v6, 1, 4000, port=22)[0]
    src, dst = ENDS[v6]
    segment = TCP(sport=7, dport=9) / Raw(bytes(60))
    if v6:
        head = IPv6(src=src, dst=dst)
        options = IPv6ExtHdrFragment(id=2, m=1) / IPv6ExtHdrDestOpt() / segment
        over = [head / options]
        over += [head / IPv6ExtHdrFragment(id=2, offset=at, m=1, nh=60) / Raw(bytes(8)) for at in (1, 2)]
        passes = head / IPv6ExtHdrFragment(id=2, offset=12, nh=60) / Raw(bytes(8))
    else:
        over = [IP(src=src, dst=dst, id=2, flags="MF") / TCP(sport=7, dport=9, options=[("NOP", 0)] * 4)]
        over += [IP(src=src, dst=dst, id=2, frag=1, proto=6) / Raw(bytes(16))]
        passes = IP(src=src, dst=dst, id=2, frag=3, proto=6) / Raw(bytes(8))
    version = IPv6 if v6 else IP
    packets = [version(bytes(packet)) for packet in [first, other, first, *rest, *over, passes]]
    seen = crossed(tunnels(), packets, tmp_path)
    expected = [version(bytes(packet)) for packet in [first, first, *rest, over[0], passes]]
    assert [frame[14:] for frame in seen.out["box1.red"]] == arrived("tunnel", expected)
    assert seen.named == [{"inner.drop_frag_conflict": 1, "inner.drop_frag_overlap": len(over) - 1}, {}]


def test_a_copy_of_a_first_fragment_passes_whatever_pads_its_frame(tmp_path: Path) -> None:
    """Its extension headers fill it, so the bytes behind them are no part of its datagram."""
    src, dst = ENDS[True]
    options = bytes([1, 2, 1, 20]) + bytes(20)
    packet = IPv6(bytes(IPv6(src=src, dst=dst) / IPv6ExtHdrFragment(id=3, m=1, nh=60) / Raw(options)))
    frames: list[bytes | Packet] = [bytes(ETHERNET / packet) + padding for padding in (b"\1" * 10, b"", b"\2" * 30)]
    seen = boxes.run(tunnels(), {"box0.red": frames}, ["box1.red"], tmp_path, before=neighbours)
    assert [frame[14:] for frame in seen.out["box1.red"]] == arrived("tunnel", [packet] * 3)
    assert seen.named == [{}, {}]


@versions
@orders
def test_a_tunnel_that_names_ports_takes_no_fragment_without_the_first(make_box, order, v6: bool) -> None:
    """RFC 4301 7.3: of the peer's fragments those pass whose first one passes, in any order. The
    others wait for theirs."""
    nets = [f"{end.removesuffix('::1')}::/48" if v6 else f"{end.removesuffix('.0.1')}.0.0/16" for end in ENDS[v6]]
    box = make_box(TUNNEL.batch(*nets, f"{nets[1]} proto udp sport 7 dport 2049"))
    good, bad, late = (cut(v6, number, 4400, port=port, back=True) for number, port in ((1, 2049), (2, 22), (3, 2049)))
    changed = cut(v6, 1, 4400, port=22, back=True)[0]
    sender = TUNNEL.peer_sender()
    outcome = box.black(
        [ETHERNET / sender.encrypt(piece) for piece in [*order([good, bad]), *late[1:], changed, *order([good[1:]])]]
    )
    expected = [forwarded(bytes(piece)) for piece in [*good, *good[1:]]]
    assert sorted(frame[14:] for frame in outcome.out) == sorted(expected)
    if order is not backwards:
        assert [frame[14:] for frame in outcome.out] == expected
    # A first fragment with other ports does not get as far as its selectors' packets do.
    assert outcome.named() == {"inner.drop_selector_mismatch": len(bad) + 1}
    assert outcome.counters["inner"]["inner_frag_held"] == len(late) - 1


def test_a_fragment_that_is_too_long_is_cut_again(make_box) -> None:
    """RFC 791 3.2: by scapy, from its own offset, and more follow if more did."""
    mtu, anything = 600, "src 0.0.0.0/0 dst 0.0.0.0/0"
    pieces = cut(False, 7, 4000)
    assert len(pieces) == 3
    outcome = make_box(f"link set dev black mtu {mtu}\nxfrm policy add {anything} dir out action allow\n").red(
        [ETHERNET / piece for piece in pieces]
    )
    again = [each for piece in pieces for each in fragment(IP(forwarded(bytes(piece))), (mtu - 20) // 8 * 8)]
    assert [frame[14:] for frame in outcome.out] == [bytes(each).ljust(46, b"\0") for each in again]
    assert outcome.named() == {}
    assert outcome.counters["inner"]["frag_packets"] == len(pieces)
    assert outcome.counters["inner"]["frag_split"] == len(again) - len(pieces)


def test_ping_of_any_size_crosses(tmp_path: Path) -> None:
    """ICMP, by type and code of the first fragment."""
    nets = ("198.18.0.0/16", "198.19.0.0/16")
    batches = [
        TAKE_ALL + TUNNEL.batch(nets[0], f"{nets[1]} proto icmp type 8 code 0", nets[1]),
        TAKE_ALL + FAR.batch(nets[1], nets[0], f"{nets[0]} proto icmp type 8 code 0"),
    ]
    head = IP(src=ENDS[False][0], dst=ENDS[False][1], id=9)
    packets = [IP(bytes(piece)) for piece in fragment(head / ICMP(id=1, seq=1) / Raw(bytes(9000)), 1480)]
    seen = crossed(batches, packets[::-1], tmp_path)
    assert sorted(frame[14:] for frame in seen.out["box1.red"]) == sorted(arrived("tunnel", packets))
    assert seen.named == [{}, {}]


def test_junk_that_waits_keeps_no_other_from_waiting(tmp_path: Path) -> None:
    """Later fragments whose first one never comes, at line rate: the oldest gives way, and
    datagrams that come in the wrong order among them pass."""
    junk = [
        IP(bytes(IP(src="198.18.9.9", dst="198.19.0.1", id=number, frag=100, proto=17) / Raw(bytes(1400))))
        for number in range(400)
    ]
    cuts = [cut(False, 1000 + number, 2000) for number in range(20)]
    packets: list[Packet] = junk[:100]
    for number, (first, last) in enumerate(cuts):
        packets += [last, *junk[100 + 15 * number : 105 + 15 * number], first]
    frames: list[bytes | Packet] = [bytes(ETHERNET / packet) for packet in packets]
    seen = boxes.run(tunnels(), {"box0.red": frames}, ["box1.red"], tmp_path, before=neighbours, quiet=200_000)
    expected = arrived("tunnel", [piece for pieces in cuts for piece in pieces])
    assert sorted(frame[14:] for frame in seen.out["box1.red"]) == sorted(expected)
    [near, far] = seen.named
    assert near.keys() == {"inner.drop_frag_full", "inner.drop_frag_orphan"} and far == {}
    assert sum(near.values()) == len(packets) - len(expected)
