# SPDX-License-Identifier: Apache-2.0
"""A router behind red speaks OSPF and BGP with the box, whose side is FRR behind the TAPs: the
chips give the CPU their groups of one link and the packets to the box, and send its answers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.peers.frr_router import router
from tests.support.daemon import Client
from tests.support.live_box import BOX, PEER, RED_HOST, RED_TAP, live_box
from tests.support.managed import managed
from tests.support.namespaces import Host, hosts
from tests.support.senders import PING

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
BGP = """router bgp {own_as}
 bgp router-id {own}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor {other} remote-as {other_as}
 neighbor {other} timers connect 1
 address-family ipv4 unicast
"""


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
        near = BGP.format(own_as=65001, own=OWN, other=RED_HOST, other_as=65002) + "  network 0.0.0.0/0\n"
        far = BGP.format(own_as=65002, own=RED_HOST, other=OWN, other_as=65001)
        far += "".join(f"  network 10.{20 + n // 256}.{n % 256}.0/24\n" for n in range(ROUTES))
        with router(box, bgpd=near) as ours, router(red, bgpd=far) as theirs:
            ours.wait("ip route bgp", lambda shown: len(shown) == ROUTES)
            theirs.wait("ip route bgp", lambda shown: "0.0.0.0/0" in shown)
            assert box.run("ip", "route", "show", "proto", "bgp").count(f"via {RED_HOST} dev sp-red") == ROUTES
            assert red.python(PING, PEER, 3) == "3\n"
        counters = count()
        assert counters["punt_local"] >= 5 and counters["drop_policy"] == counters["drop_punt_local"] == 0
