# SPDX-License-Identifier: Apache-2.0
"""Hosts and routes behind the black port: each clear packet goes to the host that it is for, or by
the longest prefix of its own destination (RFC 1812 5.2.4.2, 5.2.4.3), whatever rule let it pass; by
Python's `ipaddress` and scapy."""

from __future__ import annotations

import random
from ipaddress import ip_network
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.errors import InputError
from sallyport.simulator import Simulator
from tests.support.frames import read_frames, write_frames
from tests.support.punts import for_cpu
from tests.support.reference import Tunnel, forwarded
from tests.support.routes import GATEWAYS, Routes, around, drawn

ETHERNET = Ether(dst="02:72:00:00:00:01", src="02:00:00:00:00:22")
BLACK_MAC = "02:62:0a:00:00:fe"
BLACK = "addr add 10.0.0.254/24 dev black\naddr add 2001:db8::fe/64 dev black\n"
HOSTS = {"10.0.0.20": "02:00:00:00:14:04", "10.0.0.21": "02:00:00:00:15:04", "2001:db8::20": "02:00:00:00:20:06"}
SILENT, SILENT6 = "10.0.0.22", "2001:db8::22"
MAC = {
    gateway: f"02:00:00:00:{version:02x}:{n:02x}"
    for version, gateways in GATEWAYS.items()
    for n, gateway in enumerate(gateways)
} | HOSTS
NEIGHBOURS = "".join(f"neigh add {host} lladdr {mac} dev black\n" for host, mac in MAC.items())
ALLOW = (
    "xfrm policy add src 198.19.0.0/16 dst 0.0.0.0/0 dir out priority 9 action allow\n"
    "xfrm policy add src 2001:db8:f::/48 dst ::/0 dir out priority 9 action allow\n"
)


def packet(to: str, number: int = 0) -> Packet:
    head = IPv6(src="2001:db8:f::9", dst=to) if ":" in to else IP(src="198.19.0.1", dst=to)
    return head / UDP(sport=7, dport=9) / Raw(bytes([number & 0xFF] * 30))


def judged(frames: list[bytes], wanted: list[tuple[Packet, str]]) -> None:
    for frame, (sent, station) in zip(frames, wanted, strict=True):
        assert (Ether(frame).dst, frame[14 : 14 + len(sent)]) == (station, forwarded(bytes(sent))), sent.dst


def leaving(sent: Packet) -> bytes:
    """What the CPU gets of a packet from red, whose TTL is one less by then."""
    return for_cpu(type(sent)(forwarded(bytes(sent))), BLACK_MAC)


def delivered(outcome) -> list[bytes]:
    return read_frames(outcome.folder / "punt-outer.pcapng")


def leads(routes: Routes, to: str) -> str | None:
    """To the host itself, or to the gateway of the longest route."""
    return to if to in MAC else routes.leads(to)


def test_clear_packets_reach_each_host(make_box) -> None:
    """Those to unknown hosts are for the CPU, as they would leave."""
    inner = [packet(to, n) for n, to in enumerate([*HOSTS, SILENT, *HOSTS, SILENT6, "10.0.0.1"])]
    outcome = make_box(BLACK + NEIGHBOURS + ALLOW).red([ETHERNET / p for p in inner])
    assert outcome.named() == {"outer.punt_clear_host": 2}
    judged(outcome.out, [(p, MAC[p.dst]) for p in inner if p.dst in MAC])
    assert delivered(outcome) == [leaving(p) for p in inner if p.dst in (SILENT, SILENT6)]


def test_clear_packets_without_a_next_hop_are_for_the_cpu(make_box) -> None:
    """By a route to a gateway whose Ethernet address is not known, whole or in fragments."""
    near, far = "10.7.0.9", "2001:db8:7::9"
    lines = "route add 10.7.0.0/16 via 10.0.0.90 dev black\nroute add 2001:db8:7::/48 via 2001:db8::90 dev black\n"
    inner = [packet(to, n) for n, to in enumerate([near, "10.0.0.20", far, near, "10.0.0.21"])]
    long = packet(near) / Raw(bytes(1600))
    batch = BLACK + "link set black mtu 1500\n" + NEIGHBOURS + lines + ALLOW
    outcome = make_box(batch).red([ETHERNET / p for p in [*inner, long]])
    pieces = IP(forwarded(bytes(long))).fragment(fragsize=1480)
    assert len(pieces) == 2 and outcome.named() == {"outer.punt_clear_route": 3 + len(pieces)}
    judged(outcome.out, [(p, MAC[p.dst]) for p in inner if p.dst in MAC])
    lost = [leaving(p) for p in inner if p.dst in (near, far)]
    assert delivered(outcome) == [*lost, *(for_cpu(piece, BLACK_MAC) for piece in pieces)]


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize(("bits", "others"), [(127, ["::4"]), (126, ["::4", "::6", "::7"])])
def test_hosts_of_a_network_of_routers_have_their_own_addresses(
    make_box, bits: int, others: list[str], known: int
) -> None:
    network = "2001:db8:f0"
    own = f"addr add {network}::5/{bits} dev black\n" + BLACK.splitlines(keepends=True)[0]
    own += f"neigh add 10.0.0.20 lladdr {MAC['10.0.0.20']} dev black\n"
    hosts = {network + host: f"02:00:00:00:00:0{host[-1]}" for host in others[:known]}
    lines = "".join(f"neigh add {host} lladdr {station} dev black\n" for host, station in hosts.items())
    inner = [packet(network + host, n) for n, host in enumerate(others)]
    outcome = make_box(own + lines + ALLOW).red([ETHERNET / p for p in inner])
    silent = len(others) - known
    assert outcome.named() == ({"outer.punt_clear_host": silent} if silent else {})
    judged(outcome.out, [(p, hosts[p.dst]) for p in inner if p.dst in hosts])


