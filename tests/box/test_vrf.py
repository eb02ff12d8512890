# SPDX-License-Identifier: Apache-2.0
"""Two customers of one address range, each in a VLAN of red and a VRF: each has a tunnel and hosts
of its own, and nothing crosses; by scapy."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from tests.support.reference import ANY, FAR, NEAR, Tunnel, esp_payload, forwarded

CUSTOMERS = {"blue": 10, "green": 20}
TUNNELS = {"blue": Tunnel(), "green": Tunnel(spi_out=0x1003, spi_in=0x2004)}
PEER, BOX = "02:00:00:00:00:22", "02:00:00:00:00:01"
# Site A's network and site B's, and a host behind a gateway of site A.
NETS = {4: ("10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"), 6: ("2001:db8:1::/64", "2001:db8:2::/64", "2001:db8:3::/64")}


def host(net: str, number: int) -> str:
    prefix = net.split("/")[0]
    return prefix + str(number) if ":" in prefix else prefix.rsplit(".", 1)[0] + f".{number}"


def mac(vlan: int, number: int) -> str:
    return f"02:00:00:00:{vlan:02x}:{number:02x}"


def batch(version: int) -> str:
    near, far, behind = NETS[version]
    text = f"link set red address {BOX}\nlink set black address {BOX}\n"
    text += f"addr add {NEAR}/24 dev black\nneigh add {FAR} lladdr {PEER} dev black\n"
    for name, vlan in CUSTOMERS.items():
        dev = f"red.{vlan}"
        text += f"link add link red name {dev} type vlan id {vlan}\nlink add {name} type vrf table {vlan}\nlink set {dev} master {name}\n"
        text += f"addr add {host(near, 1)}/{near.split('/')[1]} dev {dev}\n"
        for number in (2, 9):
            text += f"neigh add {host(near, number)} lladdr {mac(vlan, number)} dev {dev}\n"
        text += f"route add {behind} via {host(near, 2)} dev {dev}\n"
        # The inbound policy is for everything: the tree of routes tells hosts from gateways.
        text += TUNNELS[name].lines(near, far, far).replace(" dir ", f" dev {name} dir ")
    return text


def packet(src: str, dst: str, text: str) -> Packet:
    return (IPv6 if ":" in src else IP)(src=src, dst=dst) / UDP(sport=7, dport=9) / Raw(text.encode().ljust(32, b"."))


def from_red(vlan: int | None, inner: Packet) -> Packet:
    ethernet = Ether(dst=BOX, src="02:00:00:00:00:02")
    return ethernet / inner if vlan is None else ethernet / Dot1Q(vlan=vlan) / inner


@pytest.mark.parametrize("version", [4, 6])
def test_packets_of_a_vlan_leave_by_the_tunnel_of_its_vrf(make_box, version: int) -> None:
    """The same packet of both VLANs leaves by two tunnels; of no VLAN, or of another, by none."""
    near, far, _ = NETS[version]
    inner = packet(host(near, 9), host(far, 9), "the same packet")
    outcome = make_box(batch(version)).red([from_red(vlan, inner) for vlan in [10, 20, None, 30, 10]])
    assert outcome.named() == {"inner.drop_policy": 2}
    spis = [esp_payload(frame)[ESP].spi for frame in outcome.out]
    assert spis == [TUNNELS[name].spi_out for name in ("blue", "green", "blue")]
    receivers = {tunnel.spi_out: tunnel.peer_receiver() for tunnel in TUNNELS.values()}
    for frame in outcome.out:
        outer = esp_payload(frame)
        assert bytes(receivers[outer[ESP].spi].decrypt(outer)) == forwarded(bytes(inner))


@pytest.mark.parametrize("version", [4, 6])
def test_packets_of_a_tunnel_go_to_the_hosts_of_its_vrf(make_box, version: int) -> None:
    """Each goes to its own customer's host or gateway, in its VLAN; to an unknown host none
    goes."""
    near, far, behind = NETS[version]
    frames, wanted = [], []
    senders = {name: tunnel.peer_sender() for name, tunnel in TUNNELS.items()}
    for name, vlan in [*CUSTOMERS.items(), *CUSTOMERS.items()]:
        for dst, number in ((host(near, 9), 9), (host(behind, 7), 2), (host(near, 8), None)):
            inner = packet(host(far, 9), dst, f"of {name} to {dst}")
            frames.append(Ether(dst=BOX, src=PEER) / senders[name].encrypt(inner))
            if number is not None:
                wanted.append((mac(vlan, number), vlan, forwarded(bytes(inner))))
    outcome = make_box(batch(version)).black(frames)
    seen = []
    for frame in outcome.out:
        ethernet = Ether(frame)
        tag = ethernet[Dot1Q]
        seen.append((ethernet.dst, tag.vlan, bytes(tag.payload)))
    assert outcome.named() == {"inner.punt_tunnel_host": 4}
    assert seen == wanted


def routed(vlan: int, tunnel: Tunnel) -> str:
    """A VRF with a tunnel for both IP versions, and with a route via a gateway for each of them."""
    dev, name = f"red.{vlan}", f"v{vlan}"
    text = f"link add link red name {dev} type vlan id {vlan}\nlink add {name} type vrf table {vlan}\nlink set {dev} master {name}\n"
    for version, (near, _, behind) in NETS.items():
        text += f"addr add {host(near, 1)}/{near.split('/')[1]} dev {dev}\n"
        text += f"neigh add {host(near, version)} lladdr {mac(vlan, version)} dev {dev}\n"
        text += f"route add {behind} via {host(near, version)} dev {dev}\n"
    return text + tunnel.lines(ANY, ANY, ANY).replace(" dir ", f" dev {name} dir ")


def test_each_of_many_vrfs_goes_by_its_own_routes(make_box) -> None:
    """16 trees of routes: more than the trees' first level has rows. One of them has nodes on two
    levels."""
    vlans = range(101, 109)
    tunnels = {vlan: Tunnel(spi_out=0x1000 + vlan, spi_in=0x2000 + vlan) for vlan in vlans}
    text = f"link set red address {BOX}\nlink set black address {BOX}\n"
    text += f"addr add {NEAR}/24 dev black\nneigh add {FAR} lladdr {PEER} dev black\n"
    text += "".join(routed(vlan, tunnels[vlan]) for vlan in vlans)
    # 40 ends, of prefixes that do not touch each other.
    text += f"neigh add 10.1.0.5 lladdr {mac(103, 5)} dev red.103\n"
    text += "".join(f"route add 10.3.{n}.0/24 via 10.1.0.5 dev red.103\n" for n in range(0, 80, 4))
    frames, wanted = [], []
    for vlan, tunnel in tunnels.items():
        sender = tunnel.peer_sender()
        ways = [(4, "10.3.40.7", 5 if vlan == 103 else 4), (4, "10.3.41.7", 4), (6, host(NETS[6][2], 7), 6)]
        for version, dst, gateway in ways:
            inner = packet(host(NETS[version][1], 9), dst, f"of {vlan} to {dst}")
            frames.append(Ether(dst=BOX, src=PEER) / sender.encrypt(inner))
            wanted.append((mac(vlan, gateway), vlan, forwarded(bytes(inner))))
    outcome = make_box(text).black(frames)
    seen = [(frame.dst, frame[Dot1Q].vlan, bytes(frame[Dot1Q].payload)) for frame in map(Ether, outcome.out)]
    assert (seen, outcome.named()) == (wanted, {})
