# SPDX-License-Identifier: Apache-2.0
"""IPv6 through one box: in tunnels of either version, judged by scapy both ways; what stays on its
link, and what no policy names."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NS,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from tests.support.reference import FAR, FAR_V6, NEAR, NEAR_V6, Tunnel, esp_payload, forwarded

V4_TUNNEL, V6_TUNNEL = Tunnel(), Tunnel(near=NEAR_V6, far=FAR_V6)
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
SIZES = [0, 1, 2, 3, 18, 100, 1000, 1400, 9000]
RED, BLACK = "2001:db8:1::", "2001:db8:2::"


def v6_packets(src: str, dst: str) -> list[Packet]:
    plain = [IPv6(src=src, dst=dst, fl=size, tc=0x40) / UDP(sport=7, dport=9) / Raw(bytes(size)) for size in SIZES]
    # Those that others overtake, since they may be fragments, come last.
    return [
        *plain,
        IPv6(src=src, dst=dst) / IPv6ExtHdrRouting(addresses=["2001:db8:3::1"]) / ICMPv6EchoRequest(data=b"x" * 55),
        IPv6(src=src, dst=dst, nh=59),
        IPv6(src=src, dst=dst) / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / TCP(),
        IPv6(src=src, dst=dst) / IPv6ExtHdrFragment() / UDP(),
    ]


def v4_packets(src: str, dst: str) -> list[Packet]:
    return [IP(src=src, dst=dst, id=size, tos=0x40) / UDP(sport=7, dport=9) / Raw(bytes(size)) for size in SIZES]


# Tunnel, and packets from the red and from the black side: every inner version in every outer.
COMBINATIONS = {
    "6 in 4": (V4_TUNNEL, "::/0", v6_packets, RED, BLACK),
    "6 in 6": (V6_TUNNEL, "::/0", v6_packets, RED, BLACK),
    "4 in 6": (V6_TUNNEL, "0.0.0.0/0", v4_packets, "198.18.0.", "198.19.0."),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_scapy_decrypts_what_the_box_sends(make_box, name: str) -> None:
    tunnel, anything, packets, red, black = COMBINATIONS[name]
    inner = packets(red + "1", black + "1")
    outcome = make_box(tunnel.batch(anything, anything, anything)).red([ETHERNET / packet for packet in inner])
    peer = tunnel.peer_receiver()
    received = []
    for frame, packet in zip(outcome.out, inner, strict=True):
        outer = esp_payload(frame)
        assert (outer.src, outer.dst) == ((NEAR_V6, FAR_V6) if tunnel is V6_TUNNEL else (NEAR, FAR))
        if tunnel is V6_TUNNEL:
            traffic_class = packet.tc if IPv6 in packet else packet.tos
            assert (outer.version, outer.nh, outer.hlim, outer.tc) == (6, 50, 64, traffic_class)
            assert outer.plen + 40 + 14 == len(frame)
        received.append(bytes(peer.decrypt(outer)))
    assert received == [forwarded(bytes(packet)) for packet in inner]
    assert outcome.named() == {}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_scapy_s_esp_is_decrypted(make_box, name: str) -> None:
    tunnel, anything, packets, red, black = COMBINATIONS[name]
    inner = packets(black + "1", red + "1")
    peer = tunnel.peer_sender()
    frames = [ETHERNET / peer.encrypt(packet) for packet in inner]
    frames[0] = ETHERNET / Dot1Q(vlan=9) / frames[0].payload
    if tunnel is V6_TUNNEL:  # extension headers in front of ESP (RFC 4303 3.1.1)
        outer = frames[-1][IPv6]
        headers = IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt()
        frames[-1] = ETHERNET / IPv6(src=outer.src, dst=outer.dst) / headers / outer.payload
    outcome = make_box(tunnel.batch(anything, anything, anything)).black(frames)
    expected = [forwarded(bytes(packet)) for packet in inner]
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {}


def test_selectors_tell_prefixes_ports_and_types(make_box) -> None:
    """Two tunnels and what neither takes, by source prefix, and an ICMPv6 type of its own."""
    other = Tunnel(spi_out=0x3003, spi_in=0x4004)
    blocked = (f"src {RED}/49 dst ::/0 proto ipv6-icmp type 129", f"src {RED}/49 dst ::/0 proto udp sport 53")
    batch = "".join(f"xfrm policy add {selector} dir out action block\n" for selector in blocked)
    batch += V4_TUNNEL.batch(f"{RED}/49", "::/0", "::/0") + other.lines("2001:db8:8::/48", "::/0", "2001:db8:9::/48")
    there = BLACK + "1"
    udp = UDP(sport=7, dport=9)
    cases: list[tuple[Packet, Tunnel | str]] = [
        (IPv6(src=RED + "1", dst=there) / udp, V4_TUNNEL),
        (IPv6(src=RED[:-1] + "7fff::1", dst=there) / udp, V4_TUNNEL),
        (IPv6(src=RED[:-1] + "8000::1", dst=there) / udp, "inner.drop_policy"),
        (IPv6(src="2001:db8:8::1", dst=there) / udp, other),
        (IPv6(src="2001:db8:8::1", dst=there) / ICMPv6EchoReply(), other),
        (IPv6(src=RED + "1", dst=there) / ICMPv6EchoRequest(), V4_TUNNEL),
        (IPv6(src=RED + "1", dst=there) / ICMPv6EchoReply(), "inner.drop_policy"),
        (IPv6(src=RED + "1", dst=there) / UDP(sport=53, dport=1), "inner.drop_policy"),
        (IPv6(src=RED + "1", dst=there) / TCP(sport=53, dport=1), V4_TUNNEL),
        (IP(src="198.18.0.1", dst="198.19.0.1") / udp, "inner.drop_policy"),
        (IPv6(src=RED + "1", dst=there, hlim=1) / udp, "inner.punt_ttl"),
        (IPv6(src=RED + "1", dst=there, hlim=255) / ICMPv6ND_NS(tgt=RED + "2"), "inner.punt_nd"),
        (IPv6(src="fe80::1", dst=there) / udp, "inner.punt_link_local"),
        (IPv6(src=RED + "1", dst="ff02::1") / udp, "inner.punt_link_local"),
        (IPv6(src=RED + "1", dst=there) / IPv6ExtHdrFragment(m=1) / udp / Raw(b"x"), "inner.drop_reasm_length"),
    ]
    outcome = make_box(batch).red([ETHERNET / packet for packet, _ in cases])
    sent = [(packet, tunnel) for packet, tunnel in cases if isinstance(tunnel, Tunnel)]
    for frame, (packet, tunnel) in zip(outcome.out, sent, strict=True):
        assert bytes(tunnel.peer_receiver().decrypt(esp_payload(frame))) == forwarded(bytes(packet))
    counters = [counter for _, counter in cases if isinstance(counter, str)]
    assert outcome.named() == {counter: counters.count(counter) for counter in counters}
