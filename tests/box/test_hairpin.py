# SPDX-License-Identifier: Apache-2.0
"""A hub of spokes: packets out of one tunnel for the network behind another one go there, protected
or not at all; by scapy."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.punts import read_punted
from tests.support.reference import FAR, NEAR, Tunnel, esp_payload, forwarded

BOX, PEER = "02:00:00:00:00:01", "02:00:00:00:00:22"
# The networks behind two spokes, and one that no policy protects.
NETS = {4: ("10.1.0.0/16", "10.2.0.0/16", "10.9.0.0/16"), 6: ("2001:db8:1::/64", "2001:db8:2::/64", "2001:db8:9::/64")}
SPOKES = (Tunnel(spi_out=0x1001, spi_in=0x2001), Tunnel(spi_out=0x1002, spi_in=0x2002))


def host(net: str, number: int) -> str:
    prefix = net.split("/")[0]
    return prefix + str(number) if ":" in prefix else prefix.rsplit(".", 1)[0] + f".{number}"


def batch(version: int, more: str = "", network: str = "") -> str:
    """Each spoke may reach the other; `network` puts all of it into a VRF."""
    one, two, other = NETS[version]
    text = f"link set red address {BOX}\nlink set black address {BOX}\naddr add {NEAR}/24 dev black\n"
    text += f"neigh add {FAR} lladdr {PEER} dev black\naddr add 198.18.0.254/24 dev red\n"
    text += more
    dev, vrf = (f" dev {network} dir ", f" vrf {network}") if network else (" dir ", "")
    for spoke, (far, near) in zip(SPOKES, ((one, two), (two, one)), strict=True):
        text += spoke.lines(near, far, far).replace(" dir ", dev)
    for net in (one, two, other):
        text += f"route add {net} dev black encap xfrm{vrf}\n"
    return text


def packet(src: str, dst: str, size: int = 64) -> Packet:
    return (IPv6 if ":" in src else IP)(src=src, dst=dst) / UDP(sport=7, dport=9) / Raw((bytes(range(256)) * 6)[:size])


def from_spoke(number: int, inners: list[Packet]) -> list[Packet]:
    sender = SPOKES[number].peer_sender()
    return [Ether(dst=BOX, src=PEER) / sender.encrypt(inner) for inner in inners]


def to_spoke(number: int, frames: list[bytes]) -> list[bytes]:
    """What a spoke has of frames out of black."""
    receiver = SPOKES[number].peer_receiver()
    return [bytes(receiver.decrypt(esp_payload(frame))) for frame in frames]


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("network", ["", "blue"])
def test_spokes_reach_each_other(make_box, version: int, network: str) -> None:
    """Both ways, a hop further, out of black alone and by the SA of the other spoke."""
    one, two, _ = NETS[version]
    vrf = "link add blue type vrf table 10\n" if network else ""
    box = make_box(batch(version, vrf, network))
    for number, (here, there) in enumerate(((one, two), (two, one))):
        inners = [packet(host(here, 5), host(there, n), size) for n, size in ((6, 1), (7, 700), (8, 1350), (9, 30))]
        outcome = box.black(from_spoke(number, inners))
        assert (outcome.named(), outcome.out) == ({}, [])
        assert {esp_payload(frame)[ESP].spi for frame in outcome.back} == {SPOKES[1 - number].spi_out}
        assert to_spoke(1 - number, outcome.back) == [forwarded(bytes(inner)) for inner in inners]
        assert outcome.counters["inner"]["tx_hairpin"] == outcome.counters["inner"]["rx_hairpin"] == len(inners)


@pytest.mark.parametrize("version", [4, 6])
def test_nothing_leaves_in_clear(make_box, version: int) -> None:
    """Where no policy protects a packet it is dropped by name, and so it is under a policy that
    lets clear packets pass."""
    one, _, other = NETS[version]
    inners = [packet(host(one, 5), host(other, 6))]
    outcome = make_box(batch(version)).black(from_spoke(0, inners))
    assert (outcome.named(), outcome.out, outcome.back) == ({"inner.drop_policy": 1}, [], [])
    clear = f"xfrm policy add src {one} dst {other} dir out action allow\n"
    outcome = make_box(batch(version, clear)).black(from_spoke(0, inners))
    assert (outcome.named(), outcome.out, outcome.back) == ({"inner.drop_hairpin_clear": 1}, [], [])


def test_what_is_of_red_stays_there(make_box) -> None:
    """A longer route of red comes first, and so does the box's own address."""
    more = "neigh add 198.18.0.9 lladdr 02:00:00:00:00:09 dev red\nroute add 10.2.3.0/24 via 198.18.0.9 dev red\n"
    inners = [packet("10.1.0.5", dst) for dst in ("10.2.3.4", "10.2.4.4", "198.18.0.254")]
    outcome = make_box(batch(4, more)).black(from_spoke(0, inners))
    assert outcome.named() == {"inner.punt_tunnel": 1}
    assert [bytes(Ether(frame).payload) for frame in outcome.out] == [forwarded(bytes(inners[0]))]
    assert Ether(outcome.out[0]).dst == "02:00:00:00:00:09"
    assert to_spoke(1, outcome.back) == [forwarded(bytes(inners[1]))]


