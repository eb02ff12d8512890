# SPDX-License-Identifier: Apache-2.0
"""A box is not promiscuous (docs/explanation/addresses.md): frames for others, and packets from or
to addresses that none may have, are dropped by name, and good ones among them pass."""

import pytest
from scapy.contrib.ospf import OSPF_Hdr, OSPF_Hello, OSPFv3_Hdr, OSPFv3_Hello
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPerror, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.hosts import BRIDGE, TO_BLACK, Pair
from tests.support.reference import Tunnel, esp_payload, forwarded

RED_MAC, BLACK_MAC = "02:72:c6:12:00:fe", "02:62:c0:00:02:01"
HOST, FAR_HOST, OWN = "198.18.0.1", "198.19.0.1", "198.18.0.254"
TUNNEL = Tunnel()
PORTS = f"addr add {OWN}/24 dev red\nlink set dev red promisc off\nlink set dev black promisc off\n"
BATCH = TUNNEL.batch(src="198.18.0.0/16", dst="198.19.0.0/16") + PORTS
# Clear packets of every source may come in, too.
OPEN = TUNNEL.batch(src="198.18.0.0/16", dst="198.19.0.0/16", back="198.19.0.0/16") + PORTS
OPEN += "xfrm policy add dst 198.18.0.0/16 proto udp dir in action allow priority 9\n"
# Everything is protected, with and without groups.
HOSTS = TUNNEL.batch() + PORTS
TO_GROUPS = ("224.0.0.0/4", "255.255.255.255/32")
GROUPS = HOSTS + "".join(
    f"xfrm policy add src {src} dst {group} dir {way} tmpl src {ends[0]} dst {ends[1]} proto esp reqid {spi} mode tunnel\n"
    for way, src, ends, spi in (
        ("out", "198.18.0.0/16", (TUNNEL.near, TUNNEL.far), TUNNEL.spi_out),
        ("in", "198.19.0.0/16", (TUNNEL.far, TUNNEL.near), TUNNEL.spi_in),
    )
    for group in TO_GROUPS
)
BROADCAST, GROUP, FOREIGN = "ff:ff:ff:ff:ff:ff", "01:00:5e:01:02:03", "02:00:00:00:00:77"
BROADCAST_IP = "255.255.255.255"
MARTIANS = ("0.1.2.3", "127.0.0.1", "224.0.0.9", "240.0.0.1", "255.255.255.255")


def packet(src: str, dst: str) -> Packet:
    return IP(src=src, dst=dst, id=7) / UDP(sport=7, dport=9) / Raw(b"x" * 60)


def red(dst: str = RED_MAC, src: str = "02:00:00:00:00:99", source: str = HOST, to: str = FAR_HOST) -> Packet:
    return Ether(dst=dst, src=src) / packet(source, to)


def wire(inner: Packet, number: int, dst: str = BLACK_MAC, src: str = "02:00:00:00:00:99") -> Packet:
    return Ether(dst=dst, src=src) / TUNNEL.peer_sender().encrypt(inner, seq_num=number)


def clear(source: str) -> Packet:
    return Ether(dst=BLACK_MAC, src="02:00:00:00:00:99") / packet(source, HOST)


AT_RED: dict[str, tuple[str, list[Packet]]] = {
    "another station": ("drop_mac_filter", [red(dst=FOREIGN), red(dst=BLACK_MAC)]),
    "from a group": ("drop_mac_source", [red(src=GROUP), red(src=BROADCAST)]),
    "one host in a frame to all": ("drop_mac_group", [red(dst=BROADCAST), red(dst=GROUP)]),
    "martian source": ("drop_martian", [red(source=source) for source in (*MARTIANS, "0.0.0.0")]),
    "martian destination": ("drop_martian", [red(to=to) for to in ("0.1.2.3", "127.0.0.1", "240.0.0.1")]),
    "own source": ("drop_own_source", [red(source=OWN)]),
}


@pytest.mark.parametrize("name", AT_RED)
def test_red_frame_is_dropped_by_name(make_box, name: str) -> None:
    counter, bad = AT_RED[name]
    outcome = make_box(BATCH).red([red(), *bad, red()])
    peer = TUNNEL.peer_receiver()
    assert [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out] == [
        forwarded(bytes(packet(HOST, FAR_HOST)))
    ] * 2
    assert outcome.named() == {f"inner.{counter}": len(bad)}


