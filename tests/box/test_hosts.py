# SPDX-License-Identifier: Apache-2.0
"""Hosts straight behind the red port: each packet out of a tunnel, or in clear, has the Ethernet
address of its own destination (RFC 1812 5.2.4.2); by scapy."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.errors import InputError
from sallyport.simulator import Simulator
from tests.support.frames import read_frames, write_frames
from tests.support.punts import for_cpu
from tests.support.reference import FAR, Tunnel, forwarded

ETHERNET = Ether(dst="02:62:c0:00:02:01", src="02:00:00:00:00:22")
FIRST, SECOND, THIRD = "198.18.0.5", "198.18.0.6", "2001:db8:1::5"
SILENT, SILENT6 = "198.18.0.7", "2001:db8:1::7"
GATEWAY, BEHIND = "198.18.0.1", "198.18.7.7"
MAC = {
    FIRST: "02:00:00:00:05:05",
    SECOND: "02:00:00:00:06:06",
    THIRD: "02:00:00:00:05:66",
    GATEWAY: "02:00:00:00:00:01",
}
RED = "addr add 198.18.0.254/24 dev red\naddr add 2001:db8:1::fe/64 dev red\n"
HOSTS = "".join(f"neigh add {host} lladdr {mac} dev red\n" for host, mac in MAC.items())
ROUTE = f"route add 198.18.0.0/16 via {GATEWAY} dev red\n"
PEER = f"neigh add {FAR} lladdr {ETHERNET.src} dev black\n"


def packet(dst: str, number: int = 0) -> Packet:
    head = IPv6(src="2001:db8:2::9", dst=dst) if ":" in dst else IP(src="198.19.0.1", dst=dst)
    return head / UDP(sport=7, dport=9) / Raw(bytes([number] * 30))


def judged(frames: list[bytes], inner: list[Packet], macs: dict[str, str]) -> None:
    for frame, sent in zip(frames, inner, strict=True):
        assert Ether(frame).dst == macs[sent.dst]
        assert frame[14 : 14 + len(sent)] == forwarded(bytes(sent))


@pytest.mark.parametrize("route", ["", ROUTE])
def test_each_host_behind_a_tunnel_has_its_own_address(make_box, route: str) -> None:
    """One SA, hosts of both IP versions in turn. A gateway on the same network makes no
    difference."""
    tunnel = Tunnel()
    inner = [packet(dst, n) for n, dst in enumerate([FIRST, SECOND, THIRD, GATEWAY] * 5)]
    sender = tunnel.peer_sender()
    outcome = make_box(tunnel.batch() + RED + HOSTS + route + PEER).black([ETHERNET / sender.encrypt(p) for p in inner])
    assert outcome.named() == {}
    judged(outcome.out, inner, MAC)


def test_packets_to_unknown_hosts_are_for_the_cpu_and_others_are_not(make_box) -> None:
    """Packets behind a gateway go there; those to unknown hosts have a counter of their own."""
    tunnel = Tunnel()
    inner = [packet(dst, n) for n, dst in enumerate([SILENT, FIRST, SILENT6, BEHIND, SILENT, THIRD])]
    sender = tunnel.peer_sender()
    outcome = make_box(tunnel.batch() + RED + HOSTS + ROUTE + PEER).black([ETHERNET / sender.encrypt(p) for p in inner])
    assert outcome.named() == {"inner.punt_tunnel_host": 3}
    assert read_frames(outcome.folder / "punt-inner.pcapng") == [for_cpu(inner[n]) for n in (0, 2, 4)]
    judged(outcome.out, [inner[1], inner[3], inner[5]], {**MAC, BEHIND: MAC[GATEWAY]})


def test_clear_packets_reach_each_host(make_box) -> None:
    batch = (
        "addr add 192.0.2.1/24 dev black\n" + RED + HOSTS + PEER
        + "xfrm policy add src 198.19.0.0/16 dst 198.18.0.0/24 dir in action allow\n"
        + "xfrm policy add src 2001:db8:2::/48 dst 2001:db8:1::/64 dir in action allow\n"
    )  # fmt: skip
    inner = [packet(dst, n) for n, dst in enumerate([FIRST, SILENT, SECOND, THIRD, SILENT6])]
    outcome = make_box(batch).black([ETHERNET / p for p in inner])
    assert outcome.named() == {"inner.punt_clear_host": 2}
    judged(outcome.out, [inner[0], inner[2], inner[3]], MAC)


def test_a_host_moves_and_goes_and_a_full_table_refuses(tmp_path: Path) -> None:
    """With each change of the table the next packet goes where it says. A batch whose hosts find no
    room is refused whole."""
    tunnel = Tunnel()
    sender = tunnel.peer_sender()
    capture = tmp_path / "red.pcapng"
    wanted: list[tuple[Packet, str]] = []
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        batch = tmp_path / "box.xfrm"
        batch.write_text(tunnel.batch() + RED + HOSTS + PEER)
        sim.sallyctl(0, "-batch", batch)
        sim.take_all_frames(0, "black")
        sim.command("capture", port="box0.red", direction="out", file=str(capture))

        def send(macs: dict[str, str], *to: str) -> None:
            """Those without an address in `macs` are to be dropped."""
            inner = [packet(dst, len(wanted) + n & 0xFF) for n, dst in enumerate(to)]
            frames = tmp_path / f"black{len(wanted)}.pcap"
            write_frames(frames, [ETHERNET / sender.encrypt(p) for p in inner])
            assert sim.command("replay", inputs=[{"port": "box0.black", "file": str(frames)}])["quiescent"]
            wanted.extend((p, macs[p.dst]) for p in inner if p.dst in macs)

        send(MAC, FIRST, SECOND, THIRD)
        moved = {**MAC, SECOND: "02:00:00:00:06:99"}
        sim.batch(0, [f"neigh replace {SECOND} lladdr {moved[SECOND]} dev red"])
        send(moved, FIRST, SECOND, THIRD)
        sim.batch(0, [f"neigh del {FIRST} dev red"])
        del moved[FIRST]
        send(moved, FIRST, SECOND, THIRD)

        more = [f"neigh add 198.18.0.{n} lladdr 02:00:00:01:00:{n:02x} dev red" for n in range(8, 250)]
        more += [f"neigh add 2001:db8:1::{n:x} lladdr 02:00:00:02:00:{n:02x} dev red" for n in range(8, 250)]
        with pytest.raises(InputError) as refused:
            sim.batch(0, more)
        for part in ("no room for the host", "the host table of 256 rows is full"):
            assert part in str(refused.value)
        send(moved, FIRST, SECOND, THIRD, "198.18.0.8")
        sim.batch(0, more[:200])
        send(
            {f"198.18.0.{n}": f"02:00:00:01:00:{n:02x}" for n in range(8, 208)},
            *(f"198.18.0.{n}" for n in range(8, 208)),
        )
        counters = sim.counters(0)
        sim.command("quit")
    frames = read_frames(capture)
    for frame, (inner, mac) in zip(frames, wanted, strict=True):
        assert Ether(frame).dst == mac
        assert frame[14 : 14 + len(inner)] == forwarded(bytes(inner))
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    assert counters["inner"]["punt_tunnel_host"] == 3
