# SPDX-License-Identifier: Apache-2.0
"""Packets that the management CPU sends by the policies, as if from red
(docs/reference/chip-ports.md): protected, in clear or nowhere as the SPD says. Those alone come
back, with a mark, that lack an SA or are too long."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.contrib.ospf import OSPF_Hdr, OSPF_Hello
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import ICMPv6EchoReply, IPv6, IPv6ExtHdrDestOpt
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import TESTER_MAC, Simulator
from tests.support import boxes
from tests.support.hosts import Pair
from tests.support.punts import punted
from tests.support.reference import Tunnel, esp_payload

OWN, OWN_V6, FAR, FAR_V6 = "198.18.0.254", "2001:db8:18::fe", "198.19.0.1", "2001:db8:19::1"
RED_MAC = "02:72:c6:12:00:fe"
STREAM = "box0.inner.encrypt"
TUNNEL = Tunnel()
PORTS = f"addr add {OWN}/24 dev red\naddr add {OWN_V6}/64 dev red\nlink set dev red promisc off\n"
GROUPS = "".join(
    f"xfrm policy add src {src} dst {group} dir out tmpl src {TUNNEL.near} dst {TUNNEL.far} proto esp reqid {TUNNEL.spi_out} mode tunnel\n"
    for src, group in ((f"{OWN}/32", "224.0.0.0/4"),)
)
# All is protected but for these networks: one in clear, one blocked, one without its SA.
BYPASSED, BLOCKED, WAITING = "203.0.113.0/24", "198.51.100.0/24", "192.88.99.0/24"
MORE = (
    f"xfrm policy add dst {BYPASSED} dir out action allow priority 1\n"
    f"xfrm policy add dst {BLOCKED} dir out action block priority 1\n"
    f"xfrm policy add dst {WAITING} dir out priority 1 tmpl src {TUNNEL.near} dst 192.0.2.77 proto esp reqid 99 mode tunnel\n"
)
BATCH = MORE + TUNNEL.batch().replace("dir out tmpl", "dir out priority 9 tmpl") + PORTS + GROUPS
NOWHERE = Ether(dst="00:00:00:00:00:00", src="00:00:00:00:00:00")


def run(folder: Path, packets: list[Packet], batch: str = BATCH, **frames: list[Packet]) -> boxes.Seen:
    """Packets of the CPU, and frames to the ports, with no limit; nothing leaves at red."""

    def before(sim: Simulator) -> None:
        for device, mac in TESTER_MAC.items():
            sim.sallyctl(0, "next-hop", "default", "dev", device, "lladdr", mac)
        sim.sallyctl(0, "punt", "set", "inject_encrypt", "rate", "unlimited")

    inputs = {
        STREAM: [NOWHERE / packet for packet in packets],
        **{f"box0.{port}": these for port, these in frames.items()},
    }
    seen = boxes.run([batch], inputs, ["box0.black", "box0.red", "box0.inner.punt"], folder, before)
    assert seen.out["box0.red"] == []
    return seen


def test_the_boxs_own_packets_are_protected(tmp_path: Path) -> None:
    """As they are: with the TTL that Linux gave them, down to 1, and up to 255 (RFC 5881 5)."""
    packets = [
        *(IP(src=OWN, dst=FAR, id=n, ttl=ttl) / TCP(sport=179) / Raw(b"x" * 40) for n, ttl in enumerate((1, 64, 255))),
        IP(src=OWN, dst=FAR, id=9, tos=0xC0) / ICMP(type=0) / Raw(bytes(1200)),
        IPv6(src=OWN_V6, dst=FAR_V6, hlim=1) / UDP(sport=3784, dport=3784) / Raw(b"bfd"),
        IPv6(src=OWN_V6, dst=FAR_V6) / ICMPv6EchoReply(),
        IP(src=OWN, dst="224.0.0.5", ttl=1) / OSPF_Hdr() / OSPF_Hello(),
    ]
    seen = run(tmp_path, packets)
    peer = TUNNEL.peer_receiver()
    assert [bytes(peer.decrypt(esp_payload(frame))) for frame in seen.out["box0.black"]] == [bytes(p) for p in packets]
    assert seen.named == [{"inner.inject_packets": len(packets)}]


def test_policies_decide_over_them_as_over_any(tmp_path: Path) -> None:
    """A packet in clear, too, keeps its TTL. One that a policy blocks goes nowhere, and one that
    lacks its SA comes back for the daemon to ask."""
    to = lambda dst, **fields: IP(src=OWN, dst=dst, id=3, **fields) / UDP() / Raw(b"secret")  # noqa: E731
    packets = [to("203.0.113.9", ttl=1), to("198.51.100.9"), to("192.88.99.9"), to(FAR)]
    seen = run(tmp_path, packets)
    secret = [frame for frame in seen.out["box0.black"] if ESP in Ether(frame)]
    clear = [frame for frame in seen.out["box0.black"] if ESP not in Ether(frame)]
    assert [frame[14:][: len(packets[0])] for frame in clear] == [bytes(packets[0])]
    peer = TUNNEL.peer_receiver()
    assert [bytes(peer.decrypt(esp_payload(frame))) for frame in secret] == [bytes(packets[3])]
    (back,) = punted(tmp_path, "inner")
    assert (back.reason, back.injected, back.frame) == ("policy", True, bytes(NOWHERE / packets[2]))
    ends = {"inner.drop_policy": 1, "inner.punt_policy": 1}
    assert seen.named == [{"inner.inject_packets": len(packets), **ends}]


MANY_HEADERS = IPv6(src=OWN_V6, dst=FAR_V6)
for _ in range(5):
    MANY_HEADERS /= IPv6ExtHdrDestOpt()
NEVER_BACK: dict[str, list[Packet]] = {
    "to the box itself": [IP(src=FAR, dst=OWN) / UDP(), IPv6(src=FAR_V6, dst=OWN_V6) / UDP()],
    "fragments": fragment(IP(src=OWN, dst=FAR) / UDP() / Raw(bytes(2000)), 800),
    "not IP": [ARP(), Dot1Q() / Dot1Q() / Dot1Q() / IP(src=OWN, dst=FAR)],
    "many headers": [MANY_HEADERS / UDP()],
}  # fmt: skip


@pytest.mark.parametrize("name", NEVER_BACK)
def test_what_would_come_back_is_dropped(tmp_path: Path, name: str) -> None:
    """From red the CPU would get it."""
    bad = NEVER_BACK[name]
    seen = run(tmp_path, bad)
    assert seen.out["box0.black"] == [] and punted(tmp_path, "inner") == []
    assert seen.named == [{"inner.inject_packets": len(bad), "inner.drop_inject_punt": len(bad)}]


def test_packets_that_are_too_long_come_back_with_a_mark(tmp_path: Path) -> None:
    """So Linux can learn the MTU of the tunnel; the port's, beside them, have none."""
    long = [
        IP(src=OWN, dst=FAR, flags="DF") / UDP() / Raw(bytes(1472)),
        IPv6(src=OWN_V6, dst=FAR_V6) / UDP() / Raw(bytes(1460)),
    ]
    red = (
        Ether(dst=RED_MAC, src="02:00:00:00:00:99")
        / IP(src="198.18.0.1", dst=FAR, flags="DF")
        / UDP()
        / Raw(bytes(1472))
    )
    seen = run(tmp_path, long, BATCH + "link set black mtu 1400\n", red=[red])
    assert seen.out["box0.black"] == []
    found = sorted(punted(tmp_path, "inner"), key=lambda p: p.injected)
    assert [(p.reason, p.injected, p.frame) for p in found] == [
        ("mtu", False, bytes(red)),
        *(("mtu", True, bytes(NOWHERE / packet)) for packet in long),
    ]
    assert seen.named == [{"inner.inject_packets": 2, "inner.punt_mtu": 3}]