def test_black_frames_are_dropped_by_name(make_box) -> None:
    """ESP in frames for others, and outer headers that no wire has."""
    good = packet(FAR_HOST, HOST)
    frames = [
        wire(good, 1),
        wire(good, 2, dst=FOREIGN),
        wire(good, 3, src=GROUP),
        wire(good, 4, dst=BROADCAST),
        *(Ether(dst=BLACK_MAC) / packet(source, TUNNEL.near) for source in MARTIANS),
        Ether(dst=BLACK_MAC) / packet(TUNNEL.near, TUNNEL.near),
        wire(good, 5),
    ]
    outcome = make_box(BATCH).black(frames)
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(good))] * 2
    assert outcome.named() == {
        "outer.drop_mac_filter": 1,
        "outer.drop_mac_source": 1,
        "outer.drop_mac_group": 1,
        "outer.drop_martian": len(MARTIANS),
        "outer.drop_own_source": 1,
    }


def test_decrypted_packets_are_dropped_by_name(make_box) -> None:
    """The peer is authentic, and its packets are judged all the same; of the red network they may
    be, for the SA's selectors allow it."""
    good = [packet(FAR_HOST, HOST), packet("198.18.0.9", HOST)]
    martians = [packet(source, HOST) for source in (*MARTIANS, "0.0.0.0")]
    local = IPv6(src="fe80::1", dst="2001:db8::9") / UDP() / Raw(b"x")
    bad = [*martians, packet(FAR_HOST, "127.0.0.1"), packet(OWN, HOST)]
    frames = [wire(inner, number + 1) for number, inner in enumerate([*good, *bad, local])]
    outcome = make_box(BATCH).black(frames)
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(each)) for each in good]
    dropped = {"inner.drop_inner_martian": len(bad) - 1, "inner.drop_inner_own_source": 1}
    assert outcome.named() == {**dropped, "inner.punt_tunnel": 1}


def test_groups_need_a_policy_of_their_own(make_box) -> None:
    """A policy of 0.0.0.0/0 holds for hosts alone, and so do the SA's selectors that follow from
    it."""
    addresses = ("224.0.1.0", "239.255.255.255", "255.255.255.255")
    frames = [red(dst=GROUP, to=to) for to in addresses]
    inside = [packet(FAR_HOST, to) for to in addresses]
    hosts = make_box(HOSTS).red([red(), *frames, red(to="223.255.255.255")])
    assert hosts.named() == {"inner.drop_policy": len(frames)}
    assert len(hosts.out) == 2
    back = make_box(HOSTS).black(
        [wire(inner, number + 1) for number, inner in enumerate([*inside, packet(FAR_HOST, HOST)])]
    )
    assert back.named() == {"inner.drop_selector_mismatch": len(inside)}

    groups = make_box(GROUPS).red([red(), *frames])
    peer = TUNNEL.peer_receiver()
    assert [bytes(peer.decrypt(esp_payload(frame))) for frame in groups.out] == [
        forwarded(bytes(packet(HOST, to))) for to in (FAR_HOST, *addresses)
    ]
    assert groups.named() == {}


