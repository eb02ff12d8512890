# SPDX-License-Identifier: Apache-2.0
"""Every way a packet can be bad: dropped under its own counter on its own chip, and the good
traffic beside it untouched."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support.frames import write_frames
from tests.support.reference import FAR, NEAR, Tunnel, esp_payload, forwarded
from tests.support.replay import quiet_cycles

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
    """The frame with its IP packet cut to a header and `payload` bytes, lengths and checksum made
    right again."""
    outer = IP(src=frame[IP].src, dst=NEAR, proto=50) / Raw(bytes(frame[IP].payload)[:payload])
    return bytes(ETHERNET / outer).ljust(60, b"\0")


def flipped(frame: Packet, position: int) -> bytes:
    data = bytearray(bytes(frame))
    data[position] ^= 0x10
    return bytes(data)


@dataclass(frozen=True)
class Case:
    """One kind of bad frame: `bad(n)` makes it when n good packets went before; `counter` is where
    it must be counted."""

    counter: str
    bad: Callable[[], bytes | Packet]
    options: tuple[str, ...] = field(default=())


def good_count(number: int) -> int:
    """Sequence numbers of the good packets: 2001 to 2006, so that low numbers are older than
    the window."""
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
    "inner TTL 1": Case("inner.punt_tunnel_ttl", lambda: wire(red_packet(9, src="198.19.0.1", ttl=1), 2500)),
    "oversize": Case("outer.drop_rx_oversize", lambda: bytes(ETHERNET) + bytes(9583)),
    "undersize": Case("outer.drop_rx_undersize", lambda: wire(black_packet(99), 2500), ("--fault", "undersize:4")),
    "bad FCS": Case("outer.drop_rx_bad_fcs", lambda: wire(black_packet(99), 2500), ("--fault", "bad-fcs:4")),
}

RED = {
    "no policy": Case("inner.drop_policy", lambda: ETHERNET / red_packet(99, dst="203.0.113.9")),
    "wrong IP checksum": Case("inner.drop_ip_checksum", lambda: ETHERNET / red_packet(99, chksum=0xBEEF)),
    "TTL 0": Case("inner.punt_ttl", lambda: ETHERNET / red_packet(99, ttl=0)),
    "TTL 1": Case("inner.punt_ttl", lambda: ETHERNET / red_packet(99, ttl=1)),
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
    """Without `replay-window` an SA has no anti-replay (RFC 4303 3.3.3): the numbers of a sender
    that lost its count are taken."""
    batch = BATCH.replace("replay-window 1024 ", "")
    assert "replay-window" not in batch
    numbers = [5000, 1, 1, 2, 5000, 3]
    packets = [black_packet(number) for number in range(len(numbers))]
    outcome = make_box(batch).black([wire(packet, number) for packet, number in zip(packets, numbers, strict=True)])
    assert [frame[14:] for frame in outcome.out] == [forwarded(bytes(packet)) for packet in packets]
    assert outcome.named() == {}


BARE = Tunnel(spi_in=0x3002)  # an inbound SA that no policy names
ALIEN = "src 203.0.113.5/32 dst 198.18.0.1/32 proto udp sport 7 dport 9"  # what no SA allows


ALLOWED = " allowed src 198.19.0.0/16 dst 0.0.0.0/0"


@dataclass(frozen=True)
class Line:
    """A line of `sallyctl audit` without its times, which are apart, in µs of the day's and of the
    chip's clock. In the simulator the chips' clocks are not alike: register accesses between runs
    take time of the chip that they go to alone."""

    text: str
    day: float
    uptime: float

    @property
    def of_crypto(self) -> bool:
        return self.text.startswith("drop_dec_icv ")


def audit_lines(box: Simulator) -> list[Line]:
    found = []
    for line in box.sallyctl(0, "audit").splitlines():
        match = re.fullmatch(r"(\S+) (.*) uptime (\d+\.\d{9})(.*)", line)
        assert match, line
        day = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
        found.append(Line(match[2] + match[4], day * 1e6, float(match[3]) * 1e6))
    assert [line.day for line in found] == sorted(line.day for line in found)
    # A chip's clock and that of the day run alike; the latter is printed to the microsecond, and
    # comes as a float.
    for crypto in (True, False):
        for before, after in pairwise(line for line in found if line.of_crypto == crypto):
            assert abs((after.day - before.day) - (after.uptime - before.uptime)) < 3, (before, after)
    return found


def audit(box: Simulator) -> list[str]:
    return [line.text for line in audit_lines(box)]


def test_audit_tells_of_authentic_drops_alone(tmp_path: Path) -> None:
    """Every step is one replay, and what `sallyctl audit` prints then (RFC 4303 3.4.3, RFC 4301 5.2
    step 4)."""

    def good(*numbers: int) -> list[bytes | Packet]:
        return [wire(black_packet(number), number) for number in numbers]

    def alien(*numbers: int) -> list[bytes | Packet]:
        return [wire(red_packet(number, src="203.0.113.5", dst="198.18.0.1"), number) for number in numbers]

    def line(reason: str, number: int, tunnel: Tunnel = TUNNEL) -> str:
        sa = f"src {FAR} dst {NEAR} proto esp spi 0x{tunnel.spi_in:08x} reqid {tunnel.spi_in} dir in"
        inside = f" packet {ALIEN}{ALLOWED}" if reason == "selector_mismatch" else ""
        return f"drop_{reason} {sa} seq {number}{inside}"

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
            "a number that came before under a bad ICV, which is told of as that alone; without TTL",
            [flipped(wire(black_packet(9), 2001), -1), wire(red_packet(9, src="198.19.0.1", ttl=1), 2600)],
            [line("dec_icv", 2001)],
        ),
    ]
    states = [text for text in BARE.batch().splitlines() if f"spi {BARE.spi_in:#x}" in text and "state add" in text]
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        sim.batch(0, [*BATCH.splitlines(), *states])
        sim.face_tester(0)
        for number, (name, frames, expected) in enumerate(steps):
            path = tmp_path / f"step{number}.pcap"
            write_frames(path, frames)
            inputs = [{"port": "box0.black", "file": str(path), "pacing": "original"}]
            assert sim.command("replay", inputs=inputs, quiet_cycles=quiet_cycles(BATCH))["quiescent"], name
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
    }
    assert counters["crypto"]["drop_dec_icv"] == counters["inner"]["punt_tunnel_ttl"] == 1


def replay(sim: Simulator, folder: Path, frames: list[bytes | Packet]) -> None:
    """Frames into the black port, a microsecond apart."""
    path = folder / "black.pcap"
    write_frames(path, frames)
    inputs = [{"port": "box0.black", "file": str(path), "pacing": "original"}]
    assert sim.command("replay", inputs=inputs, quiet_cycles=quiet_cycles(BATCH))["quiescent"]


def started(sim: Simulator, *more: str) -> None:
    sim.batch(0, [*BATCH.splitlines(), *more])
    sim.face_tester(0)


def test_audit_has_the_time_of_reception(tmp_path: Path) -> None:
    """Packets a microsecond apart; some are forged, copied or have other selectors. One log of both
    chips shows them in their order (RFC 4303 3.4.3 and 3.4.4.1)."""

    def good(number: int) -> Packet:
        return wire(black_packet(1), number)

    alien = wire(red_packet(1, src="203.0.113.5", dst="198.18.0.1"), 2400)
    bad_icv, bad_text = flipped(wire(black_packet(1), 2500), -1), flipped(wire(black_packet(1), 2501), 60)
    others = [flipped(ETHERNET / BARE.peer_sender().encrypt(black_packet(1), seq_num=n), -1) for n in (3, 0xFFFFFFFF)]
    sent: list[tuple[bytes | Packet, str]] = [(good(2001 + number), "") for number in range(40)]
    for place, frame, reason in (
        (3, bad_icv, "dec_icv"),
        (8, good(2001), "replayed"),
        (13, others[0], "dec_icv"),
        (18, alien, "selector_mismatch"),
        (23, bad_text, "dec_icv"),
        (28, good(900), "too_old"),
        (33, others[1], "dec_icv"),
    ):
        sent[place] = (frame, reason)
    states = [text for text in BARE.batch().splitlines() if f"spi {BARE.spi_in:#x}" in text and "state add" in text]
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        started(sim, *states)
        replay(sim, tmp_path, [frame for frame, _ in sent])
        found = audit_lines(sim)
        # A flood of forgeries of two SAs fills the crypto chip's places, and is told of as far as
        # that; good packets pass.
        replay(sim, tmp_path, [bad_icv, others[0]] * 20 + [good(2600)])
        flood = audit_lines(sim)
        counters = sim.counters(0)
        sim.command("quit")
    wanted = [(place, reason) for place, (_, reason) in enumerate(sent) if reason]
    assert [line.text.split()[0] for line in found] == [f"drop_{reason}" for _, reason in wanted]
    numbers = [re.search(r"spi (\S+) .* seq (\d+)", line.text) for line in found]
    assert [(match[1], int(match[2])) for match in numbers if match] == [
        ("0x00002002", 2500),
        ("0x00002002", 2001),
        ("0x00003002", 3),
        ("0x00002002", 2400),
        ("0x00002002", 2501),
        ("0x00002002", 900),
        ("0x00003002", 0xFFFFFFFF),
    ]
    # To the time at which a frame came, but for what it takes to get to the chip that drops it: of
    # one chip, the same for all.
    for crypto in (True, False):
        delays = [
            line.uptime - place for line, (place, _) in zip(found, wanted, strict=True) if line.of_crypto == crypto
        ]
        assert max(delays) - min(delays) < 0.5, delays
    assert [line.text.split()[0] for line in flood] == ["drop_dec_icv"] * 16
    assert counters["crypto"]["drop_dec_icv"] == 4 + 40
    assert counters["inner"]["tx_frames"] == 40 - 7 + 1


def test_audit_has_what_was_in_a_packet(tmp_path: Path) -> None:
    """Selectors of packets that their SA does not allow, as scapy made them: for the log, and for
    IKE's INVALID_SELECTORS."""
    v4, v6 = {"src": "203.0.113.5", "dst": "198.18.0.1"}, {"src": "2001:db8:7::5", "dst": "2001:db8:8:9:a:b:c:d"}
    ends = "src 203.0.113.5/32 dst 198.18.0.1/32", "src 2001:db8:7::5/128 dst 2001:db8:8:9:a:b:c:d/128"
    group = "src 203.0.113.5/32 dst 239.1.2.3/32"
    aliens = [
        (IP(**v4) / UDP(sport=1, dport=65535) / Raw(b"x"), f"{ends[0]} proto udp sport 1 dport 65535"),
        (IP(src=v4["src"], dst="239.1.2.3") / TCP(sport=4711, dport=22), f"{group} proto tcp sport 4711 dport 22"),
        (IP(**v4) / ICMP(type=3, code=4) / Raw(bytes(28)), f"{ends[0]} proto icmp type 3 code 4"),
        (IP(**v4, frag=9, proto=6) / Raw(bytes(40)), f"{ends[0]} proto tcp sport opaque dport opaque"),
        (IP(**v4, proto=47) / Raw(bytes(40)), f"{ends[0]} proto gre"),
        (IPv6(**v6) / UDP(sport=5, dport=6) / Raw(b"x"), f"{ends[1]} proto udp sport 5 dport 6"),
        (IPv6(**v6) / IPv6ExtHdrDestOpt() / TCP(sport=7, dport=8), f"{ends[1]} proto tcp sport 7 dport 8"),
        (IPv6(**v6) / ICMPv6EchoRequest(), f"{ends[1]} proto ipv6-icmp type 128 code 0"),
    ]
    # A copy between two of them, so that each is an event of its own.
    copy = wire(black_packet(1), 2001)
    frames: list[bytes | Packet] = [copy]
    for number, (packet, _) in enumerate(aliens):
        frames += [wire(packet, 2100 + number), copy]
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        started(sim)
        replay(sim, tmp_path, frames)
        told = [line.text for line in audit_lines(sim)]
        sim.command("quit")
    assert [text.split(" packet ")[1] for text in told if text.startswith("drop_selector_mismatch ")] == [
        text + ALLOWED for _, text in aliens
    ]
    assert [text.split()[0] for text in told] == ["drop_selector_mismatch", "drop_replayed"] * len(aliens)


@pytest.mark.parametrize(("size", "counter"), [(9582, None), (9583, "inner.drop_rx_oversize")])
def test_frame_limit_at_9600_bytes(make_box, size: int, counter: str | None) -> None:
    """9600 B with the FCS is 9582 B of IP: received, and cut before ESP, which cannot hold it; one
    byte more is oversize."""
    packet = IP(src="198.18.0.1", dst="198.19.0.1") / UDP(sport=7, dport=9) / Raw(bytes(size - 28))
    outcome = make_box(BATCH).red([ETHERNET / packet])
    assert outcome.named() == ({counter: 1} if counter else {})
    assert outcome.counters["inner"]["frag_packets"] == (counter is None)
