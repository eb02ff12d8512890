# SPDX-License-Identifier: Apache-2.0
"""Two boxes with two XFRM interfaces each. FRR's bgpd of one box tells that of the other one of
networks by the first interface, and the chips send the traffic of hosts to all of them through that
tunnel, protected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.peers.frr_router import Router, router
from tests.support.daemon import Client
from tests.support.namespaces import WAIT_S, Host, hosts
from tests.support.reference import Tunnel
from tests.support.senders import PING_EACH
from tests.support.two_boxes import MIRRORED, OWN, RED_TAPS, TUNNEL, LiveBox, two_boxes

NEAR_HOST = ("10.1.0.2", "10.2.0.2")
FAR_SITE, COUNT = "10.120.0.0/14", 200
FIRST, SECOND = "ipsec0", "ipsec1"
IF_IDS = {FIRST: 0x2A, SECOND: 43}
TAPS = f'[taps]\nred = "sp-red"\nblack = "sp-black"\nxfrm = ["{FIRST}", "{SECOND}"]\n'
NETWORKS = [f"10.{120 + n // 256}.{n % 256}." for n in range(COUNT)]
BGP = """router bgp {own_as}
 bgp router-id {own}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor {other} remote-as {other_as}
 neighbor {other} timers connect 1
 neighbor {other} update-source {own}
 neighbor {other} disable-connected-check
 address-family ipv4 unicast
"""


# Pings an address each second until it answers.
UNTIL_ANSWERED = """
import socket, struct, sys
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.settimeout(1)
for _ in range(300):
    raw.sendto(struct.pack("!BBHHH", 8, 0, ~(0x800 + 78 + 1) & 0xFFFF, 78, 1), (sys.argv[1], 0))
    try:
        while raw.recv(2000)[20:] != struct.pack("!BBHHH", 0, 0, ~(78 + 1) & 0xFFFF, 78, 1):
            pass
        break
    except TimeoutError:
        continue
"""
SEND_TO = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    for _ in range(5):
        udp.sendto(b"x", (sys.argv[1], 9))
"""


def tunnel_of(own: int, device: str) -> Tunnel:
    """The second interface has SAs of its own between the same ends."""
    of = (TUNNEL, MIRRORED)[own]
    more = 0x100 * (device == SECOND)
    return Tunnel(near=of.near, far=of.far, spi_out=of.spi_out + more, spi_in=of.spi_in + more)


def configuration(own: int, more: str) -> str:
    """For each interface a tunnel that takes every packet that is routed to it."""
    lines = f"addr add {(TUNNEL, MIRRORED)[own].near}/24 dev black\naddr add {OWN[own]}/24 dev red\n"
    for device, if_id in IF_IDS.items():
        lines += f"link add {device} type xfrm dev black if_id {if_id}\n"
        for line in tunnel_of(own, device).lines("0.0.0.0/0", "0.0.0.0/0", "0.0.0.0/0").splitlines():
            lines += f"{line} if_id {if_id}\n"
    return lines + more


def speaker(own: int, more: str = "") -> str:
    ends = {"own": OWN[own], "other": OWN[1 - own], "own_as": 65001 + own, "other_as": 65002 - own}
    return BGP.format(**ends) + more


@contextmanager
def sites(folder: Path) -> Iterator[tuple[LiveBox, Host, Router]]:
    """The first box, a host behind it, and the FRR of the second box."""
    with (
        hosts("ra", "rb") as inside,
        two_boxes(folder, made=configuration, taps=TAPS, device=FIRST) as boxes,
        ExitStack() as running,
    ):
        for box in boxes:
            # Simulated time is slow: Linux's frames would wait for their turn, some past the end.
            for group in ("inject", "inject_encrypt"):
                assert box.daemon.sallyctl("punt", "set", group, "rate", "unlimited").returncode == 0
        for own, host in enumerate(inside):
            host.take(RED_TAPS[own], f"{NEAR_HOST[own]}/24")
            host.run("ip", "link", "set", "lo", "up")
            host.run("ip", "route", "add", "default", "via", OWN[own])
        inside[1].run("ip", "route", "add", "local", FAR_SITE, "dev", "lo")
        boxes[1].space.run("ip", "route", "add", FAR_SITE, "via", NEAR_HOST[1], "dev", "sp-red")
        told = "".join(f"  network {network}0/24\n" for network in NETWORKS)
        running.enter_context(router(boxes[0].space, bgpd=speaker(0)))
        yield boxes[0], inside[0], running.enter_context(router(boxes[1].space, bgpd=speaker(1, told)))


