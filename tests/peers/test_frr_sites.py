# SPDX-License-Identifier: Apache-2.0
"""Two sites, each a router and a box, all four FRR: a thousand networks of each site reach the
other one by BGP through the tunnel, and so does traffic to every one of them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sallyport.simulator import program
from tests.peers.frr_router import Router, router
from tests.support.namespaces import Host, hosts
from tests.support.senders import PING_EACH
from tests.support.two_boxes import MIRRORED, NETWORKS, OWN, RED_TAPS, TUNNEL, LiveBox, two_boxes

NEAR_ROUTER = ("10.1.0.2", "10.2.0.2")
# All networks of a site, a /24 each.
SITES = ("10.20.0.0/14", "10.120.0.0/14")
COUNT = 1000
BGP = """router bgp {own_as}
 bgp router-id {own}
 no bgp ebgp-requires-policy
 no bgp network import-check
"""
NEIGHBOUR = """ neighbor {other} remote-as {other_as}
 neighbor {other} timers connect 1
"""
# The address of a box is that of its port, not of the device of tunnels: FRR would send BFD of one
# hop there. So BFD is that of several hops (RFC 5883).
BY_TUNNEL = """ neighbor {other} update-source {own}
 neighbor {other} ebgp-multihop 2
 neighbor {other} bfd
 neighbor {other} bfd profile tunnel
"""
BFD = """bfd
 profile tunnel
  receive-interval 2000
  transmit-interval 2000
"""


def networks(site: int) -> list[str]:
    first = 20 + 100 * site
    return [f"10.{first + n // 256}.{n % 256}." for n in range(COUNT)]


def policies(own: int) -> str:
    """The tunnel carries the networks of sites and boxes. Only BGP says that the router has those
    of this site."""
    tunnel, far = (TUNNEL, MIRRORED)[own], 1 - own
    lines = ""
    for near, there in ((SITES[own], NETWORKS[far]), (NETWORKS[own], SITES[far]), (SITES[own], SITES[far])):
        for way, src, dst, start, end, spi in (
            ("out", near, there, tunnel.near, tunnel.far, tunnel.spi_out),
            ("in", there, near, tunnel.far, tunnel.near, tunnel.spi_in),
        ):
            lines += f"xfrm policy add src {src} dst {dst} dir {way} tmpl "
            lines += f"src {start} dst {end} proto esp reqid {spi} mode tunnel\n"
    return lines


def speaker(number: int, own: str, *neighbours: tuple[str, int, str], more: str = "") -> str:
    """bgpd's configuration; a neighbour is its address, its system and further lines."""
    lines = BGP.format(own_as=number, own=own)
    for other, system, further in neighbours:
        lines += NEIGHBOUR.format(other=other, other_as=system) + further.format(other=other, own=own)
    return f"{lines} address-family ipv4 unicast\n{more}"


@dataclass(frozen=True)
class Site:
    """A box and the router behind it, and the FRR of both."""

    box: LiveBox
    inside: Host
    at_box: Router
    at_router: Router

    def wait_for_chips(self) -> None:
        """Until they have the networks of this site."""
        asked = [program("sallyctl"), "--daemon", self.box.daemon.control, "route", "show"]
        for _ in range(240):
            shown = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
            if shown.count(" dev red proto bgp") == COUNT and "rt_offload_failed" not in shown:
                return
            time.sleep(0.5)
        raise AssertionError(f"routes of the chips: {shown[-2000:]}")


@contextmanager
def sites(folder: Path) -> Iterator[list[Site]]:
    with hosts("ra", "rb") as inside, two_boxes(folder, more=policies) as boxes, ExitStack() as running:
        made = []
        for own, (box, host) in enumerate(zip(boxes, inside, strict=True)):
            # Simulated time is slow: frames would still wait for their turn at the end of the run.
            limit = ("punt", "set", "inject", "rate", "unlimited", "dev", "red")
            subprocess.run([program("sallyctl"), "--daemon", box.daemon.control, *limit], check=True)
            host.take(RED_TAPS[own], f"{NEAR_ROUTER[own]}/24")
            host.run("ip", "link", "set", "lo", "up")
            # The router answers for every host of its networks.
            host.run("ip", "route", "add", "local", SITES[own], "dev", "lo")
            far = (OWN[1 - own], 65002 - own, BY_TUNNEL)
            near = (NEAR_ROUTER[own], 65011 + own, "")
            told = "".join(f"  network {network}0/24\n" for network in networks(own))
            at_box = speaker(65001 + own, OWN[own], far, near, more=f"  network {NETWORKS[own]}\n")
            at_router = speaker(65011 + own, NEAR_ROUTER[own], (OWN[own], 65001 + own, ""), more=told)
            made.append(
                Site(
                    box,
                    host,
                    running.enter_context(router(box.space, bfdd=BFD, bgpd=at_box)),
                    running.enter_context(router(host, bgpd=at_router)),
                )
            )
        yield made


def test_traffic_goes_to_every_network_that_bgp_tells_of(tmp_path: Path) -> None:
    with sites(tmp_path) as both:
        for site in both:
            # Of both sites at a box, of the other one at a router, with the networks behind red.
            site.at_box.wait("ip route bgp", lambda shown: len(shown) == 2 * COUNT + 1)
            site.at_router.wait("ip route bgp", lambda shown: len(shown) == COUNT + 2)
            site.wait_for_chips()
        for own, site in enumerate(both):
            far = 1 - own
            table = site.inside.run("ip", "route", "show", "proto", "bgp")
            assert table.count(f"via {OWN[own]} dev {RED_TAPS[own]}") == COUNT + 2
            before = site.box.counters()["tx_protect"]
            addresses = [f"{network}{1 + n % 254}" for n, network in enumerate(networks(far))]
            assert site.inside.python(PING_EACH, *addresses) == f"{COUNT}\n"
            # The box's own Linux goes by the kernel's routes. Its answers are policed, in the time
            # of the simulation, which passes slowly: it asks ten.
            assert site.box.space.python(PING_EACH, *addresses[:: COUNT // 10]) == "10\n"
            assert site.box.counters()["tx_protect"] - before >= COUNT + 10
        for site in both:
            counters = site.box.counters()
            assert counters["tx_bypass"] == counters["drop_selector_mismatch"] == counters["drop_punt_tunnel"] == 0


def test_bfd_through_the_tunnel_tells_that_the_far_box_is_gone(tmp_path: Path) -> None:
    with sites(tmp_path) as (near, far):
        for site in (near, far):
            site.at_box.wait("bfd peers", lambda shown: [peer["status"] for peer in shown] == ["up"])
        far.at_box.kill("bfdd")
        near.at_box.wait("bfd peers", lambda shown: [peer["status"] for peer in shown] == ["down"])
        # Cease, BFD Down (RFC 9384).
        down = "060A"
        near.at_box.wait(f"bgp neighbors {OWN[1]}", lambda shown: shown[OWN[1]].get("lastErrorCodeSubcode") == down)
