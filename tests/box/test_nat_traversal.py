# SPDX-License-Identifier: Apache-2.0
"""ESP in UDP (RFC 3948) through one box, judged by scapy both ways; other packets to the port are
dropped or punted by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support.frames import write_frames
from tests.support.reference import (
    FAR,
    FAR_V6,
    NATT_PORT,
    NEAR,
    NEAR_V6,
    Tunnel,
    esp_payload,
    forwarded,
    with_udp_checksum,
)
from tests.support.replay import Box, quiet_cycles

FAR_PORT = 61_000  # where a NAT has moved the peer's port 4500
TUNNEL = Tunnel(far_port=FAR_PORT)
V6_TUNNEL = Tunnel(far_port=FAR_PORT, near=NEAR_V6, far=FAR_V6)
PLAIN = Tunnel(spi_out=0x3003, spi_in=0x4004)
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
SIZES = [0, 1, 21, 22, 23, 100, 1000, 1400, 1472, 9000]


def packets(src: str, dst: str) -> list[Packet]:
    """UDP packets of every kind of length, one of them itself between ports 4500."""
    ports = [(7, 9)] * (len(SIZES) - 1) + [(NATT_PORT, NATT_PORT)]
    return [
        IP(src=src, dst=dst, id=size) / UDP(sport=sport, dport=dport) / Raw(bytes(size))
        for size, (sport, dport) in zip(SIZES, ports, strict=True)
    ]


def wire(packet: Packet, tunnel: Tunnel = TUNNEL, sequence: int = 100) -> Packet:
    return ETHERNET / tunnel.peer_sender().encrypt(packet, seq_num=sequence)


def datagram(payload: bytes, **header: int) -> Packet:
    """What a peer behind a NAT sends to the box's port 4500."""
    return ETHERNET / IP(src=FAR, dst=NEAR) / UDP(sport=FAR_PORT, dport=NATT_PORT, **header) / Raw(payload)


def test_scapy_decrypts_esp_in_udp(make_box) -> None:
    inner = packets("198.18.0.1", "198.19.0.1")
    outcome = make_box(TUNNEL.batch()).red([ETHERNET / packet for packet in inner])
    peer = TUNNEL.peer_receiver()
    received = []
    for number, frame in enumerate(outcome.out, start=1):
        outer = esp_payload(frame)
        assert (outer.src, outer.dst, outer.proto) == (NEAR, FAR, 17)
        udp = outer[UDP]
        assert (udp.sport, udp.dport, udp.chksum, udp.len) == (NATT_PORT, FAR_PORT, 0, outer.len - 20)
        assert outer[ESP].seq == number
        received.append(bytes(peer.decrypt(outer)))
    assert received == [forwarded(bytes(packet)) for packet in inner]
    assert outcome.named() == {}


def test_scapy_decrypts_esp_in_udp_over_ipv6(make_box) -> None:
    """There the checksum is that of the datagram (RFC 8200 8.1), as Linux's is."""
    inner = packets("198.18.0.1", "198.19.0.1")
    outcome = make_box(V6_TUNNEL.batch()).red([ETHERNET / packet for packet in inner])
    peer = V6_TUNNEL.peer_receiver()
    outers = [esp_payload(frame) for frame in outcome.out]
    assert {(outer.src, outer.dst, outer.nh) for outer in outers} == {(NEAR_V6, FAR_V6, 17)}
    assert {(outer[UDP].sport, outer[UDP].dport) for outer in outers} == {(NATT_PORT, FAR_PORT)}
    assert outers == [with_udp_checksum(outer) for outer in outers]
    assert all(outer[UDP].chksum for outer in outers)
    assert [bytes(peer.decrypt(outer)) for outer in outers] == [forwarded(bytes(packet)) for packet in inner]
    assert outcome.named() == {}


def test_scapy_esp_in_udp_over_ipv6_is_decrypted(make_box) -> None:
    """Whatever the checksum: ESP has an ICV, and a tunnel may do without (RFC 6935)."""
    inner = packets("198.19.0.1", "198.18.0.1")
    peer = V6_TUNNEL.peer_sender()
    frames = [ETHERNET / with_udp_checksum(peer.encrypt(packet)) for packet in inner]
    frames[1][UDP].chksum = 0
    frames[2][UDP].chksum ^= 1
    frames[3][UDP].sport = 1024
    outcome = make_box(V6_TUNNEL.batch()).black(frames)
    expected = [forwarded(bytes(packet)) for packet in inner]
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {}


def test_scapy_esp_in_udp_is_decrypted(make_box) -> None:
    inner = packets("198.19.0.1", "198.18.0.1")
    peer = TUNNEL.peer_sender()
    frames: list[Packet] = [ETHERNET / peer.encrypt(packet) for packet in inner]
    frames[1][UDP].chksum = 0x1234  # not the receiver's business (RFC 3948 2.1)
    frames[2][UDP].sport = 1024  # a NAT that has changed its mind
    outcome = make_box(TUNNEL.batch()).black(frames)
    expected = [forwarded(bytes(packet)) for packet in inner]
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {}


