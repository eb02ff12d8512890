# SPDX-License-Identifier: Apache-2.0
"""A router behind red speaks OSPF and BGP with the box, whose side is FRR behind the TAPs: the
chips give the CPU their groups of one link and the packets to the box, and send its answers. And
two boxes speak BGP with each other through the tunnel between them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scapy.layers.inet import IP, TCP

from tests.peers.frr_router import router
from tests.support.daemon import Client
from tests.support.live_box import BOX, PEER, RED_HOST, RED_TAP, live_box
from tests.support.managed import managed
from tests.support.namespaces import Host, hosts
from tests.support.reference import esp_payload
from tests.support.senders import PING
from tests.support.two_boxes import MIRRORED, TUNNEL, black, two_boxes
from tests.support.two_boxes import OWN as ENDS

OWN = BOX[0][0]
FAR, ROUTES = "10.9.0.1", 1000
# Hellos each second of a machine that may be slow, and no answer missed for two minutes.
OSPF = """interface {device}
 ip ospf hello-interval 1
 ip ospf dead-interval 120
router ospf
 ospf router-id {own}
 network 10.1.0.0/24 area 0
"""
# Over a device without a network of its own, which only the two boxes share.
OSPF_BY_TUNNEL = """interface sp-vpn
 ip ospf hello-interval 1
 ip ospf dead-interval 120
 ip ospf network point-to-point
 ip ospf area 0
interface lo
 ip ospf area 0
router ospf
 ospf router-id {own}
"""
BGP = """router bgp {own_as}
 bgp router-id {own}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor {other} remote-as {other_as}
 neighbor {other} timers connect 1
{more} address-family ipv4 unicast
"""
# The far box is a tunnel away, which is one hop: a speaker's segments have a TTL of 1, and those
# that answer the first one 255.
BY_TUNNEL = """ neighbor {other} update-source {own}
 neighbor {other} disable-connected-check
"""


def routes(first: int) -> str:
    """Networks that a router tells of, from 10.`first`.0.0 on."""
    return "".join(f"  network 10.{first + n // 256}.{n % 256}.0/24\n" for n in range(ROUTES))


@contextmanager
def both(folder: Path) -> Iterator[tuple[Host, Host, Callable[[], dict]]]:
    """The namespaces of router and box, and the inner chip's counters. The router has no route to
    black, and an address on its loopback device. The run's counters balance at its end."""
    with live_box(folder) as (run, red, _), hosts("box") as (box,):
        red.run("ip", "route", "del", "default")
        red.run("ip", "link", "set", "lo", "up")
        red.run("ip", "addr", "add", f"{FAR}/32", "dev", "lo")
        with managed(box, folder) as daemon:
            client = Client(daemon.control)
            yield red, box, lambda: client.get("counters")["chips"]["inner"]
            client.close()
        status, said = run.stop(signal.SIGTERM)
    assert status == 0 and "conservation: " in said, said


def test_ospf_with_a_router_behind_red(tmp_path: Path) -> None:
    with both(tmp_path) as (red, box, count):
        # OSPF makes no neighbour of a router with another MTU (RFC 2328 10.6).
        box.run("ip", "link", "set", "sp-red", "mtu", 1500)
        near = OSPF.format(device="sp-red", own=OWN) + " default-information originate always\n"
        far = OSPF.format(device=RED_TAP, own=RED_HOST) + " redistribute connected\n"
        with router(box, ospfd=near) as ours, router(red, ospfd=far) as theirs:
            found = theirs.wait("ip ospf neighbor", lambda shown: "Full" in str(shown))
            assert list(found["neighbors"]) == [OWN]
            ours.wait("ip route ospf", lambda shown: f"{FAR}/32" in shown)
            theirs.wait("ip route ospf", lambda shown: "0.0.0.0/0" in shown)
            # The kernels have what the daemons learned, and the router's traffic takes it.
            assert f"via {RED_HOST} dev sp-red proto ospf" in box.run("ip", "route", "show", FAR)
            assert red.python(PING, PEER, 3) == "3\n"
        counters = count()
        # Hellos and acknowledgements to the groups, and descriptions of the database to the box.
        assert counters["punt_link_local"] >= 2 and counters["punt_local"] >= 2
        assert counters["drop_policy"] == counters["drop_punt_link_local"] == counters["drop_punt_local"] == 0


