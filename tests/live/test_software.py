# SPDX-License-Identifier: Apache-2.0
"""Software at the sockets of a box that runs live: registers, and frames of the management CPU,
while hosts ping through it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapNgReader

from tests.live.frames_client import BLACK, FramesClient, Punted, arp_reply
from tests.support.live_box import BOX, IKE, PEER, live_box, sallyctl
from tests.support.paths import ROOT
from tests.support.senders import PING

STATE = f"src {BOX[1][0]} dst {PEER} proto esp spi 0x77"
KEY = "0x" + bytes(range(36)).hex()
ARP_REASON, IKE_REASON = 1, 5
PINGS = 40


def management(punted: Punted) -> Packet | None:
    """ARP of both ports, and an answer to whatever comes to UDP port 500."""
    address, mac = BOX[punted.port]
    if punted.reason != IKE_REASON:
        return arp_reply(punted.frame, mac, address)
    asked = Ether(punted.frame)
    back = IP(src=asked[IP].dst, dst=asked[IP].src) / UDP(sport=500, dport=500)
    return Ether(src=mac, dst=asked.src) / back / Raw(b"yes: " + asked[Raw].load)


def test_software_configures_and_answers_while_ping_goes_on(tmp_path: Path) -> None:
    record = tmp_path / "session.pcapng"
    with live_box(tmp_path, "--record", record) as (run, red, black):
        assert f"sallyctl --socket {tmp_path}/box0.sock" in run.said()
        client = FramesClient(tmp_path / "box0.frames", management)
        with red.serving(sys.executable, "-c", PING, PEER, PINGS) as ping:
            counters = json.loads(sallyctl(tmp_path, "counters", "--json"))
            suite = ("aead", "rfc4106(gcm(aes))", KEY, 128)
            sallyctl(tmp_path, "xfrm", "state", "add", *STATE.split(), "mode", "tunnel", "dir", "out", *suite)
            listed = sallyctl(tmp_path, "xfrm", "state", "list")
            ike = black.python(IKE, BOX[1][0])
            sallyctl(tmp_path, "xfrm", "state", "delete", *STATE.split())
            listed_after = sallyctl(tmp_path, "xfrm", "state", "list")
            assert ping.stdout is not None
            pinged = ping.stdout.read()
        # A client that comes second is refused, and the first one stays.
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as second:
            second.connect(str(tmp_path / "box0.frames"))
            assert second.recv(100) == b""
        client.close()
        status, said = run.stop(signal.SIGTERM)
    assert pinged == f"{PINGS}\n"
    assert ike == f"yes: are you there {BOX[1][0]} 500\n"
    assert set(counters) >= {"inner", "crypto", "outer"}
    assert "0x00000077" in listed and "0x00000077" not in listed_after
    assert status == 0, said
    assert "conservation: " in said and "drop_" not in said
    assert "software: " in said and "frames injected" in said
    ports = {punted.port for punted in client.seen if punted.reason == ARP_REASON}
    assert ports == {0, 1}
    ike_frames = [punted for punted in client.seen if punted.reason == IKE_REASON]
    assert [punted.port for punted in ike_frames] == [BLACK]
    # The punted frames are those that the peer sent, and the injected ones are those that left
    # the box.
    with RawPcapNgReader(str(record)) as reader:
        crossed = [((about.ifname or b"").decode(), about.direction, data) for data, about in reader]
    for punted in client.seen:
        assert ("box0.black" if punted.port else "box0.red", 1, punted.frame) in crossed
    answers = [data for port, direction, data in crossed if port == "box0.black" and direction == 2]
    assert any(b"yes: are you there" in data for data in answers)
    replayed = subprocess.run(
        [ROOT / "sallyport", "live", "--xfrm", tmp_path / "box.xfrm", "--replay", record],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert replayed.returncode == 2
    assert "software accessed registers or injected frames in this run" in replayed.stderr