def test_the_port_gains_nothing(tmp_path: Path) -> None:
    """A station that claims the box's address, or sends to another station, is dropped as before,
    while the box itself sends to a MAC address of 0."""
    mine = [IP(src=OWN, dst=FAR, id=n) / UDP() / Raw(b"mine") for n in range(20)]
    forged = Ether(dst=RED_MAC, src="02:00:00:00:00:99") / IP(src=OWN, dst=FAR) / UDP()
    lost = Ether(dst="02:00:00:00:00:77", src="02:00:00:00:00:99") / IP(src="198.18.0.1", dst=FAR) / UDP()
    seen = run(tmp_path, mine, red=[forged, lost] * 10)
    peer = TUNNEL.peer_receiver()
    assert [bytes(peer.decrypt(esp_payload(frame))) for frame in seen.out["box0.black"]] == [bytes(p) for p in mine]
    assert seen.named == [{"inner.inject_packets": 20, "inner.drop_own_source": 10, "inner.drop_mac_filter": 10}]


def test_martians_of_the_cpu_are_dropped_too(tmp_path: Path) -> None:
    packets = [
        IP(src="127.0.0.1", dst=FAR) / UDP(),
        IP(src=OWN, dst="240.0.0.1") / UDP(),
        IP(src=OWN, dst=FAR, chksum=1) / UDP(),
    ]
    seen = run(tmp_path, packets)
    assert seen.out["box0.black"] == []
    assert seen.named == [{"inner.inject_packets": 3, "inner.drop_martian": 2, "inner.drop_ip_checksum": 1}]


def test_a_bump_in_the_wire_sends_nothing_of_its_own(tmp_path: Path) -> None:
    pair = Pair()
    seen = run(tmp_path, [pair.packet(40)], pair.batch())
    assert seen.out["box0.black"] == []
    assert seen.named == [{"inner.inject_packets": 1, "inner.drop_inject_closed": 1}]


def test_from_one_box_to_the_other(tmp_path: Path) -> None:
    """What the CPU of one box sends, the CPU of the other gets, with a TTL of 1 as of 255."""
    far = Tunnel(spi_out=TUNNEL.spi_in, spi_in=TUNNEL.spi_out, near=TUNNEL.far, far=TUNNEL.near)
    peer_own = "198.19.0.254"
    batches = [TUNNEL.batch() + PORTS, far.batch() + f"addr add {peer_own}/24 dev red\n"]
    packets = [
        IP(src=OWN, dst=peer_own, id=n, ttl=ttl) / TCP(dport=179) / Raw(b"open") for n, ttl in enumerate((1, 64, 255))
    ]

    def before(sim: Simulator) -> None:
        for box in (0, 1):
            boxes.next_hops(sim, box)

    seen = boxes.run(
        batches, {STREAM: [NOWHERE / p for p in packets]}, ["box1.inner.punt", "box1.red"], tmp_path, before
    )
    found = punted(tmp_path, "inner", box=1)
    assert [(p.reason, p.frame[14:]) for p in found] == [("tunnel", bytes(p)) for p in packets]
    assert seen.out["box1.red"] == []
