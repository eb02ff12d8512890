# SPDX-License-Identifier: Apache-2.0
"""What the outer header has of the inner one and the inner one of the outer (RFC 4301 5.1.2,
RFC 6040), through a whole box."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP, IPOption
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.reference import FAR, FAR_V6, NEAR, NEAR_V6, Tunnel, esp_payload, forwarded
from tests.vectors.inner_frames.decrypt import CE, DROP, FIGURE_4, UNUSED

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
ENDS = {"over IPv4": (NEAR, FAR), "over IPv6": (NEAR_V6, FAR_V6)}
over_both = pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
DSCP = (0, 0x2E, 0x3F)  # none, EF, all ones
MARKS = [dscp << 2 | ecn for dscp in DSCP for ecn in FIGURE_4]
TTL = 64


def v4(src: str, dst: str, tos: int, flags: str = "") -> Packet:
    return IP(src=src, dst=dst, id=tos, tos=tos, flags=flags, ttl=9) / UDP(sport=7, dport=9) / Raw(bytes(100))


def v6(src: str, dst: str, traffic_class: int) -> Packet:
    return IPv6(src=src, dst=dst, tc=traffic_class, fl=0xABCDE, hlim=9) / UDP(sport=7, dport=9) / Raw(bytes(100))


def inner_packets(src: str, dst: str, v6_src: str, v6_dst: str) -> list[Packet]:
    plain = [v4(src, dst, mark, flags) for mark in MARKS for flags in ("", "DF")]
    options = IP(src=src, dst=dst, ttl=9, options=IPOption(b"\x94\x04\x00\x00")) / UDP() / Raw(bytes(100))
    return [*plain, options, *(v6(v6_src, v6_dst, mark) for mark in MARKS)]


def traffic_class(packet: Packet) -> int:
    return packet.tc if IPv6 in packet else packet.tos


# Words of an outbound SA, and what the outer header then has: bits of the inner traffic class and
# bits of its own, by DSCP where a map has them, and DF, which None copies.
FLAGS = [
    ("", 0xFF, 0, None),
    ("flag noecn", 0xFC, 0, None),
    ("extra-flag dont-encap-dscp", 0x03, 0, None),
    ("flag nopmtudisc", 0xFF, 0, False),
    ("flag noecn nopmtudisc extra-flag dont-encap-dscp", 0, 0, False),
    ("dscp EF", 0x03, 0x2E << 2, None),
    ("dscp 63 flag noecn", 0, 0x3F << 2, None),
    ("dscp inherit", 0xFF, 0, None),
    ("dscp 0", 0x03, 0, None),
    ("dscp map EF:AF41,63:0", 0x03, {0x2E: 0x22 << 2, 0x3F: 0}, None),
    ("dscp map 0:1 flag noecn", 0, {0x2E: 0x2E << 2, 0x3F: 0x3F << 2, 0: 1 << 2}, None),
]
DF_WORDS = [
    ("df set", 0xFF, 0, True),
    ("df set dscp AF41", 0x03, 0x22 << 2, True),
    ("df unset", 0xFF, 0, False),
    ("df inherit", 0xFF, 0, None),
]


def flagged(number: int, words: str, near: str, far: str) -> tuple[Tunnel, str]:
    """A tunnel with these words in its outbound SA, for 198.19.number.0/24 and
    2001:db8:2:number::/64."""
    tunnel = Tunnel(spi_out=0x1001 + number, spi_in=0x2001 + number, near=near, far=far)
    lines = tunnel.lines("0.0.0.0/0", f"198.19.{number}.0/24", f"198.19.{number}.0/24")
    ends = f"tmpl src {near} dst {far} proto esp reqid {tunnel.spi_out} mode tunnel"
    lines = lines.replace(
        f"reqid {tunnel.spi_out} mode tunnel replay", f"reqid {tunnel.spi_out} mode tunnel {words} replay"
    )
    return tunnel, lines + f"xfrm policy add src ::/0 dst 2001:db8:2:{number}::/64 dir out {ends}\n"


@over_both
def test_outer_header_is_made_as_the_sa_says(make_box, ends: tuple[str, str]) -> None:
    batch, cases = f"addr add {ends[0]}/{64 if ':' in ends[0] else 24} dev black\n", []
    flags = FLAGS if ":" in ends[0] else FLAGS + DF_WORDS
    for number, (words, mask, own, df) in enumerate(flags):
        tunnel, lines = flagged(number, words, *ends)
        batch += lines
        peer = tunnel.peer_receiver()
        inner = inner_packets("198.18.0.1", f"198.19.{number}.1", "2001:db8:1::1", f"2001:db8:2:{number}::1")
        cases += [(packet, peer, mask, own, df) for packet in inner]
    outcome = make_box(batch).red([ETHERNET / packet for packet, *_ in cases])
    outers = [esp_payload(frame) for frame in outcome.out]
    labels: dict[int, set[int]] = {}
    for outer, (packet, peer, mask, own, df) in zip(outers, cases, strict=True):
        assert (outer.src, outer.dst) == ends
        inner = traffic_class(packet)
        added = own.get(inner >> 2, inner & 0xFC) if isinstance(own, dict) else own
        assert traffic_class(outer) == inner & mask | added
        if IPv6 in outer:
            assert (outer.hlim, outer.nh) == (TTL, 50)
            assert outer.fl, "no flow label (RFC 6438 3)"
            labels.setdefault(id(peer), set()).add(outer.fl)
        else:
            has_df = (IPv6 in packet or "DF" in packet.flags) if df is None else df
            assert (outer.ihl, outer.ttl, outer.frag, outer.proto) == (5, TTL, 0, 50)
            assert outer.flags == ("DF" if has_df else "")
        assert bytes(peer.decrypt(outer)) == forwarded(bytes(packet))
    # One for each SA, and hardly two SAs with the same.
    assert all(len(each) == 1 for each in labels.values())
    assert len(set().union(*labels.values())) == len(labels)
    if IP in outers[0]:
        assert len({outer.id for outer in outers}) == len(outers)
    assert outcome.named() == {}


def remarked(packet: Packet, ecn: int) -> bytes:
    """The packet after one router, with another ECN field."""
    changed = packet.copy()
    if IPv6 in packet:
        changed.tc = packet.tc & 0xFC | ecn
    else:
        changed.tos = packet.tos & 0xFC | ecn
    return forwarded(bytes(changed))


@over_both
def test_inner_header_takes_congestion_and_nothing_else(make_box, ends: tuple[str, str]) -> None:
    """Figure 4 of RFC 6040 with every DSCP; the outer DSCP, TTL and flow label leave no trace."""
    tunnel = Tunnel(near=ends[0], far=ends[1])
    peer = tunnel.peer_sender()
    frames, expected, dropped, odd = [], [], 0, 0
    for packet in inner_packets("198.19.0.1", "198.18.0.1", "2001:db8:2::1", "2001:db8:1::1"):
        for ecn, result in FIGURE_4[traffic_class(packet) & CE].items():
            outer = peer.encrypt(packet)
            if IPv6 in outer:
                outer.tc, outer.hlim, outer.fl = 0x15 << 2 | ecn, 1, 0x12345
            else:
                outer.tos, outer.ttl = 0x15 << 2 | ecn, 1
                del outer.chksum
            frames.append(ETHERNET / outer)
            odd += (traffic_class(packet) & CE, ecn) in UNUSED
            if result is DROP:
                dropped += 1
            else:
                expected.append(remarked(packet, result))
    outcome = make_box(tunnel.batch()).black(frames)
    assert [frame[14:] for frame in outcome.out] == expected
    assert outcome.named() == {"inner.drop_ecn": dropped}
    assert outcome.counters["inner"]["ecn_unexpected"] == odd > 0