def test_bgp_with_a_router_behind_red(tmp_path: Path) -> None:
    with both(tmp_path) as (red, box, count):
        near = BGP.format(own_as=65001, own=OWN, other=RED_HOST, other_as=65002, more="") + "  network 0.0.0.0/0\n"
        far = BGP.format(own_as=65002, own=RED_HOST, other=OWN, other_as=65001, more="") + routes(20)
        with router(box, bgpd=near) as ours, router(red, bgpd=far) as theirs:
            ours.wait("ip route bgp", lambda shown: len(shown) == ROUTES)
            theirs.wait("ip route bgp", lambda shown: "0.0.0.0/0" in shown)
            assert box.run("ip", "route", "show", "proto", "bgp").count(f"via {RED_HOST} dev sp-red") == ROUTES
            assert red.python(PING, PEER, 3) == "3\n"
        counters = count()
        assert counters["punt_local"] >= 5 and counters["drop_policy"] == counters["drop_punt_local"] == 0


def groups(own: int) -> str:
    """The tunnel carries OSPF's groups, too, from this box and from the other one."""
    tunnel = (TUNNEL, MIRRORED)[own]
    return "".join(
        f"xfrm policy add src {ENDS[end]}/32 dst 224.0.0.0/24 dir {way} "
        f"tmpl src {src} dst {dst} proto esp reqid {spi} mode tunnel\n"
        for end, way, src, dst, spi in (
            (own, "out", tunnel.near, tunnel.far, tunnel.spi_out),
            (1 - own, "in", tunnel.far, tunnel.near, tunnel.spi_in),
        )
    )


def test_two_boxes_speak_ospf_through_their_tunnel(tmp_path: Path) -> None:
    """Hellos to a group of one link, with a TTL of 1: a tunnel is a link."""
    with two_boxes(tmp_path, more=groups) as boxes, ExitStack() as running:
        for own, box in enumerate(boxes):
            box.space.run("ip", "addr", "add", f"{ENDS[own]}/32", "dev", "sp-vpn")
            box.space.run("ip", "addr", "add", f"10.{20 + own}.0.1/32", "dev", "lo")
        speakers = [
            running.enter_context(router(box.space, ospfd=OSPF_BY_TUNNEL.format(own=ENDS[own])))
            for own, box in enumerate(boxes)
        ]
        for own, speaker in enumerate(speakers):
            found = speaker.wait("ip ospf neighbor", lambda shown: "Full" in str(shown))
            assert list(found["neighbors"]) == [ENDS[1 - own]]
            speaker.wait("ip route ospf", lambda shown, far=f"10.{21 - own}.0.1/32": far in shown)
        for box in boxes:
            counters = box.counters()
            assert counters["punt_tunnel"] >= 4 and counters["drop_inner_martian"] == counters["drop_policy"] == 0


def test_two_boxes_exchange_routes_through_their_tunnel(tmp_path: Path) -> None:
    """A thousand each way, in both kernels, and on the black cable nothing but ESP between them."""
    record = tmp_path / "session.pcapng"
    with two_boxes(tmp_path, record=record) as boxes:

        def speaker(own: int) -> str:
            ends = {"own": ENDS[own], "other": ENDS[1 - own], "own_as": 65001 + own, "other_as": 65002 - own}
            return BGP.format(**ends, more=BY_TUNNEL.format(**ends)) + routes(20 + 100 * own)

        a, b = (box.space for box in boxes)
        with router(a, bgpd=speaker(0)) as one, router(b, bgpd=speaker(1)) as two:
            for each in (one, two):
                each.wait("ip route bgp", lambda shown: len(shown) == ROUTES)
            for own, space in enumerate((a, b)):
                table = space.run("ip", "route", "show", "proto", "bgp")
                assert table.count(f"via {ENDS[1 - own]} dev sp-vpn") == ROUTES
        for box in boxes:
            counters = box.counters()
            assert counters["punt_tunnel"] >= 10 and counters["tx_protect"] >= 10
            assert counters["tx_bypass"] == counters["drop_punt_tunnel"] == counters["drop_selector_mismatch"] == 0
    for number, tunnel in enumerate((TUNNEL, MIRRORED)):
        peer = tunnel.peer_receiver()
        inside = [peer.decrypt(esp_payload(frame)) for frame in black(record, number)]
        segments = [packet for packet in inside if TCP in packet and 179 in (packet[TCP].sport, packet[TCP].dport)]
        assert len(segments) >= 10 and 1 in {packet[IP].ttl for packet in segments} <= {1, 255}
