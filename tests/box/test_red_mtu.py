# SPDX-License-Identifier: Apache-2.0
"""Packets from black that are longer than the MTU of red (docs/explanation/decrypt-path.md): cut,
or given to the management CPU, which tells their sender; by scapy."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP, IPOption, defragment, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import TESTER_MAC, Simulator
from tests.support import boxes
from tests.support.frames import read_frames
from tests.support.hosts import TO_RED, Pair, on_the_wire
from tests.support.punts import RED_MAC, for_cpu, punted
from tests.support.reference import Tunnel, forwarded

MTU = 1500
TUNNEL = Tunnel()
IN_CLEAR = "xfrm policy add src 203.0.113.0/24 dir in action allow priority 9\n"
V6_IN = f"xfrm policy add src ::/0 dst ::/0 dir in tmpl src {TUNNEL.far} dst {TUNNEL.near} proto esp reqid {TUNNEL.spi_in} mode tunnel\n"
BATCH = (
    TUNNEL.batch(back="198.19.0.0/16")
    + V6_IN
    + f"addr add 198.18.0.254/24 dev red\nlink set dev red mtu {MTU}\n"
    + IN_CLEAR
)
CLEAR = Ether(dst="02:62:c0:00:02:01", src="02:00:00:00:00:99")
# Ends at byte 67,780 of its datagram.
BEYOND = IP(bytes(IP(src="198.19.0.1", dst="198.18.1.1", id=5, frag=8100) / Raw(bytes(2980))))
ROUTER_ALERT = [IPOption(b"\x94\x04\0\0")]


def v4(size: int, src: str = "198.19.0.1", **fields) -> Packet:
    """A UDP packet of `size` bytes; its identification is its size."""
    head = IP(**{"src": src, "dst": "198.18.1.1", "id": size, **fields})
    content = (bytes(range(251)) * 40)[: size - len(head) - 8]
    return IP(bytes(head / UDP(sport=7, dport=9) / Raw(content)))


def v6(size: int) -> Packet:
    return IPv6(bytes(IPv6(src="2001:db8:19::1", dst="2001:db8:18::1") / UDP(sport=7, dport=9) / Raw(bytes(size - 48))))


def esp(*inner: Packet, tunnel: Tunnel = TUNNEL) -> list[Packet]:
    sender = tunnel.peer_sender()
    return [CLEAR / sender.encrypt(packet, seq_num=1 + n) for n, packet in enumerate(inner)]


def packets(frames: list[bytes]) -> list[bytes]:
    """The IP packets of untagged frames, without padding."""
    found = []
    for frame in frames:
        ip = Ether(frame).payload
        found.append(bytes(ip)[: ip.len if ip.version == 4 else 40 + ip.plen])
    return found


def pieces(packet: Packet, mtu: int = MTU) -> list[bytes]:
    """What scapy makes of a packet behind one router."""
    return [bytes(piece) for piece in fragment(IP(forwarded(bytes(packet))), (mtu - 20) // 8 * 8)]


def test_a_datagram_leaves_in_fragments_that_scapy_puts_together(make_box) -> None:
    datagram = v4(2970)
    outcome = make_box(BATCH).black(esp(datagram))
    got = packets(outcome.out)
    assert [len(packet) for packet in got] == [1500, 1490]
    (whole,) = defragment([IP(packet) for packet in got])
    assert bytes(whole) == forwarded(bytes(datagram))
    assert got == pieces(datagram)
    assert outcome.named() == {}
    inner = outcome.counters["inner"]
    assert (inner["tx_frames"], inner["red_frag_packets"], inner["red_frag_split"]) == (2, 1, 1)


@pytest.mark.parametrize("mtu", [68, 576, 1280, 1500, 9000])
def test_lengths_around_the_mtu(make_box, mtu: int) -> None:
    """Cut where it is above, and as short as it may be; a packet of TCP among them."""
    sizes = [mtu - 1, mtu, mtu + 1, mtu + 8, 2 * mtu, 2 * mtu + 1, min(7 * mtu, 9000), 60]
    sent = [v4(size) for size in sizes if size <= 9400]
    sent.append(IP(bytes(IP(src="198.19.0.1", dst="198.18.1.1", id=1) / TCP(flags="A") / Raw(bytes(mtu)))))
    outcome = make_box(BATCH.replace(f"mtu {MTU}", f"mtu {mtu}")).black(esp(*sent))
    expected = [pieces(packet, mtu) if packet.len > mtu else [forwarded(bytes(packet))] for packet in sent]
    assert packets(outcome.out) == [piece for each in expected for piece in each]
    assert outcome.named() == {}
    cut = [len(each) - 1 for each in expected if len(each) > 1]
    inner = outcome.counters["inner"]
    assert (inner["red_frag_packets"], inner["red_frag_split"]) == (len(cut), sum(cut))


def test_a_fragment_in_transit_is_cut_again(make_box) -> None:
    """First, middle and last one: at their offset, and more fragments where more followed."""
    datagram = IP(bytes(v4(6000)))
    fragments = [IP(bytes(piece)) for piece in fragment(datagram, 2400)]
    assert [(piece.frag, str(piece.flags)) for piece in fragments] == [(0, "MF"), (300, "MF"), (600, "")]
    outcome = make_box(BATCH).black(esp(*fragments))
    got = [IP(packet) for packet in packets(outcome.out)]
    assert [bytes(packet) for packet in got] == [piece for each in fragments for piece in pieces(each)]
    (whole,) = defragment(got)
    assert bytes(whole) == forwarded(bytes(datagram))
    assert outcome.named() == {}


def test_who_must_not_be_cut_is_for_the_cpu(make_box) -> None:
    """As it came, its TTL with it. A packet as long as the MTU passes. One with options is for the
    CPU, since the chip does not cut it, and so is a fragment whose pieces would begin anew at
    offset 0."""
    long = [v4(MTU + 1, flags="DF"), v6(MTU + 1), v4(9000, flags="DF"), v4(MTU + 1, options=ROUTER_ALERT), BEYOND]
    fitting = [v4(MTU, flags="DF"), v6(MTU), v4(MTU, options=ROUTER_ALERT)]
    outcome = make_box(BATCH).black(esp(*long, *fitting))
    assert read_frames(outcome.folder / "punt-inner.pcapng") == [for_cpu(packet) for packet in long]
    assert packets(outcome.out) == [forwarded(bytes(packet)) for packet in fitting]
    assert outcome.named() == {"inner.punt_tunnel_mtu": len(long)}


def test_clear_packets_alike(make_box) -> None:
    datagram, fixed = v4(3042, src="203.0.113.9"), v4(3042, src="203.0.113.9", flags="DF")
    outcome = make_box(BATCH).black([CLEAR / datagram, CLEAR / fixed])
    assert packets(outcome.out) == pieces(datagram)
    assert read_frames(outcome.folder / "punt-inner.pcapng") == [for_cpu(fixed)]
    assert outcome.named() == {"inner.punt_clear_mtu": 1}


def test_the_header_says_by_which_sa(tmp_path: Path) -> None:
    """Reason and trap group say how the packet came. A packet to the box itself passes whole."""
    local = v4(3042, dst="198.18.0.254")
    frames = [*esp(v4(3042, flags="DF"), local), CLEAR / v4(3042, src="203.0.113.9", flags="DF")]
    seen = boxes.run([BATCH], {"box0.black": frames}, ["box0.red", "box0.inner.punt"], tmp_path, boxes.next_hops)
    first, own, clear = punted(tmp_path, "inner")
    assert (first.reason, first.group, own.reason, own.frame) == ("tunnel_mtu", "tunnel_mtu", "tunnel", for_cpu(local))
    assert first.sa == own.sa is not None
    assert (clear.reason, clear.group, clear.sa) == ("clear_mtu", "clear_mtu", None)
    assert seen.named == [{"inner.punt_tunnel_mtu": 1, "inner.punt_clear_mtu": 1, "inner.punt_tunnel": 1}]


def test_a_flood_of_them_is_policed(tmp_path: Path) -> None:
    """Above the burst they are dropped by name; what goes on has no part in that."""

    def before(sim: Simulator) -> None:
        boxes.next_hops(sim)
        sim.sallyctl(0, "punt", "set", "tunnel_mtu", "rate", "5", "burst", "7", "dev", "red")

    frames = esp(*(v4(1600, flags="DF") for _ in range(10)), v4(1600))
    seen = boxes.run([BATCH], {"box0.black": frames}, ["box0.red"], tmp_path, before)
    assert packets(seen.out["box0.red"]) == pieces(v4(1600))
    assert seen.named == [{"inner.punt_tunnel_mtu": 7, "inner.drop_punt_red_mtu": 3}]


def test_fragments_carry_the_next_hops_tags(make_box) -> None:
    """A tag is no part of the MTU (IEEE 802.1Q)."""
    vlan = (
        "link add link red name red.9 type vlan id 9\naddr add 198.18.7.254/24 dev red.9\n"
        f"neigh add 198.18.7.1 lladdr {TESTER_MAC['red']} dev red.9\n"
    )
    datagram = v4(2970, dst="198.18.7.1")
    outcome = make_box(BATCH.replace("198.18.0.254/24", "198.18.6.254/24") + vlan).black(esp(datagram))
    assert outcome.named() == {}
    assert {Ether(frame)[Dot1Q].vlan for frame in outcome.out} == {9}
    assert [bytes(Ether(frame)[IP])[: Ether(frame)[IP].len] for frame in outcome.out] == pieces(datagram)


def test_what_the_cpu_sends_passes_whole(tmp_path: Path) -> None:
    """The MTU of its device is Linux's to keep."""
    frame = Ether(dst="02:00:00:00:00:07", src=RED_MAC) / v4(3042, src="198.18.0.254")
    seen = boxes.run([BATCH], {"box0.inner.inject": [frame]}, ["box0.red"], tmp_path, boxes.next_hops)
    assert seen.out["box0.red"] == [bytes(frame)]
    assert seen.named == [{"inner.inject_frames": 1}]


