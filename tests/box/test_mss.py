# SPDX-License-Identifier: Apache-2.0
"""The maximum segment size of TCP connections through a tunnel, lowered to the path's MTU (`flag
mss`) as Linux's TCPMSS target does; by scapy."""

from __future__ import annotations

import random

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.mss import clamped, with_checksum
from tests.support.reference import FAR_V6, NEAR_V6, Tunnel, esp_payload, forwarded

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
MTU = 1400
# 1400 - 20 - 8 - 8 - 16 = 1348, less pad length and next header.
TUNNELS = [
    pytest.param(Tunnel(), 1346, id="IPv4"),
    pytest.param(Tunnel(near=NEAR_V6, far=FAR_V6), 1326, id="IPv6"),
    pytest.param(Tunnel(far_port=4501), 1338, id="UDP"),
]
TIMES = ("Timestamp", (7, 0))


def syn(version: int, options: list, flags: str = "S", payload: int = 0, back: bool = False) -> bytes:
    ends = ("198.18.0.1", "198.19.0.1") if version == 4 else ("2001:db8:1::1", "2001:db8:2::1")
    src, dst = reversed(ends) if back else ends
    ip = IP(src=src, dst=dst, id=7) if version == 4 else IPv6(src=src, dst=dst)
    return bytes(ip / TCP(sport=1024, dport=443, flags=flags, options=options) / Raw(bytes(payload)))


def packets(inner_mtu: int, back: bool = False) -> list[bytes]:
    """Connections that open: values around the limit, options in several orders, and others."""
    dice = random.Random(6691)
    out = []
    for version in (4, 6):
        most = inner_mtu - (40 if version == 4 else 60)
        for value in (0, 536, most - 1, most, most + 1, 1460, 8960, 65535):
            mss = ("MSS", value)
            for options in (
                [mss],
                [("NOP", None), mss],
                [TIMES, ("NOP", None), mss, ("SAckOK", b"")],
                [("WScale", 7), mss],
            ):
                for flags in ("S", "SA", "SEC"):
                    out.append(syn(version, options, flags, dice.randrange(40), back))
        out += [syn(version, [mss], flags, 3, back) for flags in ("A", "R", "SR", "FA") for mss in [("MSS", 9000)]]
        out += [syn(version, [TIMES], back=back), syn(version, [], payload=100, back=back)]
    return out


def frames(inner: list[bytes]) -> list[Packet]:
    return [ETHERNET.copy() / (IP if packet[0] >> 4 == 4 else IPv6)(packet) for packet in inner]


def batch(tunnel: Tunnel, flag: str) -> str:
    lines = tunnel.batch().replace(" tmpl", f" {flag} tmpl")
    assert flag in lines
    return f"link set dev black mtu {MTU}\n{lines}"


@pytest.mark.parametrize(("tunnel", "inner_mtu"), TUNNELS)
def test_segments_fit_the_tunnel(make_box, tunnel: Tunnel, inner_mtu: int) -> None:
    red = packets(inner_mtu)
    outcome = make_box(batch(tunnel, "flag mss")).red(frames(red))
    peer = tunnel.peer_receiver()
    assert [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out] == [
        forwarded(clamped(packet, inner_mtu)) for packet in red
    ]
    assert sum(clamped(packet, inner_mtu) != packet for packet in red) >= 60
    assert outcome.named() == {}


@pytest.mark.parametrize(("tunnel", "inner_mtu"), TUNNELS)
def test_segments_of_answers_fit_the_tunnel(make_box, tunnel: Tunnel, inner_mtu: int) -> None:
    """A peer that lowers nothing tells a red host what that may send."""
    black = packets(inner_mtu, back=True)
    peer = tunnel.peer_sender()
    outcome = make_box(batch(tunnel, "flag mss")).black(
        [ETHERNET / peer.encrypt(packet.payload, seq_num=number + 1) for number, packet in enumerate(frames(black))]
    )
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, black, strict=True)] == [
        forwarded(clamped(packet, inner_mtu)) for packet in black
    ]
    assert outcome.named() == {}


def test_without_the_flag_nothing_changes(make_box) -> None:
    tunnel, inner_mtu = Tunnel(), 1346
    red = packets(inner_mtu)
    peer = tunnel.peer_receiver()
    outcome = make_box(f"link set dev black mtu {MTU}\n{tunnel.batch()}").red(frames(red))
    assert [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out] == [forwarded(packet) for packet in red]


def test_a_wrong_checksum_stays_wrong(make_box) -> None:
    tunnel, inner_mtu = Tunnel(), 1346
    whole = syn(4, [("MSS", 1460)])
    broken = whole[:36] + bytes((whole[36] ^ 0x55, whole[37])) + whole[38:]
    peer = tunnel.peer_receiver()
    outcome = make_box(batch(tunnel, "flag mss")).red(frames([broken]))
    (left,) = [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out]
    assert left != with_checksum(left) and left[:36] == forwarded(clamped(whole, inner_mtu))[:36]
