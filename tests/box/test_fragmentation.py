# SPDX-License-Identifier: Apache-2.0
"""Packets that are longer than the black MTU: cut behind ESP or before it, or punted so that the
sender can be told; by scapy."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP, IPOption, defragment, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, defragment6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.frames import read_frames
from tests.support.reference import FAR_V6, NEAR_V6, Tunnel, esp_payload, forwarded, with_udp_checksum

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
MTU = 1400
# 1400 - 20 - 8 - 8 - 16 = 1348, less pad length and next header.
INNER_MTU = 1346
V6_INNER_MTU = 1326
TUNNELS = [
    pytest.param(Tunnel(), INNER_MTU, id="IPv4"),
    pytest.param(Tunnel(near=NEAR_V6, far=FAR_V6), V6_INNER_MTU, id="IPv6"),
    pytest.param(Tunnel(far_port=4501), INNER_MTU - 8, id="UDP"),
    pytest.param(Tunnel(far_port=4501, near=NEAR_V6, far=FAR_V6), V6_INNER_MTU - 8, id="UDP over IPv6"),
]


def v4(size: int, flags: str = "", ident: int = 7, **fields) -> bytes:
    """A UDP packet of `size` bytes."""
    head = IP(src="198.18.0.1", dst="198.19.0.1", id=ident, flags=flags, **fields)
    length = size - len(head) - 8
    return bytes(head / UDP(sport=7, dport=9) / Raw(bytes(range(256)) * (length // 256) + bytes(length % 256)))


def v6(size: int) -> bytes:
    return bytes(IPv6(src="2001:db8:1::1", dst="2001:db8:2::1") / UDP(sport=7, dport=9) / Raw(bytes(size - 48)))


def frames(packets: list[bytes]) -> list[Packet]:
    return [ETHERNET.copy() / (IP if packet[0] >> 4 == 4 else IPv6)(packet) for packet in packets]


def unpadded(packet: Packet) -> Packet:
    """The IP packet without the padding of its frame, which scapy would put together too."""
    return type(packet)(bytes(packet)[: packet.len if packet.version == 4 else 40 + packet.plen])


def whole(outcome) -> list[Packet]:
    """Outer packets of the black capture, put together by scapy; no frame is longer than
    the MTU."""
    packets = [unpadded(Ether(frame).payload) for frame in outcome.out]
    assert max(len(packet) for packet in packets) <= MTU
    alone = [
        p for p in packets if not p.haslayer(IPv6ExtHdrFragment) and not (p.haslayer(IP) and (p.flags.MF or p.frag))
    ]
    cut: dict[object, list[Packet]] = {}
    for packet in packets:
        if packet not in alone:
            cut.setdefault(packet.id if packet.version == 4 else packet[IPv6ExtHdrFragment].id, []).append(packet)
    joined = []
    for pieces in cut.values():
        if pieces[0].version == 4:
            joined += defragment(pieces)
        else:
            joined.append(defragment6(pieces))
    assert all(packet.version == 6 or packet.flags == "" for packet in joined)
    return sorted(alone + joined, key=lambda packet: esp_payload(bytes(ETHERNET / packet)).seq)


def opened(tunnel: Tunnel, outcome) -> list[bytes]:
    peer = tunnel.peer_receiver()
    packets = [esp_payload(bytes(ETHERNET / packet)) for packet in whole(outcome)]
    if tunnel.far_port and ":" in tunnel.far:
        assert packets == [with_udp_checksum(packet) for packet in packets]
    return [bytes(peer.decrypt(packet)) for packet in packets]


@pytest.mark.parametrize(("tunnel", "limit"), TUNNELS)
def test_what_is_too_long_is_cut_behind_esp(make_box, tunnel: Tunnel, limit: int) -> None:
    packets = [v4(size, ident=size) for size in (limit, limit + 1, 200, limit + 700, 9000, 60)]
    outcome = make_box(f"link set dev black mtu {MTU}\n" + tunnel.batch()).red(frames(packets))
    assert opened(tunnel, outcome) == [forwarded(packet) for packet in packets]
    assert outcome.named() == {}
    assert outcome.counters["outer"]["frag_packets"] == 3
    assert outcome.counters["outer"]["frag_split"] == len(outcome.out) - len(packets)


@pytest.mark.parametrize(("tunnel", "limit"), TUNNELS)
def test_who_may_not_be_cut_is_punted(make_box, tunnel: Tunnel, limit: int) -> None:
    packets = [v4(limit, "DF"), v4(limit + 1, "DF"), v6(limit), v6(limit + 1), v4(9000, "DF", ident=9)]
    box = make_box(f"link set dev black mtu {MTU}\n" + tunnel.batch())
    outcome = box.red(frames(packets))
    assert opened(tunnel, outcome) == [forwarded(packets[0]), forwarded(packets[2])]
    assert outcome.named() == {"inner.punt_mtu": 3}
    punted = read_frames(outcome.folder / "punt-inner.pcapng")
    assert punted == [bytes(frame) for frame in frames([packets[1], packets[3], packets[4]])]


def test_nopmtudisc_clears_df_and_cuts(make_box) -> None:
    tunnel = Tunnel()
    batch = tunnel.batch().replace("mode tunnel replay-window", "mode tunnel flag nopmtudisc replay-window")
    assert "nopmtudisc" in batch
    packets = [v4(3000, "DF"), v6(3000)]
    outcome = make_box(f"link set dev black mtu {MTU}\n" + batch).red(frames(packets))
    assert opened(tunnel, outcome) == [forwarded(packet) for packet in packets]
    assert outcome.named() == {}


def test_fragment_first_cuts_before_esp(make_box) -> None:
    """Every ESP packet is whole, and holds a fragment that scapy would make; a header with options
    is cut behind ESP."""
    tunnel = Tunnel()
    batch = tunnel.batch().replace("dir out tmpl", "dir out flag fragment-first tmpl")
    assert "fragment-first" in batch
    options = v4(2000, ident=3, options=[IPOption(b"\x94\x04\0\0")])
    packets = [v4(INNER_MTU, ident=1), v4(5000, ident=2), options]
    outcome = make_box(f"link set dev black mtu {MTU}\n" + batch).red(frames(packets))
    pieces = fragment(IP(forwarded(packets[1])), (INNER_MTU - 20) // 8 * 8)
    assert opened(tunnel, outcome) == [forwarded(packets[0]), *map(bytes, pieces), forwarded(options)]
    assert outcome.counters["inner"]["frag_packets"] == outcome.counters["outer"]["frag_packets"] == 1
    assert outcome.counters["inner"]["frag_split"] == len(pieces) - 1


def test_df_set_cuts_before_esp(make_box) -> None:
    """After ESP, a packet with DF must not be cut. So a packet that may be cut is cut before ESP;
    others are punted or, with options, dropped."""
    tunnel = Tunnel()
    batch = tunnel.batch().replace("mode tunnel replay-window", "mode tunnel df set replay-window", 1)
    assert "df set" in batch
    options = v4(2000, ident=3, options=[IPOption(b"\x94\x04\0\0")])
    packets = [v4(INNER_MTU, ident=1), v4(5000, ident=2), options, v4(INNER_MTU + 1, "DF"), v6(3000), v4(60, "DF")]
    box = make_box(f"link set dev black mtu {MTU}\n" + batch)
    outcome = box.red(frames(packets))
    pieces = fragment(IP(forwarded(packets[1])), (INNER_MTU - 20) // 8 * 8)
    assert opened(tunnel, outcome) == [forwarded(packets[0]), *map(bytes, pieces), forwarded(packets[5])]
    assert {str(esp_payload(frame).flags) for frame in outcome.out} == {"DF"}
    assert outcome.named() == {"inner.punt_mtu": 2, "outer.drop_mtu": 1}
    assert read_frames(outcome.folder / "punt-inner.pcapng") == [bytes(frame) for frame in frames(packets[3:5])]


def test_bypassed_packets_are_cut_as_a_router_does(make_box) -> None:
    anything = "src 0.0.0.0/0 dst 0.0.0.0/0"
    batch = f"link set dev black mtu {MTU}\nxfrm policy add {anything} dir out action allow\n"
    options = [IPOption(b"\x94\x04\0\0")]
    packets = [v4(MTU, "DF"), v4(MTU, options=options), v4(4000, ident=5)]
    punted = [v4(MTU + 1, "DF"), v4(MTU + 1, options=options)]  # the second is the CPU's to cut
    outcome = make_box(batch).red(frames([*packets, *punted]))
    pieces = fragment(IP(forwarded(packets[2])), (MTU - 20) // 8 * 8)
    assert [frame[14:] for frame in outcome.out] == [*map(forwarded, packets[:2]), *map(bytes, pieces)]
    assert outcome.named() == {"inner.punt_mtu": len(punted)}
    assert read_frames(outcome.folder / "punt-inner.pcapng") == [bytes(frame) for frame in frames(punted)]


def test_route_s_mtu_holds_for_options_too(make_box) -> None:
    """Not only the port's, which is all that the outer chip knows."""
    batch = f"route add 198.19.0.0/16 via 192.0.2.254 dev black mtu {MTU}\nneigh add 192.0.2.254 lladdr 02:bb:00:00:00:01 dev black\n"
    batch += "xfrm policy add src 198.18.0.0/16 dst 198.19.0.0/16 dir out action allow\n"
    packets = [v4(size, options=[IPOption(b"\x94\x04\0\0")]) for size in (MTU, MTU + 1)]
    outcome = make_box(batch).red(frames(packets))
    assert [frame[14:] for frame in outcome.out] == [forwarded(packets[0])]
    assert outcome.named() == {"inner.punt_mtu": 1}