CASES = {
    "keepalive": (datagram(b"\xff"), "outer.drop_natt_keepalive"),
    "two bytes of it": (datagram(b"\xff\xff"), "outer.drop_esp_truncated"),
    "IKE": (datagram(bytes(4) + b"\x01" * 28), "outer.punt_ike"),
    "marker cut": (datagram(bytes(3)), "outer.drop_esp_truncated"),
    "7 bytes": (datagram(b"\x00\x00\x20\x02\x00\x00\x00"), "outer.drop_esp_truncated"),
    "UDP length above": (datagram(bytes(40), len=49), "outer.drop_udp_malformed"),
    "UDP length below": (datagram(bytes(40), len=47), "outer.drop_udp_malformed"),
    "unknown SPI": (datagram(b"\x00\x00\x00\x07" + bytes(60)), "outer.punt_unknown_spi"),
}


def refused(box: Box, frame: bytes | Packet) -> dict[str, int]:
    """The counters of one frame among good ones, which must not suffer."""
    inner = packets("198.19.0.1", "198.18.0.1")[:2]
    frames = [wire(inner[0], sequence=1), frame, wire(inner[1], sequence=2)]
    outcome = box.black(frames)
    assert [out[14:][: len(packet)] for out, packet in zip(outcome.out, inner, strict=True)] == [
        forwarded(bytes(packet)) for packet in inner
    ]
    return outcome.named()


@pytest.mark.parametrize("name", CASES)
def test_what_is_no_esp_is_told_from_it(make_box, name: str) -> None:
    frame, counter = CASES[name]
    assert refused(make_box(TUNNEL.batch()), frame) == {counter: 1}


@pytest.mark.parametrize("into_udp", [True, False], ids=["plain SA", "SA in UDP"])
def test_encapsulation_must_be_that_of_the_sa(make_box, into_udp: bool) -> None:
    """ESP of a plain SA does not pass in UDP, nor that of an SA in UDP without it."""
    batch = TUNNEL.batch(src="198.18.0.0/17", back="198.19.0.0/16") + PLAIN.lines(
        "198.18.128.0/17", "0.0.0.0/0", "198.20.0.0/16"
    )
    tunnel = PLAIN if into_udp else TUNNEL
    source = "198.20.0.1" if into_udp else "198.19.0.1"
    esp = wire(IP(src=source, dst="198.18.0.1") / UDP() / Raw(bytes(50)), tunnel)[ESP]
    wrong = (
        IP(src=FAR, dst=NEAR) / UDP(sport=FAR_PORT, dport=NATT_PORT, chksum=0) if into_udp else IP(src=FAR, dst=NEAR)
    )
    assert refused(make_box(batch), ETHERNET / wrong / esp) == {"outer.drop_encap_mismatch": 1}


MOVED, FORGER = ("198.51.100.7", 1024), ("203.0.113.9", NATT_PORT)


def sent_from(peer: tuple[str, int], sequence: int) -> bytes:
    """A packet of scapy's that a NAT gave this source address and port."""
    frame = wire(packets("198.19.0.1", "198.18.0.1")[5], sequence=sequence)
    frame[IP].src, frame[UDP].sport = peer
    del frame[IP].chksum
    return bytes(frame)


def forged(peer: tuple[str, int], sequence: int) -> bytes:
    """The same with an ICV that is wrong in a bit."""
    good = sent_from(peer, sequence)
    return good[:-1] + bytes([good[-1] ^ 1])


def test_only_an_authentic_peer_has_moved(tmp_path: Path) -> None:
    """Every step is one replay, and what `sallyctl events` prints then."""
    home = (FAR, FAR_PORT)
    other_port = (FAR, FAR_PORT + 1)

    def change(peer: tuple[str, int]) -> str:
        sa = f"src {FAR} dst {NEAR} proto esp spi 0x{TUNNEL.spi_in:08x} reqid {TUNNEL.spi_in} dir in"
        return f"Mapping change {FAR}:{FAR_PORT} -> {peer[0]}:{peer[1]} {sa}\n"

    steps = [
        ("the peer where it is expected", [sent_from(home, 1)], ""),
        ("forged alone", [forged(FORGER, 2)], ""),
        # Before and behind the authentic packet its own number; the last has a good ICV, as a copy
        # of it would have.
        (
            "forged around the peer's own",
            [forged(FORGER, 2), sent_from(MOVED, 2), forged(FORGER, 2), sent_from(other_port, 2)],
            change(MOVED),
        ),
        ("a copy alone", [sent_from(FORGER, 2)], ""),
        ("another port, many times", [sent_from(other_port, number) for number in range(3, 60)], change(other_port)),
        ("more forged than there are places", [forged((FORGER[0], port), 60) for port in range(1, 81)], ""),
        (
            "heard again after that, and left of the window",
            [sent_from(MOVED, 5000), sent_from(FORGER, 60)],
            change(MOVED),
        ),
        ("back home", [sent_from(home, 5001)], ""),
    ]
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        sim.batch(0, TUNNEL.batch().splitlines())
        sim.face_tester(0)
        for number, (name, frames, expected) in enumerate(steps):
            path = tmp_path / f"step{number}.pcap"
            write_frames(path, frames)
            inputs = [{"port": "box0.black", "file": str(path), "pacing": "original"}]
            assert sim.command("replay", inputs=inputs, quiet_cycles=quiet_cycles(TUNNEL.batch()))["quiescent"], name
            assert sim.sallyctl(0, "events") == expected, name
            assert sim.sallyctl(0, "events") == "", name
        counters = sim.counters(0)
        sim.command("quit")
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    assert counters["crypto"]["drop_dec_icv"] == 1 + 2 + 80
    assert counters["inner"]["drop_replayed"] == 2 and counters["inner"]["drop_too_old"] == 1
    assert counters["outer"]["tx_esp"] == sum(len(frames) for _, frames, _ in steps)