def test_what_is_of_one_link_goes_to_the_cpu(make_box) -> None:
    """Hellos of OSPF reach the CPU whatever the policies, and out of a tunnel, too. Groups beside
    them cross by their policies."""
    policy = (
        "xfrm policy add src 2001:db8:18::/48 dst ff00::/8 dir out "
        f"tmpl src {TUNNEL.near} dst {TUNNEL.far} proto esp reqid {TUNNEL.spi_out} mode tunnel\n"
    )
    ours = IPv6(src="2001:db8:18::2", dst="ff0e::101", hlim=9) / UDP(sport=7, dport=9) / Raw(b"x" * 60)
    hello = [
        Ether(dst="01:00:5e:00:00:05") / IP(src=HOST, dst="224.0.0.5", ttl=1) / OSPF_Hdr() / OSPF_Hello(),
        Ether(dst="33:33:00:00:00:05") / IPv6(src="fe80::2", dst="ff02::5", hlim=1) / OSPFv3_Hdr() / OSPFv3_Hello(),
        red(to="224.0.0.255", dst=GROUP),
        red(source="169.254.1.1"),
        red(to="169.254.255.254"),
    ]
    for frame in hello:
        frame.src = "02:00:00:00:00:99"
    router = make_box(GROUPS + policy)
    outcome = router.red([*hello, Ether(dst="33:33:00:00:01:01", src="02:00:00:00:00:99") / ours, red(to="224.0.1.0")])
    assert outcome.named() == {"inner.punt_link_local": len(hello)}
    peer = TUNNEL.peer_receiver()
    crossed = [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out]
    assert crossed == [forwarded(bytes(each)) for each in (ours, packet(HOST, "224.0.1.0"))]
    back = [packet(FAR_HOST, "224.0.0.5"), packet("169.254.1.1", HOST), packet(FAR_HOST, "169.254.1.1")]
    outcome = router.black([wire(inner, number + 1) for number, inner in enumerate(back)])
    assert outcome.named() == {"inner.punt_tunnel": len(back)}


def test_the_cpu_gets_what_is_for_the_box(make_box) -> None:
    """At red, of any protocol and TTL, whole or each fragment: Linux puts them together, and ICMP
    errors about what it sent. Packets for others go by the policies."""
    segment = IP(src=HOST, dst=OWN, ttl=1) / TCP(dport=179) / Raw(b"x" * 900)
    error = IP(src=HOST, dst=OWN) / ICMP(type=3, code=1) / IPerror(bytes(IP(src=OWN, dst="198.18.0.77") / UDP()))
    whole = (segment, *fragment(segment, 400), error)
    pieces = [Ether(dst=RED_MAC, src="02:00:00:00:00:99") / each for each in whole]
    outcome = make_box(HOSTS).red([*pieces, red(to=OWN), red(to="198.18.0.253")])
    assert outcome.named() == {"inner.punt_local": len(pieces) + 1}
    assert len(outcome.out) == 1
    # Without an address the port is no host.
    outcome = make_box(TUNNEL.batch() + "link set dev red promisc on\n").red([red(to=OWN)])
    assert outcome.named() == {} and len(outcome.out) == 1


def test_what_comes_in_clear_is_not_from_the_red_network(make_box) -> None:
    good = [clear("198.18.1.0"), clear("198.17.255.255"), clear("203.0.113.9")]
    near = [clear(source) for source in ("198.18.0.0", "198.18.0.9", "198.18.0.255")]
    outcome = make_box(OPEN).black([*good, *near, clear(OWN)])
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(frame)[14:]) for frame in good]
    assert outcome.named() == {"inner.drop_red_source": len(near), "inner.drop_inner_own_source": 1}


def test_a_bump_in_the_wire_passes_what_is_for_others(make_box) -> None:
    """To any station and to all; martians and group sources it drops as a router does."""
    pair = Pair()
    batch = BRIDGE + "".join(
        f"xfrm policy add src 0.0.0.0/0 dst {dst} dir out action allow\n" for dst in ("0.0.0.0/0", BROADCAST_IP)
    )
    body = packet(pair.near, pair.far)
    good = [TO_BLACK / body, Ether(dst=BROADCAST, src=TO_BLACK.src) / body, Ether(dst=GROUP, src=TO_BLACK.src) / body]
    asks = Ether(dst=BROADCAST, src=TO_BLACK.src) / packet("0.0.0.0", BROADCAST_IP)
    bad = [TO_BLACK / packet("127.0.0.1", pair.far), Ether(dst=TO_BLACK.dst, src=GROUP) / body]
    outcome = make_box(batch).red([*good, asks, *bad])
    assert outcome.out == [bytes(frame) for frame in (*good, asks)]
    assert outcome.named() == {"inner.drop_martian": 1, "inner.drop_mac_source": 1}


def test_captures_pass_whatever_their_addresses(make_box) -> None:
    """`replay` opens the ports to them, unless the batch says otherwise."""
    batch = BATCH.replace("link set dev red promisc off\n", "")
    assert make_box(batch).red([red(dst=FOREIGN)]).named() == {}
