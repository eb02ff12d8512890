"""Software at the sockets of a box that runs live: registers, and frames of the management CPU, while hosts ping through it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from frames_client import BLACK, FramesClient, Punted, arp_reply
from namespaces import PREFIX, WAIT_S, Host, hosts, live, skip_without_taps
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapNgReader
from test_live import PING

RED_TAP, BLACK_TAP = f"{PREFIX}r", f"{PREFIX}b"
RED_HOST, PEER = "10.1.0.2", "192.0.2.2"
RED_HOST_MAC, PEER_MAC = "02:00:00:00:01:02", "02:00:00:00:02:02"
BOX = {0: ("10.1.0.1", "02:72:0a:01:00:01"), 1: ("192.0.2.1", "02:62:c0:00:02:01")}
BATCH = f"""addr add {BOX[0][0]}/24 dev red
addr add {BOX[1][0]}/24 dev black
neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red
neigh add {PEER} lladdr {PEER_MAC} dev black
xfrm policy add src 10.1.0.0/24 dst 192.0.2.0/24 dir out action allow
xfrm policy add src 192.0.2.0/24 dst 10.1.0.0/24 dir in action allow
"""
STATE = f"src {BOX[1][0]} dst {PEER} proto esp spi 0x77"
KEY = "0x" + bytes(range(36)).hex()
ARP_REASON, IKE_REASON, ICMP_REASON = 1, 5, 6
PINGS = 40
# Sends a datagram from port 500 to port 500 of an address, and prints what comes back.
IKE = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.bind(("", 500))
    udp.settimeout(120)
    udp.sendto(b"are you there", (sys.argv[1], 500))
    data, where = udp.recvfrom(2000)
    print(data.decode(), *where)
"""


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    skip_without_taps()
    path = tmp_path / "box.xfrm"
    path.write_text(BATCH)
    return path


@pytest.fixture
def ends(batch: Path) -> Iterator[tuple[Host, Host]]:
    """The host behind the red port and the peer on black; their TAPs are taken by `plugged`."""
    with hosts("red", "black") as (red, black):
        yield red, black


def plugged(red: Host, black: Host) -> None:
    """The TAPs of the run are the hosts' now, which know the box's addresses and no MAC of it."""
    red.take(RED_TAP, f"{RED_HOST}/24", mac=RED_HOST_MAC)
    black.take(BLACK_TAP, f"{PEER}/24", mac=PEER_MAC)
    red.run("ip", "route", "add", "default", "via", BOX[0][0])
    black.run("ip", "route", "add", "10.1.0.0/24", "via", BOX[1][0])


def sallyctl(folder: Path, *words: object) -> str:
    return subprocess.run(
        [ROOT / "build/bin/sallyctl", "--socket", folder / "box0.sock", *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    ).stdout


def management(punted: Punted) -> Packet | None:
    """ARP of both ports, and an answer to whatever comes to UDP port 500."""
    address, mac = BOX[punted.port]
    if punted.reason != IKE_REASON:
        return arp_reply(punted.frame, mac, address)
    asked = Ether(punted.frame)
    back = IP(src=asked[IP].dst, dst=asked[IP].src) / UDP(sport=500, dport=500)
    return Ether(src=mac, dst=asked.src) / back / Raw(b"yes: " + asked[Raw].load)




def test_software_configures_and_answers_while_ping_goes_on(
    ends: tuple[Host, Host], batch: Path, tmp_path: Path
) -> None:
    red, black = ends
    record = tmp_path / "session.pcapng"
    taps = ("--red-tap", RED_TAP, "--black-tap", BLACK_TAP)
    with live("--xfrm", batch, *taps, "--socket-dir", tmp_path, "--record", record) as run:
        assert f"sallyctl --socket {tmp_path}/box0.sock" in run.said()
        client = FramesClient(tmp_path / "box0.frames", management)
        plugged(red, black)
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
    # What was punted is what the peer sent, and what was injected is what left the box.
    with RawPcapNgReader(str(record)) as reader:
        crossed = [((about.ifname or b"").decode(), about.direction, data) for data, about in reader]
    for punted in client.seen:
        assert ("box0.black" if punted.port else "box0.red", 1, punted.frame) in crossed
    answers = [data for port, direction, data in crossed if port == "box0.black" and direction == 2]
    assert any(b"yes: are you there" in data for data in answers)
    replayed = subprocess.run(
        [ROOT / "sallyport", "live", "--xfrm", batch, "--replay", record],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert replayed.returncode == 2
    assert "software accessed registers or injected frames in this run" in replayed.stderr