# The longest packets that a frame holds, ESP with GCM, and ESP of every suite.
FRAME_LIMIT, GCM_LIMIT, ESP_LIMIT = 9582, 9546, 9518


@pytest.mark.parametrize("flag", ["", "flag nopmtudisc"])
def test_jumbos_that_no_esp_holds_are_cut_before_it(make_box, flag: str) -> None:
    tunnel = Tunnel()
    batch = tunnel.batch().replace("mode tunnel replay-window", f"mode tunnel {flag} replay-window", 1)
    sizes = (ESP_LIMIT, ESP_LIMIT + 1, GCM_LIMIT, GCM_LIMIT + 1, FRAME_LIMIT)
    packets = [v4(size, ident=size) for size in sizes]
    outcome = make_box(batch).red(frames(packets))
    inside = [*map(bytes, fragment(IP(forwarded(packets[1])), (ESP_LIMIT - 20) // 8 * 8))]
    assert len(inside) == 2
    peer = tunnel.peer_receiver()
    joined = defragment([esp_payload(frame) for frame in outcome.out])
    left = [bytes(peer.decrypt(packet)) for packet in sorted(joined, key=lambda packet: packet.seq)]
    assert left[0] == forwarded(packets[0])
    assert [bytes(packet) for packet in defragment([IP(packet) for packet in left[1:]])] == [
        *map(forwarded, packets[1:])
    ]
    assert left[1:3] == inside
    assert outcome.named() == {}
    assert outcome.counters["inner"]["frag_packets"] == len(sizes) - 1


def test_jumbos_that_must_not_be_cut_are_punted(make_box) -> None:
    """Of an SA that clears DF, too, whose packets may be as long as one ESP packet holds."""
    batch = Tunnel().batch().replace("mode tunnel replay-window", "mode tunnel flag nopmtudisc replay-window", 1)
    long = [v4(GCM_LIMIT + 1, "DF"), v6(GCM_LIMIT + 1), v4(FRAME_LIMIT, "DF"), v6(FRAME_LIMIT)]
    outcome = make_box(batch).red(frames([v4(GCM_LIMIT, "DF"), v6(GCM_LIMIT), *long]))
    assert outcome.named() == {"inner.punt_mtu": len(long)}
    assert read_frames(outcome.folder / "punt-inner.pcapng") == [bytes(frame) for frame in frames(long)]
