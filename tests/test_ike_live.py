"""From end to end: charon beside the daemon of a live box, whose IKE goes through the box itself, and a host behind it. The other gateway
is Debian's charon with strongSwan's own ESP (libipsec) on the black cable."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from charons import Charon, child, skip_without_strongswan
from daemon import Client, Daemon
from live_box import BOX, PEER, PEER_MAC, RED_HOST, RED_HOST_MAC, live_box
from namespaces import Host, hosts
from test_live import PING
from test_live_taps import taps

# How often each side rekeys each kind of SA under pings. CI has no time for more than one.
ROUNDS = int(os.environ.get("SALLYPORT_REKEYS", "1"))
BEHIND_PEER = "10.2.0.1"
LINES = f"""addr add {BOX[0][0]}/24 dev red
addr add {BOX[1][0]}/24 dev black
neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red
neigh add {PEER} lladdr {PEER_MAC} dev black
route add 10.2.0.0/16 via {PEER} dev black
"""
NET = "esp_proposals = aes256gcm16-noesn"


class Ends:
    """What the tests of this page have in common."""

    def __init__(self, daemon: Daemon, box: Charon, peer: Charon, red: Host) -> None:
        self.daemon, self.box, self.peer, self.red = daemon, box, peer, red

    def connect(self, options: str = "") -> None:
        self.box.load(child("net", 1, 2, NET), f"encap = yes\n {options}")
        self.peer.load(child("net", 2, 1, NET), "encap = yes")
        self.box.initiate("net")

    def ping(self, count: int = 3) -> None:
        """From the host behind the box, and to it: every one is answered."""
        assert self.red.python(PING, BEHIND_PEER, count) == f"{count}\n"
        assert self.peer.space.python(PING, RED_HOST, count) == f"{count}\n"

    def items(self, what: str) -> list[str]:
        client = Client(self.daemon.control)
        try:
            return client.get("list", what=what)["items"]
        finally:
            client.close()

    def spis(self) -> set[str]:
        return set(re.findall("spi (0x[0-9a-f]{8})", " ".join(self.items("state"))))


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    skip_without_strongswan()
    folder = tmp_path_factory.mktemp("live")
    with live_box(folder, lines=LINES) as (_, red, black), hosts("box") as (box,), taps(box, folder):
        daemon = Daemon(folder / "box0.sock", folder / "daemon", 30)
        daemon.start()
        charons = []
        try:
            black.run("ip", "addr", "add", f"{BEHIND_PEER}/32", "dev", "lo")
            black.run("ip", "route", "del", "10.1.0.0/24")
            for space in (box, black):
                space.run("ip", "link", "set", "lo", "up")
            charons.append(Charon(folder, box, (BOX[1][0], PEER), daemon.control))
            charons.append(Charon(folder, black, (PEER, BOX[1][0]), None))
            yield Ends(daemon, *charons, red)
        finally:
            for charon in charons:
                charon.kill()
            daemon.kill()


def test_tunnel(ends: Ends) -> None:
    """IKE in UDP at port 4500 through the box's punted frames, ESP in UDP through its chips: hosts at both ends reach each other."""
    ends.connect()
    ends.ping()
    (negotiated,) = ends.box.children()
    assert negotiated["encap"] == "yes" and len(ends.spis()) == 2 and len(ends.items("policy")) == 3
    assert [int(negotiated[f"packets-{way}"]) for way in ("in", "out")] == [6, 6]


def rekeyed(ends: Ends, charon: Charon, kind: str) -> None:
    """One rekey, to its end."""
    old = ends.spis()
    charon.mark()
    if kind == "child":
        charon.swanctl("--rekey", "--child", "net")
        charon.wait_for(lambda: len(ends.spis()) == 2 and not ends.spis() & old)
    else:
        charon.swanctl("--rekey", "--ike", "t")
        charon.wait_for_log(r"IKE_SA t\[\d+\] rekeyed between")


def test_rekeys_under_pings(ends: Ends) -> None:
    """Not one ping either way is lost while CHILD_SA and IKE_SA are rekeyed, from both sides."""
    with ThreadPoolExecutor() as pool:
        for kind in ("child", "ike") * ROUNDS:
            for charon in (ends.box, ends.peer):
                rekeying = pool.submit(rekeyed, ends, charon, kind)
                while not rekeying.done():
                    ends.ping(1)
                rekeying.result()
    ends.ping(1)


def test_delete(ends: Ends) -> None:
    """From each side: nothing is left in the box. Then the tunnel comes again."""
    for charon in (ends.peer, ends.box):
        charon.terminate()
        ends.box.wait_for(lambda: not ends.items("state") and not ends.items("policy"))
        ends.connect("dpd_delay = 4s")
    ends.ping(1)
    ends.box.mark()
    ends.box.wait_for_log("sending DPD request")
    ends.box.wait_for_log("parsed INFORMATIONAL response")
