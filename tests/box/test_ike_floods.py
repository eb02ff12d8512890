# SPDX-License-Identifier: Apache-2.0
"""Messages of peers, and of initiators that have the box's answer, beside a flood of junk to the
ports of IKE."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.punts import Punted, punted
from tests.support.reference import FAR, FAR_V6, NEAR, NEAR_V6, Tunnel

V6 = Tunnel(spi_out=0x1003, spi_in=0x2003, near=NEAR_V6, far=FAR_V6)
ROUTER = Tunnel().batch("198.18.0.0/16", "198.19.0.0/16", "198.19.0.0/16") + V6.batch(
    "2001:db8:a::/48", "2001:db8:b::/48", "2001:db8:b::/48"
)
ETHERNET = Ether(dst="02:00:00:00:00:62", src="02:00:00:00:00:99")
BURST = 1024  # of a policer, after reset
JUNK = 1100
NON_ESP = bytes(4)


def to_ike(source: str, message: bytes, port: int = 500) -> Packet:
    """A message of IKE: to port 4500 behind the non-ESP marker (RFC 3948 2.2)."""
    ip = IPv6(src=source, dst=NEAR_V6) if ":" in source else IP(src=source, dst=NEAR)
    return ETHERNET / ip / UDP(sport=port, dport=port) / Raw((NON_ESP if port == 4500 else b"") + message)


def punts(folder: Path, messages: list[Packet]) -> list[Punted]:
    boxes.run([ROUTER], {"box0.black": messages}, ["box0.outer.punt"], folder, boxes.next_hops)
    return punted(folder, "outer")


def junk(number: int, port: int) -> Packet:
    """A first message, as far as its header, from one of many hosts."""
    header = bytes([1 + number % 255]) * 8 + bytes(8) + b"\x21\x20\x22\x08" + bytes(8)
    return to_ike(f"203.0.113.{number % 254 + 1}", header + bytes(number % 100), port)


def beside_junk(honest: list[Packet], port: int) -> list[Packet]:
    """More junk than a policer's burst, with the honest messages among and behind it."""
    first = [junk(number, port) for number in range(JUNK)]
    half = len(honest) // 2
    return first[:500] + honest[:half] + first[500:] + honest[half:]


@pytest.mark.parametrize("port", [500, 4500])
def test_junk_hides_no_ike_of_a_peer(tmp_path: Path, port: int) -> None:
    honest = [to_ike(peer, bytes([n]) * 8 + bytes(80), port) for n in range(1, 11) for peer in (FAR, FAR_V6)]
    found = punts(tmp_path, beside_junk(honest, port))
    assert [p.frame for p in found if p.group == "ike"] == [bytes(frame) for frame in honest]
    assert len([p for p in found if p.reason == "ike_init"]) == BURST


@pytest.mark.parametrize("port", [500, 4500])
def test_junk_hides_no_initiator_with_an_answer(tmp_path: Path, port: int) -> None:
    """From addresses that are no peer's: with a responder's SPI, and with a cookie. Those that are
    cut short, or have neither, are as the junk."""
    strangers = ("198.51.100.7", "2001:db8:ce::7")
    spi, first = b"initiate", bytes(8)
    answered = [
        spi + bytes(7) + b"\x01" + b"\x2e\x20",
        spi + b"\x80" + bytes(7) + b"\x2e\x20",
        spi + first + b"\x29\x20",
    ]
    honest = [to_ike(host, start + bytes(10), port) for host in strangers for start in answered]
    neither = [
        to_ike(host, message, port)
        for host in strangers
        for message in (spi + first + b"\x21\x20" + bytes(10), *(start + bytes(9) for start in answered))
    ]
    found = punts(tmp_path, neither + beside_junk(honest, port))
    assert [p.frame for p in found if p.group == "ike_cookie"] == [bytes(frame).ljust(60, b"\0") for frame in honest]
    assert [p.frame for p in found if p.reason == "ike_init"][: len(neither)] == [
        bytes(frame).ljust(60, b"\0") for frame in neither
    ]
    assert not [p for p in found if p.reason == "ike"]


def test_each_reason_has_its_limit(tmp_path: Path) -> None:
    """And its counters, to the frame: below, at and above the burst."""
    message = b"initiate" + bytes(8) + b"\x21\x20" + bytes(10)
    answered = message[:15] + b"\x01" + message[16:]
    of = {
        "ike": to_ike(FAR, message),
        "ike_cookie": to_ike("198.51.100.7", answered),
        "ike_init": to_ike("198.51.100.7", message),
    }
    counts = {"ike": 6, "ike_cookie": 7, "ike_init": 8}

    def limited(sim: Simulator) -> None:
        boxes.next_hops(sim)
        for group in of:
            sim.sallyctl(0, "punt", "set", group, "rate", 5, "burst", 7)

    frames = {"box0.black": [of[group] for group, count in counts.items() for _ in range(count)]}
    seen = boxes.run([ROUTER], frames, ["box0.outer.punt"], tmp_path, limited)
    assert seen.named == [
        {"outer.punt_ike": 6, "outer.punt_ike_cookie": 7, "outer.punt_ike_init": 7, "outer.drop_punt_ike_init": 1}
    ]
