# SPDX-License-Identifier: Apache-2.0
"""Linux behind one box reaches Linux behind another through the tunnel between them
(docs/reference/sallyportd-taps.md): the boxes' own addresses, and nothing of it in clear."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP

from sallyport.simulator import simulation
from tests.support.reference import esp_payload
from tests.support.senders import PING
from tests.support.two_boxes import MIRRORED, OWN, TUNNEL, black, two_boxes

PINGS = 5
# Says how a datagram to port 7 came in, and answers it; then the same for the next.
ECHO = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.setsockopt(socket.SOL_SOCKET, 25, b"sp-vpn")  # SO_BINDTODEVICE
    udp.bind((sys.argv[1], 7))
    print("ready", flush=True)
    while True:
        data, where = udp.recvfrom(2000)
        udp.sendto(data[::-1], where)
"""
ASK = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.settimeout(120)
    udp.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, int(sys.argv[2]))
    udp.sendto(b"abc", (sys.argv[1], 7))
    print(udp.recvfrom(2000)[0].decode())
"""


@pytest.mark.parametrize("chips", ["core", "shell"])
def test_box_to_box_through_their_tunnel(tmp_path: Path, chips: str) -> None:
    """Pings and datagrams, with a TTL of 1, too; scapy decrypts each of them on the black cable.
    With shells around the chips Linux's packets go by the mailboxes of cards."""
    simulation(None, chips, "standard")
    record = tmp_path / "black.pcapng"
    with two_boxes(tmp_path, record=record, chips=chips) as (a, b):
        assert a.space.python(PING, OWN[1], PINGS) == f"{PINGS}\n"
        assert b.space.python(PING, OWN[0], PINGS) == f"{PINGS}\n"
        with b.space.serving("python3", "-c", ECHO, OWN[1]) as server:
            assert server.stdout is not None and server.stdout.readline() == "ready\n"
            for ttl in (1, 255):
                assert a.space.python(ASK, OWN[1], ttl) == "cba\n"
        for box in (a, b):
            counted = box.counters()
            # The kernels also send what the policies have no answer for.
            assert counted["inject_packets"] >= 2 * PINGS + 2
            assert counted["punt_tunnel"] == counted["link_rx_packets"] == 2 * PINGS + 2
            assert counted["tx_protect"] == 2 * PINGS + 2 and counted["tx_bypass"] == counted["inject_frames"] == 0
    for number, tunnel in enumerate((TUNNEL, MIRRORED)):
        peer = tunnel.peer_receiver()
        inside = [peer.decrypt(esp_payload(frame)) for frame in black(record, number)]
        assert {(bytes(p)[12:16], p[IP].src, p[IP].dst) for p in inside} == {
            (bytes(map(int, OWN[number].split("."))), OWN[number], OWN[1 - number])
        }
        assert len([p for p in inside if ICMP in p]) == 2 * PINGS
        assert {p[IP].ttl for p in inside} == ({1, 64, 255} if number == 0 else {64})
