# SPDX-License-Identifier: Apache-2.0
"""Routes behind the red port: each packet goes by the longest prefix of its own destination (RFC
1812 5.2.4.3), whatever SA or rule it came by; by Python's `ipaddress` and scapy."""

from __future__ import annotations

import random
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.errors import InputError
from sallyport.simulator import Simulator
from tests.support.frames import read_frames, write_frames
from tests.support.reference import FAR, Tunnel, forwarded
from tests.support.routes import GATEWAYS, Routes, around, drawn

ETHERNET = Ether(dst="02:62:c0:00:02:01", src="02:00:00:00:00:22")
RED = "addr add 10.0.0.254/24 dev red\naddr add 2001:db8::fe/64 dev red\n"
PEER = f"neigh add {FAR} lladdr {ETHERNET.src} dev black\n"
NEIGHBOURS = "".join(
    f"neigh add {gateway} lladdr 02:00:00:00:{version:02x}:{n:02x} dev red\n"
    for version, gateways in GATEWAYS.items()
    for n, gateway in enumerate(gateways)
)


def mac(gateway: str) -> str:
    version = ip_address(gateway).version
    return f"02:00:00:00:{version:02x}:{GATEWAYS[version].index(gateway):02x}"


def packet(to: str, number: int = 0) -> Packet:
    head = IPv6(src="2001:db8:f::9", dst=to) if ":" in to else IP(src="198.19.0.1", dst=to)
    return head / UDP(sport=7, dport=9) / Raw(bytes([number & 0xFF] * 30))


def test_one_sa_leads_to_each_network_by_its_longest_prefix(make_box) -> None:
    """Two hundred nested routes, and nothing to name a next hop but them."""
    dice = random.Random(28)
    routes, tunnel = drawn(dice, 200), Tunnel()
    to = [around(dice, dice.choice(list(routes.gateways))) for _ in range(600)]
    inner = [packet(dst, n) for n, dst in enumerate(to)]
    sender = tunnel.peer_sender()
    box = make_box(tunnel.batch() + RED + NEIGHBOURS + routes.lines("red") + PEER)
    outcome = box.black([ETHERNET / sender.encrypt(p) for p in inner])
    led = [(p, routes.leads(p.dst)) for p in inner]
    assert sum(gateway is None for _, gateway in led) > 5
    # What no route holds is for hosts straight behind red.
    assert outcome.named() == {"inner.punt_tunnel_host": sum(gateway is None for _, gateway in led)}
    wanted = [(p, mac(gateway)) for p, gateway in led if gateway]
    for frame, (sent, station) in zip(outcome.out, wanted, strict=True):
        assert (Ether(frame).dst, frame[14 : 14 + len(sent)]) == (station, forwarded(bytes(sent))), sent.dst


def test_clear_packets_go_by_routes_too(make_box) -> None:
    routes = Routes({ip_network("172.16.0.0/12"): "10.0.0.1", ip_network("172.16.8.0/24"): "10.0.0.2"})
    allow = "xfrm policy add src 198.19.0.0/16 dst 172.16.0.0/12 dir in action allow\n"
    batch = "addr add 192.0.2.1/24 dev black\n" + RED + NEIGHBOURS + routes.lines("red") + PEER + allow
    inner = [packet(to) for to in ("172.16.8.1", "172.16.9.1", "172.16.7.255")]
    outcome = make_box(batch).black([ETHERNET / p for p in inner])
    assert outcome.named() == {}
    assert [Ether(frame).dst for frame in outcome.out] == [mac("10.0.0.2"), mac("10.0.0.1"), mac("10.0.0.1")]


LONG = {
    ip_network("::/0"): GATEWAYS[6][0],
    ip_network("2001:db8:9::/64"): GATEWAYS[6][1],
    ip_network("2001:db8:9::4/126"): GATEWAYS[6][2],
    ip_network("2001:db8:9::6/127"): GATEWAYS[6][3],
    ip_network("2001:db8:9::7/128"): GATEWAYS[6][4],
    ip_network("2001:db8::99/128"): GATEWAYS[6][5],
}


