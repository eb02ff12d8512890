"""Linux as the host behind a box's ports (`sallyctl taps`): the kernel answers ARP and ping for the box, and hears its IKE."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import ROOT
from live_box import BOX, IKE, PEER, PEER_MAC, RED_HOST, RED_HOST_MAC, live_box, sallyctl
from namespaces import WAIT_S, Host, hosts
from test_live import PING

# Answers one datagram to UDP port 500 of an address.
CHARON = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.bind((sys.argv[1], 500))
    print("ready", flush=True)
    data, where = udp.recvfrom(2000)
    udp.sendto(b"yes: " + data, where)
"""


@contextmanager
def taps(box: Host, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`sallyctl taps` in the box's namespace, whose devices have the box's addresses; it ends well."""
    process = subprocess.Popen(
        box.command(ROOT / "build/bin/sallyctl", "--socket", folder / "box0.sock", "taps"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        for port, device in enumerate(("sp-red", "sp-black")):
            address, mac = BOX[port]
            said = process.stdout.readline()
            assert said == f"{device}: address {mac} mtu 9582\n", said + process.stdout.read()
            box.run("ip", "addr", "add", f"{address}/24", "dev", device)
        yield process
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=WAIT_S)
        assert (process.returncode, rest) == (0, "")
    finally:
        process.kill()
        process.wait()


def test_linux_answers_for_the_box(tmp_path: Path) -> None:
    with live_box(tmp_path) as (run, red, black), hosts("box") as (box,):
        with taps(box, tmp_path):
            # The peer finds the box by ARP and pings its black address: both are punted, and the kernel answers.
            assert black.python(PING, BOX[1][0], 5) == "5\n"
            assert f"lladdr {BOX[1][1]}" in black.run("ip", "neigh", "show", BOX[1][0])
            assert f"dev sp-black lladdr {PEER_MAC}" in box.run("ip", "neigh", "show", PEER)
            # The red host finds it, too, and pings the peer through it.
            assert red.python(PING, PEER, 5) == "5\n"
            assert f"lladdr {BOX[0][1]}" in red.run("ip", "neigh", "show", BOX[0][0])
            assert f"dev sp-red lladdr {RED_HOST_MAC}" in box.run("ip", "neigh", "show", RED_HOST)
            with box.serving(sys.executable, "-c", CHARON, BOX[1][0]) as charon:
                assert charon.stdout is not None and charon.stdout.readline() == "ready\n"
                assert black.python(IKE, BOX[1][0]) == f"yes: are you there {BOX[1][0]} 500\n"
            counters = json.loads(sallyctl(tmp_path, "counters", "--json"))
        status, said = run.stop(signal.SIGTERM)
    assert status == 0 and "conservation: " in said and "drop_" not in said, said
    outer = counters["outer"]
    assert (outer["punt_icmp"], outer["punt_ike"]) == (5, 1)
    # Echo replies, the answer of IKE, and ARP.
    assert outer["inject_frames"] >= 5 + 1 + 1
    assert counters["inner"]["punt_arp"] >= 1 and counters["inner"]["inject_frames"] >= 1


def test_taps_are_refused_where_they_cannot_be(tmp_path: Path) -> None:
    for words, sentence in [
        (("taps",), "taps is for the simulator: give --socket PATH alone"),
        (("--pci", "a,b,c", "taps"), "taps is for the simulator: give --socket PATH alone"),
        (("--socket", tmp_path / "none", "taps", "now"), 'unknown command "now"'),
    ]:
        done = subprocess.run(
            [ROOT / "build/bin/sallyctl", *map(str, words)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2 and sentence in done.stderr, done.stderr
