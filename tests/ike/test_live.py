# SPDX-License-Identifier: Apache-2.0
"""From end to end, with a host behind a live box and strongSwan's own ESP at the other side:
tests/ike/ends.py."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.ike.ends import BEHIND_PEER, Ends, live_ends
from tests.support.registers import Registers
from tests.support.senders import SEND

DATA = 20_000  # bytes
SINK = """
import hashlib, socket, sys
with socket.create_server((sys.argv[1], 5001)) as server:
    print("ready", flush=True)
    connection, _ = server.accept()
    data = connection.makefile("rb").read()
    print(len(data), hashlib.sha256(data).hexdigest(), flush=True)
"""
SOURCE = f"""
import socket, sys
with socket.create_connection((sys.argv[1], 5001)) as connection:
    connection.sendall(bytes({DATA}))
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    with live_ends(tmp_path_factory.mktemp("live")) as both:
        yield both


@pytest.fixture
def connected(ends: Ends) -> Ends:
    """The same with a tunnel, also if a test is run alone."""
    if not ends.spis():
        ends.load()
        ends.box.initiate("net")
        ends.settle()
    return ends


def test_acquire(ends: Ends) -> None:
    """A packet from the host without an SA has charon make the tunnel. IKE goes through the box's
    punted frames at ports 500 and 4500, ESP in UDP through its chips. The test writes no MAC
    address of the peer."""
    ends.load("start_action = trap")
    ends.box.wait_for(lambda: len(ends.items("policy")) == 2)
    assert not ends.spis()
    ends.red.python(SEND, BEHIND_PEER)
    ends.box.wait_for_log("creating acquire job for policy")
    ends.box.wait_for(lambda: "state=INSTALLED" in ends.box.swanctl("--list-sas", "--raw"))
    ends.settle()
    before = [int(ends.box.children()[0][f"packets-{way}"]) for way in ("in", "out")]
    ends.ping()
    (negotiated,) = ends.box.children()
    assert negotiated["encap"] == "yes" and len(ends.spis()) == 2 and len(ends.items("policy")) == 2
    assert [int(negotiated[f"packets-{way}"]) for way in ("in", "out")] == [count + 6 for count in before]


@pytest.mark.parametrize("rounds", [1, pytest.param(17, marks=pytest.mark.long)])
def test_rekeys_under_pings(connected: Ends, rounds: int) -> None:
    """Not one ping either way is lost while each side rekeys its CHILD_SA twice and the IKE_SA once
    a round."""
    ends = connected
    with ThreadPoolExecutor() as pool:
        for kind in ("child", "ike", "child") * rounds:
            for charon in (ends.box, ends.peer):
                rekeying = pool.submit(ends.rekey, charon, kind)
                while not rekeying.done():
                    ends.ping(1)
                rekeying.result()
    ends.ping(1)


def test_path_mtu(connected: Ends) -> None:
    """TCP from the host sends segments that are too long for the tunnel, with DF as ever, until it
    hears how long they may be, and then all of it arrives."""
    ends = connected
    with ends.peer.space.serving(sys.executable, "-c", SINK, BEHIND_PEER) as sink:
        assert sink.stdout is not None and sink.stdout.readline() == "ready\n"
        ends.red.python(SOURCE, BEHIND_PEER)
        assert sink.stdout.readline() == f"{DATA} {hashlib.sha256(bytes(DATA)).hexdigest()}\n"
    # 1300 less 20, 8 of UDP, 8, 8 and 16, which is a multiple of 4, less the trailer's 2.
    assert "mtu 1238" in ends.red.run("ip", "route", "get", BEHIND_PEER)


def test_reset_of_the_chips(connected: Ends) -> None:
    """One chip has lost everything: the daemon gives the box back its addresses, routes and
    neighbours, without which IKE would not reach it, and charon negotiates new SAs. The host's
    pings are answered again."""
    ends = connected
    before = ends.spis()
    with Registers(ends.daemon.registers) as registers:
        registers.write("crypto", "scratch", 0)
    ends.box.wait_for(lambda: len(ends.spis()) == 2 and not ends.spis() & before)
    # The peer sends by the lost SAs until it hears that they are gone.
    ends.peer.wait_for(lambda: len(ends.peer.children()) == 1)
    ends.settle()
    ends.ping(1)


def test_delete(connected: Ends) -> None:
    """From each side: nothing is left in the box. Then the tunnel comes again, and a peer that is
    silent is asked whether it lives."""
    ends = connected
    ends.load(options="encap = yes\n dpd_delay = 4s")
    ends.box.swanctl("--uninstall", "--child", "net", check=False)
    for charon in (ends.peer, ends.box):
        charon.terminate()
        ends.box.wait_for(lambda: not ends.items("state") and not ends.items("policy"))
        ends.peer.wait_for(lambda: not ends.peer.children())
        ends.box.initiate("net")
    ends.settle()
    ends.ping(1)
    ends.box.mark()
    ends.box.wait_for_log("sending DPD request")
    ends.box.wait_for_log("parsed INFORMATIONAL response")
