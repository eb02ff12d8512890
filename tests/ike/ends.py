# SPDX-License-Identifier: Apache-2.0
"""A tunnel from end to end: charon beside the daemon of a live box, whose IKE goes through the box
itself, and a host behind it. The other gateway is Debian's charon with strongSwan's own ESP
(libipsec) on the black cable, behind a NAT or not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ike.charons import Charon, child, skip_without_strongswan
from tests.support.daemon import Client, Daemon
from tests.support.live_box import BLACK_TAP, BOX, PEER, RED_HOST, RED_HOST_MAC, live_box
from tests.support.managed import managed
from tests.support.namespaces import PREFIX, Host, hosts, ip
from tests.support.senders import PING

INSIDE = ("10.8.0.1", "10.8.0.2")  # of the NAT, and of a peer behind it
# What it makes of ports.
NAT = """flush ruleset
table ip nat {{
  chain postrouting {{
    type nat hook postrouting priority 100
    oifname "{device}" ip protocol udp masquerade to :{first}-{last}
  }}
}}
"""
BEHIND_PEER = "10.2.0.1"
LINES = f"""addr add {BOX[0][0]}/24 dev red
addr add {BOX[1][0]}/24 dev black
link set dev black mtu 1300
neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red
route add 10.2.0.0/16 via {PEER} dev black
"""
NET = "esp_proposals = aes256gcm16-noesn"


class Ends:
    """What the tests of this page have in common."""

    def __init__(self, daemon: Daemon, box: Charon, peer: Charon, red: Host, router: Host) -> None:
        self.daemon, self.box, self.peer, self.red, self.router = daemon, box, peer, red, router

    def load(self, words: str = "", options: str = "encap = yes", auth: str = "psk") -> None:
        """A connection at both sides; the words and options are the box's."""
        self.box.load(child("net", 1, 2, f"{NET}\n {words}"), options, auth)
        self.peer.load(child("net", 2, 1, NET), "encap = yes", auth)

    def rekey(self, charon: Charon, kind: str) -> None:
        """One rekey by one of the two, of the `child` or the `ike` SA, to its end."""
        old = self.spis()
        charon.mark()
        if kind == "child":
            charon.swanctl("--rekey", "--child", "net")
            charon.wait_for(lambda: len(self.spis()) == 2 and not self.spis() & old)
        else:
            charon.swanctl("--rekey", "--ike", "t")
            charon.wait_for_log(r"IKE_SA t\[\d+\] rekeyed between")

    def settle(self) -> None:
        """Until the box has the next hop of its SAs, which the daemon learns from Linux a moment
        after they come; packets sent before are dropped."""
        self.box.wait_for(lambda: f"{PEER} dev black lladdr" in self.daemon.sallyctl("neigh", "show").stdout)

    def ping(self, count: int = 3) -> None:
        """From the host behind the box, and to it: every one is answered."""
        for space, to in ((self.red, BEHIND_PEER), (self.peer.space, RED_HOST)):
            assert space.python(PING, to, count) == f"{count}\n", self.daemon.sallyctl("counters").stdout

    def items(self, what: str) -> list[str]:
        client = Client(self.daemon.control)
        try:
            return client.get("list", what=what)["items"]
        finally:
            client.close()

    def spis(self) -> set[str]:
        return set(re.findall("spi (0x[0-9a-f]{8})", " ".join(self.items("state"))))


@contextmanager
def live_ends(folder: Path, nat: bool = False) -> Iterator[Ends]:
    """Both gateways, without a connection."""
    skip_without_strongswan()
    if nat and shutil.which("nft") is None:
        pytest.skip("nftables is not installed")
    charons: list[Charon] = []
    with (
        live_box(folder, lines=LINES) as (_, red, black),
        hosts("box", "in") as (box, inside),
        managed(box, folder) as daemon,
    ):
        black.run("ip", "route", "del", "10.1.0.0/24")
        space, address = (inside, INSIDE[1]) if nat else (black, PEER)
        if nat:
            hide(black, inside)
            translate(black, 20000, 20999)
        space.run("ip", "link", "set", "lo", "up")
        space.run("ip", "addr", "add", f"{BEHIND_PEER}/32", "dev", "lo")
        try:
            charons.append(Charon(folder, box, (BOX[1][0], address), daemon.control))
            charons.append(Charon(folder, space, (address, BOX[1][0]), None))
            yield Ends(daemon, charons[0], charons[1], red, black)
        finally:
            for charon in charons:
                charon.kill()


def hide(router: Host, inside: Host) -> None:
    """Puts one host behind another."""
    ends = [f"{PREFIX}n{n}" for n in "ab"]
    ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    for space, end, address in zip((router, inside), ends, INSIDE, strict=True):
        space.take(end, f"{address}/24")
    inside.run("ip", "route", "add", "default", "via", INSIDE[0])
    router.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")


def translate(router: Host, first: int, last: int) -> None:
    """Makes it a NAT that gives UDP these ports. What it remembers keeps the port that it has."""
    router.run("nft", NAT.format(device=BLACK_TAP, first=first, last=last))
