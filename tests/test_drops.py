"""Every way a packet can be bad: dropped under its own counter on its own chip, and the good traffic beside it untouched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest
from conftest import write_frames
from reference import FAR, NEAR, Tunnel, esp_payload, forwarded
from sallyport.simulator import TESTER_MAC, Simulator
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

TUNNEL = Tunnel()
BATCH = TUNNEL.batch(src="198.18.0.0/16", dst="198.19.0.0/16", back="198.19.0.0/16")
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
GOOD_BEFORE, GOOD_AFTER = 3, 3


def red_packet(number: int, **header: int | str) -> Packet:
    fields = {"src": "198.18.0.1", "dst": "198.19.0.1", "id": number} | header
    return IP(**fields) / UDP(sport=7, dport=9) / Raw(bytes([number % 256]) * 100)


def black_packet(number: int) -> Packet:
    return red_packet(number, src="198.19.0.1", dst="198.18.0.1")


def wire(packet: Packet, sequence: int) -> Ether:
    return ETHERNET / TUNNEL.peer_sender().encrypt(packet, seq_num=sequence)


def cut(frame: Packet, payload: int) -> bytes:
    """The frame with its IP packet cut to a header and `payload` bytes, lengths and checksum made right again."""
    outer = IP(src=frame[IP].src, dst=NEAR, proto=50) / Raw(bytes(frame[IP].payload)[:payload])
    return bytes(ETHERNET / outer).ljust(60, b"\0")


def flipped(frame: Packet, position: int) -> bytes:
    data = bytearray(bytes(frame))
    data[position] ^= 0x10
    return bytes(data)


@dataclass(frozen=True)
class Case:
    """One kind of bad frame: `bad(n)` makes it when n good packets went before; `counter` is where it must be counted."""

    counter: str
    bad: Callable[[], bytes | Packet]
    options: tuple[str, ...] = field(default=())


def good_count(number: int) -> int:
    """Sequence numbers of the good packets: 2001 to 2006, so that low numbers are older than the window."""
    return 2001 + number


BLACK = {
    "bad ICV": Case("crypto.drop_dec_icv", lambda: flipped(wire(black_packet(99), 2500), -1)),
    "bad ciphertext": Case("crypto.drop_dec_icv", lambda: flipped(wire(black_packet(99), 2500), 60)),
    "replayed": Case("inner.drop_replayed", lambda: wire(black_packet(0), good_count(0))),
    "too old": Case("inner.drop_too_old", lambda: wire(black_packet(99), good_count(GOOD_BEFORE - 1) - 1024)),
    "unknown SPI for another box": Case(
        "outer.drop_unknown_spi",
        lambda: ETHERNET / IP(src="192.0.2.2", dst="192.0.2.77") / ESP(spi=7, seq=1, data=bytes(64)),
    ),
    "truncated": Case("outer.drop_esp_truncated", lambda: cut(wire(black_packet(99), 2500), 20)),
    "wrong selector": Case(
        "inner.drop_selector_mismatch", lambda: wire(red_packet(99, src="203.0.113.5", dst="198.18.0.1"), 2500)
    ),
    "wrong outer IP checksum": Case("outer.drop_ip_checksum", lambda: flipped(wire(black_packet(99), 2500), 25)),
    "wrong inner IP checksum": Case(
        "inner.drop_inner_checksum", lambda: wire(red_packet(9, src="198.19.0.1", chksum=0xBEEF), 2500)
    ),
    "inner TTL 1": Case("inner.drop_inner_ttl_expired", lambda: wire(red_packet(9, src="198.19.0.1", ttl=1), 2500)),
    "oversize": Case("outer.drop_rx_oversize", lambda: bytes(ETHERNET) + bytes(9583)),
    "undersize": Case("outer.drop_rx_undersize", lambda: wire(black_packet(99), 2500), ("--fault", "undersize:4")),
    "bad FCS": Case("outer.drop_rx_bad_fcs", lambda: wire(black_packet(99), 2500), ("--fault", "bad-fcs:4")),
}

RED = {
    "no policy": Case("inner.drop_policy", lambda: ETHERNET / red_packet(99, dst="203.0.113.9")),
    "wrong IP checksum": Case("inner.drop_ip_checksum", lambda: ETHERNET / red_packet(99, chksum=0xBEEF)),
    "TTL 0": Case("inner.drop_ttl_expired", lambda: ETHERNET / red_packet(99, ttl=0)),
    "TTL 1": Case("inner.drop_ttl_expired", lambda: ETHERNET / red_packet(99, ttl=1)),
    "IP length beyond the frame": Case("inner.drop_ip_malformed", lambda: ETHERNET / red_packet(99, len=2000)),
    "fragment of odd length": Case("inner.drop_reasm_length", lambda: ETHERNET / red_packet(99, flags="MF")),
    "oversize": Case("inner.drop_rx_oversize", lambda: bytes(ETHERNET) + bytes(9583)),
    "undersize": Case("inner.drop_rx_undersize", lambda: ETHERNET / red_packet(99), ("--fault", "undersize:4")),
    "bad FCS": Case("inner.drop_rx_bad_fcs", lambda: ETHERNET / red_packet(99), ("--fault", "bad-fcs:4")),
}


@pytest.mark.parametrize("name", BLACK)
def test_black_frame_is_dropped_by_name(make_box, name: str) -> None:
    case = BLACK[name]
    good = [black_packet(number) for number in range(GOOD_BEFORE + GOOD_AFTER)]
    frames = [wire(packet, good_count(number)) for number, packet in enumerate(good)]
    frames.insert(GOOD_BEFORE, case.bad())
    outcome = make_box(BATCH).black(frames, *case.options)
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(packet)) for packet in good]
    assert outcome.named() == {case.counter: 1}


@pytest.mark.parametrize("name", RED)
def test_red_frame_is_dropped_by_name(make_box, name: str) -> None:
    case = RED[name]
    good = [red_packet(number) for number in range(GOOD_BEFORE + GOOD_AFTER)]
    frames = [ETHERNET / packet for packet in good]
    frames.insert(GOOD_BEFORE, case.bad())
    outcome = make_box(BATCH).red(frames, *case.options)
    peer = TUNNEL.peer_receiver()
    assert [bytes(peer.decrypt(esp_payload(frame))) for frame in outcome.out] == [
        forwarded(bytes(packet)) for packet in good
    ]
    assert outcome.named() == {case.counter: 1}


def test_manual_keys_have_no_window_unless_asked(make_box) -> None:
    """Without `replay-window` an SA has no anti-replay (RFC 4303 3.3.3): the numbers of a sender that lost its count are taken."""
    batch = BATCH.replace("replay-window 1024 ", "")
    assert "replay-window" not in batch
    numbers = [5000, 1, 1, 2, 5000, 3]
    packets = [black_packet(number) for number in range(len(numbers))]
    outcome = make_box(batch).black([wire(packet, number) for packet, number in zip(packets, numbers, strict=True)])
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(packet)) for packet in packets]
    assert outcome.named() == {}


BARE = Tunnel(spi_in=0x3002)  # an inbound SA that no policy names


def audit(box: Simulator) -> list[str]:
    """The lines of `sallyctl audit` without their times."""
    lines = [line.split(" ", 1) for line in box.sallyctl(0, "audit").splitlines()]
    for time, _ in lines:
        datetime.strptime(time, "%Y-%m-%dT%H:%M:%S%z")
    return [rest for _, rest in lines]


def test_audit_tells_of_authentic_drops_alone(tmp_path: Path) -> None:
    """Every step is one replay, and what `sallyctl audit` prints then (RFC 4303 3.4.3, RFC 4301 5.2 step 4)."""

    def good(*numbers: int) -> list[bytes | Packet]:
        return [wire(black_packet(number), number) for number in numbers]

    def alien(*numbers: int) -> list[bytes | Packet]:
        return [wire(red_packet(number, src="203.0.113.5", dst="198.18.0.1"), number) for number in numbers]

    def line(reason: str, number: int, tunnel: Tunnel = TUNNEL) -> str:
        sa = f"src {FAR} dst {NEAR} proto esp spi 0x{tunnel.spi_in:08x} reqid {tunnel.spi_in} dir in"
        return f"drop_{reason} {sa} seq {number}"

    bare = ETHERNET / BARE.peer_sender().encrypt(black_packet(5), seq_num=5)
    steps = [
        ("good packets", good(*range(2001, 2021)), []),
        ("one copy many times, a good packet behind", good(*[2001] * 40, 2021), [line("replayed", 2001)]),
        ("a copy again, once its like was told of", good(2001), [line("replayed", 2001)]),
        ("left of the window", good(2021 - 1024, 2022), [line("too_old", 2021 - 1024)]),
        ("what the SA does not allow", alien(2500), [line("selector_mismatch", 2500)]),
        ("an SA without selectors", [bare], [line("no_selector", 5, BARE)]),
        (
            "all of them, in their order",
            [*good(2002, 2501), *alien(2502, 2503), *good(2003, 2003), *good(1000), bare, *alien(2502)],
            [
                line("replayed", 2002),
                line("selector_mismatch", 2502),
                line("replayed", 2003),
                line("too_old", 1000),
                line("no_selector", 5, BARE),
                line("replayed", 2502),
            ],
        ),
        (
            "what is dropped for more: a number that came before under a bad ICV, TTL",
            [flipped(wire(black_packet(9), 2001), -1), wire(red_packet(9, src="198.19.0.1", ttl=1), 2600)],
            [],
        ),
    ]
    states = [text for text in BARE.batch().splitlines() if f"spi {BARE.spi_in:#x}" in text and "state add" in text]
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        sim.batch(0, [*BATCH.splitlines(), *states])
        for device, mac in TESTER_MAC.items():
            sim.sallyctl(0, "next-hop", "default", "dev", device, "lladdr", mac)
        for number, (name, frames, expected) in enumerate(steps):
            path = tmp_path / f"step{number}.pcap"
            write_frames(path, frames)
            inputs = [{"port": "box0.black", "file": str(path), "pacing": "original"}]
            assert sim.command("replay", inputs=inputs)["quiescent"], name
            assert audit(sim) == expected, name
            assert audit(sim) == [], name
        counters = sim.counters(0)
        sim.command("quit")
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    drops = {name: count for name, count in counters["inner"].items() if count and name.startswith("drop_")}
    assert drops == {
        "drop_replayed": 40 + 1 + 1 + 2 + 1,
        "drop_too_old": 2,
        "drop_selector_mismatch": 3,
        "drop_no_selector": 2,
        "drop_inner_ttl_expired": 1,
    }
    assert counters["crypto"]["drop_dec_icv"] == 1


@pytest.mark.parametrize(("size", "counter"), [(9582, None), (9583, "inner.drop_rx_oversize")])
def test_frame_limit_at_9600_bytes(make_box, size: int, counter: str | None) -> None:
    """9600 B with the FCS is 9582 B of IP: received; one byte more is oversize. What it becomes as ESP exceeds the MTU."""
    packet = IP(src="198.18.0.1", dst="198.19.0.1") / UDP(sport=7, dport=9) / Raw(bytes(size - 28))
    outcome = make_box(BATCH).red([ETHERNET / packet])
    assert len(outcome.named()) == 1
    assert (counter is None) == ("inner.drop_rx_oversize" not in outcome.named())
