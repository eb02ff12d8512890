# SPDX-License-Identifier: Apache-2.0
"""Linux behind one box hears by ICMP what the box at the far end of a tunnel could not do with its
packets (RFC 1812 5.3.1, 5.2.7.1; docs/reference/sallyportd-taps.md)."""

from __future__ import annotations

import time
from pathlib import Path

from scapy.layers.inet import ICMP, IP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether

from tests.support.namespaces import WAIT_S, hosts, skip_without_taps
from tests.support.reference import esp_payload
from tests.support.senders import HEAR, PING
from tests.support.two_boxes import MIRRORED, OWN, RED_TAPS, black, two_boxes

SILENT, STATION, STATION_MAC = "10.2.0.9", "10.2.0.8", "02:00:00:00:02:08"
ROUTES = {"10.2.5.0/24": ("prohibit", "3 13"), "10.2.6.0/24": ("unreachable", "3 1")}


def test_senders_behind_the_tunnel_hear_why(tmp_path: Path) -> None:
    """No TTL left, a host that does not answer, no route, and as Linux's routes say. The messages
    cross black in ESP, where scapy reads them."""
    record = tmp_path / "black.pcapng"
    with two_boxes(tmp_path, record=record) as (a, b):
        for prefix, (kind, _) in ROUTES.items():
            b.space.run("ip", "route", "add", kind, prefix)
        end = time.monotonic() + WAIT_S
        while not all(prefix in b.daemon.sallyctl("route", "show").stdout for prefix in ROUTES):
            assert time.monotonic() < end, b.daemon.log()
            time.sleep(0.1)
        heard = {
            SILENT: [a.space.python(HEAR, SILENT, ttl) for ttl in (1, 64)],
            "10.2.4.9": [a.space.python(HEAR, "10.2.4.9", 64)],
            **{prefix: [a.space.python(HEAR, prefix.replace(".0/24", ".9"), 64)] for prefix in ROUTES},
        }
        assert heard == {
            SILENT: [f"11 0 {OWN[1]}\n", f"3 1 {OWN[1]}\n"],
            "10.2.4.9": [f"3 0 {OWN[1]}\n"],
            **{prefix: [f"{told} {OWN[1]}\n"] for prefix, (_, told) in ROUTES.items()},
        }
        counted = b.counters()
        assert counted["punt_tunnel_ttl"] >= 1 and counted["punt_tunnel_host"] >= 2
        assert counted["tx_bypass"] == 0
    frames = black(record, 1)
    assert frames and all(ESP in Ether(frame) for frame in frames)
    inside = [MIRRORED.peer_receiver().decrypt(esp_payload(frame)) for frame in frames]
    assert {(packet[ICMP].type, packet[ICMP].code) for packet in inside} == {(11, 0), (3, 0), (3, 1), (3, 13)}
    assert {(packet[IP].src, packet[IP].dst) for packet in inside} == {(OWN[1], OWN[0])}


def test_the_first_packets_to_a_host_are_not_lost(tmp_path: Path) -> None:
    """They wait in the box until Linux has found the host."""
    skip_without_taps()
    with hosts("station") as (station,), two_boxes(tmp_path) as (a, b):
        station.take(RED_TAPS[1], f"{STATION}/24", mac=STATION_MAC)
        station.run("ip", "route", "add", "default", "via", OWN[1])
        assert a.space.python(PING, STATION, 3) == "3\n"
        counted = b.counters()
        assert counted["punt_tunnel_host"] >= 1 and counted["drop_unresolved"] == 0
        end = time.monotonic() + WAIT_S
        while f"{STATION} dev red lladdr {STATION_MAC}" not in b.daemon.sallyctl("neigh", "show").stdout:
            assert time.monotonic() < end, b.daemon.log()
            time.sleep(0.1)
        assert a.space.python(PING, STATION, 3) == "3\n"
        assert b.counters()["punt_tunnel_host"] == counted["punt_tunnel_host"]
