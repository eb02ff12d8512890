# SPDX-License-Identifier: Apache-2.0
"""IPv4 options of packets that cross the box (RFC 1812 5.3.13); by scapy."""

from __future__ import annotations

from scapy.layers.inet import IP, UDP, IPOption_LSRR, IPOption_RR, IPOption_SSRR, IPOption_Timestamp
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.reference import FAR, Tunnel, esp_payload, forwarded

ETHERNET = Ether(dst="02:72:c6:12:00:fe", src="02:00:00:00:00:22")
HERE, THERE, CLEAR = "198.18.0.5", "198.19.0.9", "203.0.113.9"
GATEWAY_MAC = "02:00:00:00:00:fe"
# The next address of each source route is behind another gateway.
OTHER = "198.51.100.9"
OPTIONS = [
    IPOption_LSRR(routers=[OTHER]),
    IPOption_SSRR(routers=[OTHER]),
    IPOption_RR(routers=["0.0.0.0"] * 3),
    IPOption_Timestamp(),
]
BATCH = (
    "addr add 198.18.0.254/24 dev red\n"
    f"neigh add {FAR} lladdr 02:00:00:00:00:01 dev black\n"
    f"neigh add 192.0.2.254 lladdr {GATEWAY_MAC} dev black\n"
    "neigh add 192.0.2.253 lladdr 02:00:00:00:00:fd dev black\n"
    "route add 203.0.113.0/24 via 192.0.2.254 dev black\n"
    "route add 198.51.100.0/24 via 192.0.2.253 dev black\n"
    "xfrm policy add src 198.18.0.0/24 dst 203.0.113.0/24 dir out action allow\n"
)


def packet(to: str, option: Packet, tos: int) -> Packet:
    return IP(src=HERE, dst=to, tos=tos, options=[option]) / UDP(sport=7, dport=9) / Raw(b"options")


def test_options_go_on_unchanged_and_choose_no_way(make_box) -> None:
    """In clear and in a tunnel, of any TOS: the destination in the header is looked up, and all
    bytes but TTL and checksum are as they came."""
    tunnel = Tunnel()
    inner = [packet(to, option, tos) for to in (CLEAR, THERE) for option in OPTIONS for tos in (0, 0x10)]
    outcome = make_box(tunnel.batch("198.18.0.0/16", "198.19.0.0/16") + BATCH).red([ETHERNET / p for p in inner])
    assert outcome.named() == {}
    clear = [frame for frame in outcome.out if ESP not in Ether(frame)]
    sent = [forwarded(bytes(p)) for p in inner]
    assert [Ether(frame).dst for frame in clear] == [GATEWAY_MAC] * len(clear)
    assert [frame[14:][: len(p)] for frame, p in zip(clear, sent, strict=False)] == sent[: len(sent) // 2]
    peer = tunnel.peer_receiver()
    protected = [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out if ESP in Ether(frame)]
    assert protected == sent[len(sent) // 2 :]
