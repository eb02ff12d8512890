# SPDX-License-Identifier: Apache-2.0
"""Linux behind one box learns the MTU of the red network behind the other, through the tunnel
between them (docs/reference/sallyportd-taps.md)."""

from __future__ import annotations

from pathlib import Path

from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether

from tests.support.namespaces import Host
from tests.support.reference import esp_payload
from tests.support.two_boxes import MIRRORED, OWN, TUNNEL, TUNNELS, black, two_boxes

MTU, LONG = 1400, 1500
OWN_V6 = ("2001:db8:1::1", "2001:db8:2::1")
NETWORKS_V6 = ("2001:db8:1::/64", "2001:db8:2::/64")
FAR = ("10.2.0.9", "2001:db8:2::9")
FAR_MAC = "02:00:00:00:02:09"
# Sends packets of one length, which must not be cut, until the kernel knows of a shorter MTU.
# Prints that, and sends a packet just as long.
LEARN = """
import socket, sys, time
v6, length = ":" in sys.argv[1], int(sys.argv[2])
header = 8 + (40 if v6 else 20)
with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as udp:
    level, discover, do, mtu = (41, 23, 2, 24) if v6 else (0, 10, 2, 14)
    udp.setsockopt(level, discover, do)
    udp.connect((sys.argv[1], 9))
    while (path := udp.getsockopt(level, mtu)) > length:
        try:
            udp.send(bytes(length - header))
        except OSError:
            continue
        time.sleep(0.1)
    print(path)
    udp.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # clears what the ICMP left
    udp.send(bytes(path - header))
"""


def lines(number: int) -> str:
    """IPv6 in the same tunnel, and red of the second box, whose MTU is shorter."""
    tunnel = (TUNNEL, MIRRORED)[number]
    near, far = NETWORKS_V6[number], NETWORKS_V6[1 - number]
    text = f"addr add {OWN_V6[number]}/64 dev red\n"
    for selector, way, src, dst, spi in (
        (f"src {near} dst {far}", "out", tunnel.near, tunnel.far, tunnel.spi_out),
        (f"src {far} dst {near}", "in", tunnel.far, tunnel.near, tunnel.spi_in),
    ):
        ends = f"src {src} dst {dst} proto esp reqid {spi} mode tunnel"
        text += f"xfrm policy add {selector} dir {way} tmpl {ends}\n"
    if number == 1:
        text += f"link set dev red mtu {MTU}\n" + "".join(
            f"neigh add {host} lladdr {FAR_MAC} dev red\n" for host in FAR
        )
    return text


def with_v6(space: Host) -> None:
    for setting in ("all", "default", "sp-red", TUNNELS):
        space.run("sh", "-c", f"echo 0 > /proc/sys/net/ipv6/conf/{setting}/disable_ipv6")
    space.run("ip", "-6", "addr", "add", f"{OWN_V6[0]}/64", "dev", "sp-red", "nodad")
    space.run("ip", "-6", "route", "add", NETWORKS_V6[1], "dev", TUNNELS, "src", OWN_V6[0])


def test_senders_behind_the_tunnel_learn_the_mtu_of_red(tmp_path: Path) -> None:
    """Over IPv4 and IPv6; a packet as long as that MTU leaves there. The messages cross black in
    ESP, where scapy reads them."""
    record = tmp_path / "black.pcapng"
    with two_boxes(tmp_path, lines, record) as (a, b):
        with_v6(a.space)
        for host in FAR:
            assert a.space.python(LEARN, host, LONG) == f"{MTU}\n"
        counted = b.counters()
        assert counted["punt_tunnel_mtu"] >= len(FAR) == counted["tx_frames"] - counted["inject_frames"]
        assert f"mtu {MTU}" in b.space.run("ip", "link", "show", "sp-red")
    frames = black(record, 1)
    assert all(ESP in Ether(frame) for frame in frames)
    peer = MIRRORED.peer_receiver()
    inside = [peer.decrypt(esp_payload(frame)) for frame in frames]
    told4 = [packet for packet in inside if ICMP in packet]
    told6 = [packet for packet in inside if ICMPv6PacketTooBig in packet]
    assert told4 and told6
    for packet in told4:
        error, quoted = packet[ICMP], packet[ICMP].payload
        assert (packet[IP].src, packet[IP].dst) == (OWN[1], OWN[0])
        assert (error.type, error.code, error.nexthopmtu) == (3, 4, MTU)
        assert (quoted.src, quoted.dst, quoted.len) == (OWN[0], FAR[0], LONG)
    for packet in told6:
        error = packet[ICMPv6PacketTooBig]
        assert (packet[IPv6].src, packet[IPv6].dst) == (OWN_V6[1], OWN_V6[0])
        assert error.mtu == MTU and (error.payload.src, error.payload.dst) == (OWN_V6[0], FAR[1])