def wait(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def answer(host: Host, addresses: list[str]) -> bool:
    """Whether all addresses answer a host; a busy machine may lose a frame before it sends it."""
    return any(host.python(PING_EACH, *addresses) == f"{len(addresses)}\n" for _ in range(3))


def routes_of(box: LiveBox, device: str) -> int:
    """How many routes of BGP to an interface the chips have."""
    shown = box.daemon.sallyctl("route", "show").stdout
    assert "rt_offload_failed" not in shown
    return shown.count(f" dev {device} proto bgp")


def carried(box: LiveBox, device: str) -> int:
    """Packets of the outbound SA of an interface."""
    tunnel = tunnel_of(box.number, device)
    words = ("dst", tunnel.far, "proto", "esp", "spi", hex(tunnel.spi_out))
    shown = box.daemon.sallyctl("-s", "xfrm", "state", "get", *words).stdout
    assert f"if_id {IF_IDS[device]:#x}" in shown
    return int(shown.split("lifetime current:")[1].split("(packets)")[0].split()[-1])


def test_bgp_steers_traffic_into_a_tunnel(tmp_path: Path) -> None:
    with sites(tmp_path) as (box, host, far):
        wait(lambda: routes_of(box, FIRST) == COUNT, "routes of the chips")
        addresses = [f"{network}{1 + n % 254}" for n, network in enumerate(NETWORKS)]
        host.python(UNTIL_ANSWERED, addresses[0])  # the boxes know the hosts then
        assert answer(host, addresses)
        assert carried(box, FIRST) >= COUNT and carried(box, SECOND) == 0
        # The box's own Linux goes the same way.
        assert box.space.python(PING_EACH, *addresses[:5]) == "5\n"

        # The daemon is killed: its devices go, and Linux's routes with them. The chips go on, and
        # the next daemon keeps their routes until BGP tells of them again.
        box.daemon.kill()
        assert answer(host, addresses[:20])
        box.daemon.start()
        object.__setattr__(box, "client", Client(box.daemon.control))
        box.address(FIRST)
        assert routes_of(box, FIRST) == COUNT
        assert answer(host, addresses[:20])
        wait(lambda: box.space.run("ip", "route", "show", "proto", "bgp").count(f"dev {FIRST}") == COUNT, "BGP again")

        # A route that is withdrawn takes its traffic away, and no other route leads there.
        far.configure("router bgp 65002", "address-family ipv4 unicast", f"no network {NETWORKS[5]}0/24")
        wait(lambda: routes_of(box, FIRST) == COUNT - 1, "the withdrawn route")
        before = box.counters()["drop_policy"]
        host.python(SEND_TO, addresses[5])
        wait(lambda: box.counters()["drop_policy"] - before >= 5, "the packets that nothing takes")

        # A longer route by another tunnel moves its traffic there.
        assert carried(box, SECOND) == 0
        box.space.run("ip", "route", "add", f"{NETWORKS[7]}0/25", "dev", SECOND)
        wait(
            lambda: f"{NETWORKS[7]}0/25 dev {SECOND}" in box.daemon.sallyctl("route", "show").stdout, "the longer route"
        )
        assert host.python(PING_EACH, f"{NETWORKS[7]}9", f"{NETWORKS[7]}10") == "2\n"
        assert carried(box, SECOND) == 2
        assert host.python(PING_EACH, f"{NETWORKS[7]}200") == "1\n"
        assert carried(box, SECOND) == 2
        counters = box.counters()
        assert counters["tx_bypass"] == counters["drop_selector_mismatch"] == 0
