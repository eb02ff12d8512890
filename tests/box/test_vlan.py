# SPDX-License-Identifier: Apache-2.0
"""Next hops in a VLAN, or in one inside another: what leaves both ports has the tags, and else the
bytes that it has without; by scapy."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

from tests.support.frames import write_frames
from tests.support.reference import FAR, NEAR, Tunnel, esp_payload, forwarded
from tests.support.replay import Box, sallyport

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
PEER, HOST = "02:00:00:00:00:22", "02:00:00:00:00:09"
MTU = 1400
# Ends of frames on both sides of each beat with no, one and two tags, the shortest, and the longest
# without tags.
SIZES = [28, 34, 38, 42, 46, 47, 50, 54, 64, 100, 106, 110, 114, 500, 1346]


def devices(port: str, tags: int) -> tuple[str, str]:
    """Lines that make a device with so many tags over a port, and its name."""
    one = f"link add link {port} name {port}.7 type vlan protocol 802.1ad id 7\n"
    two = f"link add link {port}.7 name {port}.in type vlan id 4094\n"
    return [("", port), (one, f"{port}.7"), (one + two, f"{port}.in")][tags]


def untagged(frame: bytes, tags: int) -> bytes:
    """The frame without its tags, which scapy must find to be the ones above."""
    layer = Ether(frame)
    wanted = [(Dot1AD, 7), (Dot1Q, 4094)][:tags]
    for kind, vlan in wanted:
        layer = layer.payload
        assert isinstance(layer, kind)
        assert (layer.vlan, layer.prio, layer.dei) == (vlan, 0, 0)
    return frame[:12] + frame[12 + 4 * tags :]


def packets(src: str, dst: str) -> list[Packet]:
    head = IP(src=src, dst=dst) / UDP(sport=7, dport=9)
    return [head / Raw(bytes(i % 255 + 1 for i in range(size - len(head)))) for size in SIZES]


@pytest.mark.parametrize("tags", [0, 1, 2])
def test_black_frames_have_the_tags_of_the_peers_vlan(make_box, tags: int) -> None:
    """Each ESP packet is scapy's whole; one that is too long for the MTU is cut, and each fragment
    has the tags."""
    lines, device = devices("black", tags)
    tunnel = Tunnel()
    batch = f"{lines}link set black mtu {MTU}\n{tunnel.batch()}neigh add {FAR} lladdr {PEER} dev {device}\n"
    inner = packets("198.18.0.1", "198.19.0.1")
    outcome = make_box(batch).red([ETHERNET / packet for packet in [*inner, inner[-1].copy() / Raw(bytes(600))]])
    assert outcome.named() == {}
    frames = [untagged(frame, tags) for frame in outcome.out]
    assert all(Ether(frame).dst == PEER for frame in frames)
    peer = tunnel.peer_receiver()
    for frame, packet in zip(frames, inner, strict=False):
        outer = esp_payload(frame)
        assert (outer.src, outer.dst) == (NEAR, FAR)
        assert bytes(peer.decrypt(outer)) == forwarded(bytes(packet))
    assert [(IP(f[14:]).flags, IP(f[14:]).frag) for f in frames[len(inner) :]] == [("MF", 0), ("", (MTU - 20) // 8)]


@pytest.mark.parametrize("tags", [0, 1, 2])
def test_red_frames_have_the_tags_of_the_hosts_vlan(make_box, tags: int) -> None:
    lines, device = devices("red", tags)
    tunnel = Tunnel()
    hosts = f"neigh add 198.18.0.1 lladdr {HOST} dev {device}\nroute add 198.18.0.0/16 via 198.18.0.1 dev {device}\n"
    batch = f"{lines}{tunnel.batch(back='198.19.0.0/16')}{hosts}"
    inner = packets("198.19.0.1", "198.18.0.1")
    sender = tunnel.peer_sender()
    outcome = make_box(batch).black([ETHERNET / sender.encrypt(packet) for packet in inner])
    assert outcome.named() == {}
    frames = [untagged(frame, tags) for frame in outcome.out]
    for frame, packet in zip(frames, inner, strict=True):
        assert Ether(frame).dst == HOST
        assert frame[14 : 14 + len(packet)] == forwarded(bytes(packet))
        assert not any(frame[14 + len(packet) :])


def test_bypassed_packets_of_both_versions_get_them_too(make_box) -> None:
    """One next hop in a VLAN, one not; frames are padded to 60 B with their tags in them."""
    lines, device = devices("black", 2)
    batch = (
        f"{lines}addr add {NEAR}/24 dev black\nroute add 198.19.0.0/16 via {FAR} dev {device}\nneigh add {FAR} lladdr {PEER} dev {device}\n"
        f"route add 2001:db8:2::/48 via 2001:db8:9::1 dev black\nneigh add 2001:db8:9::1 lladdr {HOST} dev black\n"
        "xfrm policy add dst 198.19.0.0/16 dir out action allow\nxfrm policy add dst 2001:db8:2::/48 dir out action allow\n"
    )
    v4, v6 = IP(src="198.18.0.1", dst="198.19.0.1") / UDP(), IPv6(src="2001:db8:1::1", dst="2001:db8:2::1") / UDP()
    outcome = make_box(batch).red([ETHERNET / v4, ETHERNET / Dot1Q(vlan=5) / v6])
    assert outcome.named() == {}
    tagged, plain = outcome.out
    assert len(tagged) == 60
    assert untagged(tagged, 2)[14 : 14 + 28] == forwarded(bytes(v4))
    assert (Ether(tagged).dst, Ether(plain).dst, Ether(plain).type) == (PEER, HOST, 0x86DD)
    assert plain[14:] == forwarded(bytes(v6))


def test_a_device_that_is_not_there_is_refused(tmp_path, make_box) -> None:
    """The bad batch leaves nothing behind: no box, no folder."""
    box: Box = make_box(f"neigh add {FAR} lladdr {PEER} dev black.7\n")
    write_frames(tmp_path / "in.pcap", [ETHERNET / IP()])
    done = sallyport(
        "replay", "--xfrm", box.batch, "--red", tmp_path / "in.pcap", "--out", tmp_path / "out", check=False
    )
    assert done.exit_code == 2
    assert 'unknown device "black.7": the devices are red and black, and there is no such VLAN' in done.stderr
