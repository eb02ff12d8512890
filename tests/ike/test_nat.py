# SPDX-License-Identifier: Apache-2.0
"""A peer behind a NAT, which is known by its certificate."""

from __future__ import annotations

import re
import time
from pathlib import Path

from tests.ike.certificates import certify
from tests.ike.ends import Ends, live_ends, translate
from tests.support.live_box import RED_HOST
from tests.support.senders import SEND


def port(ends: Ends) -> int:
    """The peer's, that both SAs of the box have."""
    pairs = re.findall(r"encap type espinudp sport (\d+) dport (\d+)", " ".join(ends.items("state")))
    (found,) = {port for pair in pairs for port in pair} - {"4500"}
    assert sorted(pairs) == sorted([(found, "4500"), ("4500", found)])
    return int(found)


def remember(ends: Ends, seconds: int) -> None:
    """How long the NAT does, from the next packet on."""
    for name in ("udp_timeout", "udp_timeout_stream"):
        ends.router.run("sh", "-c", f"echo {seconds} > /proc/sys/net/netfilter/nf_conntrack_{name}")


def test_peer_behind_a_nat(tmp_path: Path) -> None:
    """NAT traversal is found to be needed; the box takes and sends ESP at the NAT's port; rekeys
    from both sides go through. When the NAT gives another port, the first packet from there is an
    event of the box, and the CHILD_SA is rekeyed to it."""
    with live_ends(tmp_path, nat=True) as ends:
        certify({charon.me: charon.folder for charon in (ends.box, ends.peer)})
        ends.load(options="remote_addrs = %any", auth="pubkey")
        ends.peer.initiate("net")
        ends.box.wait_for(lambda: len(ends.spis()) == 2 and len(ends.items("policy")) == 2)
        assert "with ECDSA_WITH_SHA384_DER successful" in ends.box.log()
        ends.settle()
        ends.ping()
        assert 20000 <= port(ends) <= 20999
        for charon in (ends.box, ends.peer):
            ends.rekey(charon, "child")
            ends.ping(1)

        old = ends.spis()
        remember(ends, 1)
        ends.ping(1)
        time.sleep(4)
        remember(ends, 60)
        translate(ends.router, 30000, 30999)
        ends.peer.space.python(SEND, RED_HOST)
        ends.box.wait_for_log("cannot move from .* under its key")
        ends.box.wait_for(lambda: len(ends.spis()) == 2 and not ends.spis() & old)
        assert 30000 <= port(ends) <= 30999
        ends.ping(1)