def test_a_bump_in_the_wire_cuts_its_hosts_frames(make_box) -> None:
    """In transport mode and in clear: behind the host's Ethernet header, its TTL left alone. Tagged
    frames, IPv6 and DF go to the CPU whole."""
    pair = Pair()
    sender = pair.far_sender()
    tagged = Ether(src=TO_RED.src, dst=TO_RED.dst) / Dot1Q(vlan=9)
    datagram, fixed = pair.packet(2942, back=True, id=7), pair.packet(2942, back=True, flags="DF")
    esp = [TO_RED / sender.encrypt(packet, seq_num=n) for n, packet in ((1, datagram), (2, fixed))]
    esp.append(tagged / sender.encrypt(datagram, seq_num=3))
    clear = [TO_RED / v4(2970, src="203.0.113.9"), TO_RED / v4(2970, src="203.0.113.9", flags="DF")]
    arp = on_the_wire(Ether(src=TO_RED.src, dst="ff:ff:ff:ff:ff:ff", type=0x0806) / Raw(bytes(28)))
    batch = pair.batch() + f"link set dev red mtu {MTU}\n" + IN_CLEAR
    outcome = make_box(batch).black([*esp, *clear, arp])
    cut = [
        bytes(TO_RED / Raw(bytes(piece)))[:12] + b"\x08\x00" + bytes(piece)
        for packet in (datagram, clear[0][IP])
        for piece in fragment(IP(bytes(packet)), 1480)
    ]
    assert sorted(outcome.out) == sorted([*cut, arp])
    assert sorted(read_frames(outcome.folder / "punt-inner.pcapng")) == sorted(
        [bytes(TO_RED / fixed), bytes(tagged / datagram), bytes(clear[1])]
    )
    assert outcome.named() == {"inner.punt_tunnel_mtu": 2, "inner.punt_clear_mtu": 1}


def test_until_an_mtu_is_set_the_longest_packet_passes_whole(make_box) -> None:
    longest = v4(9500, flags="DF")
    outcome = make_box(BATCH.replace(f"link set dev red mtu {MTU}\n", "")).black(esp(longest))
    assert packets(outcome.out) == [forwarded(bytes(longest))]
    assert outcome.named() == {}