def test_one_rule_leads_to_each_network_by_its_longest_prefix(make_box) -> None:
    """Two hundred nested routes, and nothing to name a next hop but them."""
    dice = random.Random(28)
    routes = drawn(dice, 200)
    to = [*HOSTS, *(around(dice, dice.choice(list(routes.gateways))) for _ in range(600))]
    inner = [packet(dst, n) for n, dst in enumerate(to)]
    outcome = make_box(BLACK + NEIGHBOURS + routes.lines("black") + ALLOW).red([ETHERNET / p for p in inner])
    led = [(p, leads(routes, p.dst)) for p in inner]
    astray = sum(station is None for _, station in led)
    assert astray > 5
    # What no route holds is for hosts straight behind black.
    assert outcome.named() == {"outer.punt_clear_host": astray}
    judged(outcome.out, [(p, MAC[station]) for p, station in led if station])


def test_tunnels_keep_their_next_hop_and_clear_packets_their_order(make_box) -> None:
    """ESP goes to the tunnel's next hop, by the route to its far end; packets leave in the order in
    which they came."""
    routes = Routes({ip_network("172.16.0.0/12"): "10.0.0.1", ip_network("172.16.8.0/24"): "10.0.0.2"})
    tunnel = Tunnel()
    batch = tunnel.batch("198.18.0.0/16", "198.19.0.0/16") + BLACK + NEIGHBOURS + routes.lines("black") + ALLOW
    batch += f"route add {tunnel.far}/32 via 10.0.0.3 dev black\n"
    clear = ["172.16.8.1", "172.16.9.1", "10.0.0.20"]
    secret = IP(src="198.18.0.5", dst="198.19.0.9") / UDP(sport=7, dport=9) / Raw(b"secret")
    sent = [(secret, True) if n % 3 == 1 else (packet(clear[n % 4 % 3], n), False) for n in range(60)]
    outcome = make_box(batch).red([ETHERNET / p for p, _ in sent])
    assert outcome.named() == {}
    for frame, (inner, protected) in zip(outcome.out, sent, strict=True):
        if protected:
            assert Ether(frame).dst == MAC["10.0.0.3"] and ESP in Ether(frame)
        else:
            judged([frame], [(inner, MAC[leads(routes, inner.dst) or ""])])


def test_routes_change_and_a_full_tree_refuses(tmp_path: Path) -> None:
    """After each change the next packet goes where it says; a batch without room changes
    nothing."""
    dice = random.Random(7)
    capture = tmp_path / "black.pcapng"
    wanted: list[tuple[Packet, str]] = []
    routes = drawn(dice, 60)
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        batch = tmp_path / "box.xfrm"
        batch.write_text(BLACK + NEIGHBOURS + routes.lines("black") + ALLOW)
        sim.sallyctl(0, "-batch", batch)
        sim.take_all_frames(0, "red")
        sim.command("capture", port="box0.black", direction="out", file=str(capture))

        def send() -> None:
            to = [around(dice, dice.choice(list(routes.gateways))) for _ in range(40)]
            inner = [packet(dst, len(wanted) + n) for n, dst in enumerate(to)]
            frames = tmp_path / f"red{len(wanted)}.pcap"
            write_frames(frames, [ETHERNET / p for p in inner])
            assert sim.command("replay", inputs=[{"port": "box0.red", "file": str(frames)}])["quiescent"]
            wanted.extend((p, MAC[station]) for p in inner if (station := leads(routes, p.dst)))

        send()
        for _ in range(8):
            gone = dice.sample(list(routes.gateways), 5)
            changed = dice.sample([net for net in routes.gateways if net not in gone], 5)
            lines = [f"route del {net} dev black" for net in gone]
            for net in gone:
                del routes.gateways[net]
            for net in changed:
                routes.gateways[net] = dice.choice(GATEWAYS[net.version])
                lines.append(f"route replace {net} via {routes.gateways[net]} dev black")
            for net, gateway in drawn(dice, 5).gateways.items():
                if net not in routes.gateways:
                    routes.gateways[net] = gateway
                    lines.append(f"route add {net} via {gateway} dev black")
            sim.batch(0, lines)
            send()
        # Each with two ends of its own.
        many = [f"route add 11.{n >> 7}.{2 * n & 255}.0/24 via 10.0.0.1 dev black" for n in range(3000)]
        with pytest.raises(InputError) as refused:
            sim.batch(0, many)
        assert "no room for" in str(refused.value)
        send()
        sim.batch(0, many[:1000])
        send()
        counters = sim.counters(0)
        sim.command("quit")
    judged(read_frames(capture), wanted)
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    assert counters["outer"]["drop_prefix_upset"] == counters["outer"]["drop_no_next_hop"] == 0