@pytest.mark.parametrize("first", [0, -1], ids=["first one first", "first one last"])
def test_fragments_go_by_the_ports_of_their_datagram(make_box, first: int) -> None:
    """The policy of a port takes all fragments of its datagrams, and the general one the others."""
    one, two, _ = NETS[4]
    third = Tunnel(spi_out=0x1003, spi_in=0x2003)
    ports = third.lines(one, two, two).splitlines()[0] + "\n"
    policy = f"src {one} dst {two} proto udp dport 53 dir out"
    ports += f"xfrm policy add {policy} tmpl src {NEAR} dst {FAR} proto esp reqid {third.spi_out} mode tunnel\n"
    parts = []
    for n, port in enumerate((53, 54)):
        whole = IP(src="10.1.0.5", dst="10.2.0.6", id=77 + n) / UDP(sport=7, dport=port) / Raw(bytes(2000))
        parts.append([IP(bytes(part)) for part in fragment(whole, 800)])
    turns = [part for pair in zip(*parts, strict=True) for part in pair]
    outcome = make_box(batch(4, ports)).black(from_spoke(0, turns if first == 0 else turns[::-1]))
    assert outcome.named() == {}
    back = {spi: [frame for frame in outcome.back if esp_payload(frame)[ESP].spi == spi] for spi in (0x1003, 0x1002)}
    receiver = third.peer_receiver()
    got = [[bytes(receiver.decrypt(esp_payload(frame))) for frame in back[0x1003]], to_spoke(1, back[0x1002])]
    assert [sorted(each) for each in got] == [sorted(forwarded(bytes(part)) for part in each) for each in parts]
    assert [each[0] for each in got] == [forwarded(bytes(each[0])) for each in parts], "the first one goes first"


def test_what_is_too_long_is_told_apart(make_box) -> None:
    """With DF the CPU gets it, marked as of a tunnel; without, it goes in fragments."""
    box = make_box(batch(4, "link set black mtu 1400\n"))
    long = packet("10.1.0.5", "10.2.0.6", 1360)
    long.flags = "DF"
    outcome = box.black(from_spoke(0, [long]))
    assert (outcome.named(), outcome.out, outcome.back) == ({"inner.punt_mtu": 1}, [], [])
    (frame,) = read_punted(outcome.folder / "punt-inner.pcapng")
    assert (frame.reason, frame.hairpin, frame.injected) == ("mtu", True, False)
    assert frame.frame[14:] == forwarded(bytes(long))
    long.flags = 0
    outcome = box.black(from_spoke(0, [long]))
    assert outcome.named() == {} and len(outcome.back) == 2
    assert all(len(Ether(frame).payload) <= 1400 for frame in outcome.back)


def test_loops_end(make_box) -> None:
    """A packet that its own tunnel would take back goes there once a turn, and its TTL ends it."""
    one = NETS[4][0]
    loop = f"xfrm policy add src {one} dst {one} dir out tmpl src {NEAR} dst {FAR} proto esp reqid {SPOKES[0].spi_out} mode tunnel\n"
    inner = packet("10.1.0.5", "10.1.0.6")
    inner.ttl = 2
    outcome = make_box(batch(4, loop)).black(from_spoke(0, [inner]))
    assert to_spoke(0, outcome.back) == [forwarded(bytes(inner))]
    inner.ttl = 1
    outcome = make_box(batch(4, loop)).black(from_spoke(0, [inner]))
    assert (outcome.named(), outcome.back) == ({"inner.punt_tunnel_ttl": 1}, [])


@pytest.mark.parametrize("sizes", [(18,), (1430,), (18, 1430, 200)], ids=["64 B", "1500 B", "mixed"])
def test_a_full_wire_of_them_loses_nothing(make_box, sizes: tuple[int, ...]) -> None:
    """Packets of both spokes at the rate of the port, in turn, of the least size that Ethernet
    carries in clear, of the longest, and of several."""
    one, two, _ = NETS[4]
    count = 600
    inners = [
        [packet(host(here, 5), host(there, 6 + n % 40), sizes[n % len(sizes)]) for n in range(count)]
        for here, there in ((one, two), (two, one))
    ]
    both = zip(*(from_spoke(number, these) for number, these in enumerate(inners)), strict=True)
    outcome = make_box(batch(4)).black([frame for pair in both for frame in pair])
    assert (outcome.named(), outcome.out) == ({}, [])
    spis = [esp_payload(frame)[ESP].spi for frame in outcome.back]
    for number, these in enumerate(inners):
        mine = [frame for frame, spi in zip(outcome.back, spis, strict=True) if spi == SPOKES[1 - number].spi_out]
        assert to_spoke(1 - number, mine) == [forwarded(bytes(inner)) for inner in these]