@pytest.mark.parametrize("port", ["red", "clear", "black"])
def test_a_route_to_one_address_leads_to_its_gateway(make_box, port: str) -> None:
    """Out of a tunnel, and in clear at both ports: also from the port's own network. A neighbour
    line of the address comes first."""
    routes, tunnel, own = Routes(LONG), Tunnel(), "02:00:00:00:00:77"
    dev = "black" if port == "black" else "red"
    network = (RED + NEIGHBOURS + f"neigh add 2001:db8:9::a lladdr {own} dev red\n").replace("dev red", f"dev {dev}")
    network += routes.lines(dev) + f"route add 2001:db8:9::a/128 via {GATEWAYS[6][6]} dev {dev}\n"
    inner = [packet(f"2001:db8:9::{n:x}", n) for n in range(3, 11)] + [packet("2001:db8::99"), packet("3000::1")]
    if port == "black":
        allow = "xfrm policy add src 2001:db8:f::/48 dst ::/0 dir out action allow\n"
        red = Ether(dst="02:72:00:00:00:01", src=ETHERNET.src)
        outcome = make_box(network + allow).red([red / p for p in inner])
    elif port == "clear":
        allow = "xfrm policy add src 2001:db8:f::/48 dst ::/0 dir in action allow\n"
        outcome = make_box("addr add 192.0.2.1/24 dev black\n" + network + PEER + allow).black(
            [ETHERNET / p for p in inner]
        )
    else:
        sender = tunnel.peer_sender()
        outcome = make_box(tunnel.batch() + network + PEER).black([ETHERNET / sender.encrypt(p) for p in inner])
    assert outcome.named() == {}
    led = [own if p.dst == "2001:db8:9::a" else mac(routes.leads(p.dst) or "") for p in inner]
    for frame, sent, station in zip(outcome.out, inner, led, strict=True):
        assert (Ether(frame).dst, frame[14 : 14 + len(sent)]) == (station, forwarded(bytes(sent))), sent.dst


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize(("bits", "others"), [(127, ["::4"]), (126, ["::4", "::6", "::7"])])
def test_hosts_of_a_network_of_routers_have_their_own_addresses(
    make_box, bits: int, others: list[str], known: int
) -> None:
    """A packet to one that is not known is for the CPU, which asks for the host."""
    tunnel, network = Tunnel(), "2001:db8:f0"
    own = f"addr add {network}::5/{bits} dev red\n" + RED.splitlines(keepends=True)[0]
    own += f"neigh add 10.0.0.1 lladdr {mac('10.0.0.1')} dev red\n"
    hosts = {network + host: f"02:00:00:00:00:0{host[-1]}" for host in others[:known]}
    lines = "".join(f"neigh add {host} lladdr {station} dev red\n" for host, station in hosts.items())
    inner = [packet(network + host, n) for n, host in enumerate(others)]
    sender = tunnel.peer_sender()
    outcome = make_box(tunnel.batch() + own + lines + PEER).black([ETHERNET / sender.encrypt(p) for p in inner])
    silent = len(others) - known
    assert outcome.named() == ({"inner.punt_tunnel_host": silent} if silent else {})
    assert [Ether(frame).dst for frame in outcome.out] == list(hosts.values())


def test_routes_change_and_a_full_tree_refuses(tmp_path: Path) -> None:
    """After each change the next packet goes where it says; a batch without room changes
    nothing."""
    dice = random.Random(7)
    tunnel = Tunnel()
    sender = tunnel.peer_sender()
    capture = tmp_path / "red.pcapng"
    wanted: list[tuple[Packet, str]] = []
    routes = drawn(dice, 60)
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        batch = tmp_path / "box.xfrm"
        batch.write_text(tunnel.batch() + RED + NEIGHBOURS + routes.lines("red") + PEER)
        sim.sallyctl(0, "-batch", batch)
        sim.take_all_frames(0, "black")
        sim.command("capture", port="box0.red", direction="out", file=str(capture))

        def send() -> None:
            to = [around(dice, dice.choice(list(routes.gateways))) for _ in range(40)]
            inner = [packet(dst, len(wanted) + n) for n, dst in enumerate(to)]
            frames = tmp_path / f"black{len(wanted)}.pcap"
            write_frames(frames, [ETHERNET / sender.encrypt(p) for p in inner])
            assert sim.command("replay", inputs=[{"port": "box0.black", "file": str(frames)}])["quiescent"]
            wanted.extend((p, mac(gateway)) for p in inner if (gateway := routes.leads(p.dst)))

        send()
        for _ in range(12):
            gone = dice.sample(list(routes.gateways), 5)
            changed = dice.sample([net for net in routes.gateways if net not in gone], 5)
            lines = [f"route del {net} dev red" for net in gone]
            for net in gone:
                del routes.gateways[net]
            for net in changed:
                routes.gateways[net] = dice.choice(GATEWAYS[net.version])
                lines.append(f"route replace {net} via {routes.gateways[net]} dev red")
            for net, gateway in drawn(dice, 5).gateways.items():
                if net not in routes.gateways:
                    routes.gateways[net] = gateway
                    lines.append(f"route add {net} via {gateway} dev red")
            sim.batch(0, lines)
            send()
        # Each with two ends of its own.
        many = [f"route add 11.{n >> 7}.{2 * n & 255}.0/24 via 10.0.0.1 dev red" for n in range(3000)]
        with pytest.raises(InputError) as refused:
            sim.batch(0, many)
        assert "no room for" in str(refused.value)
        send()
        sim.batch(0, many[:1000])
        send()
        counters = sim.counters(0)
        sim.command("quit")
    for frame, (sent, station) in zip(read_frames(capture), wanted, strict=True):
        assert (Ether(frame).dst, frame[14 : 14 + len(sent)]) == (station, forwarded(bytes(sent))), sent.dst
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    assert counters["inner"]["drop_prefix_upset"] == counters["inner"]["drop_no_next_hop"] == 0
