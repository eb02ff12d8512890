# SPDX-License-Identifier: Apache-2.0
"""What MssClampSpec wants of TCP packets is scapy's.

`python -m tests.vectors.test_mss_packets` writes the table anew; the test fails if scapy no longer
makes the committed table.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from scapy.layers.inet import IP, TCP, UDP, IPOption
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt
from scapy.packet import Packet, Raw

from tests.support.mss import clamped, place, with_checksum
from tests.support.paths import ROOT

TABLE = ROOT / "interface_fpga/test/resources/mss_packets.txt"
HEAD = """\
# TCP packets that scapy makes, with their checksums, and what a path's MTU makes of their maximum segment sizes;
# tests/vectors/test_mss_packets.py writes and checks this table.
# mtu packet expected, - where nothing changes
"""
ENDS4 = {"src": "192.0.2.1", "dst": "198.51.100.7"}
ENDS6 = {"src": "2001:db8::1", "dst": "2001:db8:7::2"}
MSS, NOP, END = b"\x02\x04", b"\x01", b"\x00"
WSCALE, SACK, TIMES = b"\x03\x03\x07", b"\x04\x02", b"\x08\x0a" + bytes(range(1, 9))


def packet(ip: Packet, flags: str, options: bytes, payload: bytes = b"", **fields) -> bytes:
    """An IP packet of TCP with these bytes as options; a wrong data offset is a field."""
    filled = options + bytes(-len(options) % 4)
    tcp = {"sport": 1024, "dport": 443, "seq": 7, "flags": flags, "dataofs": 5 + len(filled) // 4, **fields}
    head = bytes(TCP(**tcp, chksum=1))[:20]
    whole = bytes(ip / Raw(head + filled + payload))
    return with_checksum(whole)


def v4(**fields) -> Packet:
    return IP(**{"id": 7, "proto": 6, **ENDS4, **fields})


def v6(**fields) -> Packet:
    return IPv6(**{"nh": 6, **ENDS6, **fields})


def mss(value: int) -> bytes:
    return MSS + value.to_bytes(2, "big")


def lists() -> Iterator[bytes]:
    """Options: the MSS at each byte, before and behind others; none; and such as are broken."""
    yield mss(1460)
    yield mss(1460) + SACK + TIMES + NOP + WSCALE
    for before in range(37):
        yield NOP * before + mss(1460)
    for before in (
        WSCALE,
        SACK,
        TIMES,
        NOP + WSCALE,
        SACK + TIMES + NOP,
        TIMES + TIMES + TIMES,
        b"\xfd\x13" + bytes(17),
    ):
        yield before + mss(1460)
        yield before + mss(1460) + NOP
    yield b""
    yield NOP * 40
    yield SACK + TIMES + NOP + WSCALE
    yield mss(1460) + mss(9000)  # the first counts
    yield b"\x02\x03\x05" + mss(1460)  # one of a wrong length, then a right one
    yield b"\x02\x05\x05\xb4\x00" + mss(1460)
    yield END + mss(1460)  # behind the end
    yield NOP + END + mss(1460)
    for broken in (0, 1, 41, 200, 255):
        yield bytes((254, broken)) + mss(1460)
    yield NOP * 36 + b"\x08\x0a\x05\xb4"  # longer than the header
    yield NOP * 37 + MSS + b"\x05"  # the value is cut off
    yield NOP * 38 + MSS
    yield bytes((254, 40)) + bytes(38)
    yield bytes((254, 36)) + bytes(34) + mss(1460)


def cases() -> Iterator[tuple[int, bytes]]:
    dice = random.Random(6691)
    for make in (v4, v6):
        around = 40 if make is v4 else 60
        for options in lists():
            yield 1400, packet(make(), dice.choice(["S", "SA", "SEC"]), options, dice.randbytes(dice.randrange(20)))
        # Below, at and above the limit, and the ends of both numbers.
        for value in (0, 1, 535, 536, 1359, 1360, 1361, 1459, 1460, 8960, 65535):
            for mtu in (around, around + 1, around - 1, 1280, 1400, 1359 + around, 1360 + around, 9582, 0):
                yield mtu, packet(make(), "S", NOP * dice.randrange(2) + mss(value))
        # Checksums that carry, and become 0 and 65535.
        for _ in range(150):
            options = NOP * dice.randrange(3) + mss(dice.randrange(1 << 16))
            yield (
                dice.randrange(around, 1600),
                packet(make(), "S", options, dice.randbytes(2), seq=dice.randrange(1 << 32)),
            )
        # No SYN, or RST too; UDP; a header longer than the packet.
        for flags in ("A", "PA", "R", "SR", "SRA", "F"):
            yield 1400, packet(make(), flags, mss(1460))
        yield 1400, packet(make(), "S", mss(1460), dataofs=15)
        yield 1400, packet(make(), "S", mss(1460), dataofs=5)
        yield 1400, packet(make(), "S", mss(1460), dataofs=0)
        udp = UDP(sport=1, dport=2) / Raw(bytes(4) + b"\x60\x02" + bytes(6) + mss(1460))
        yield 1400, bytes((IP(**ENDS4) if make is v4 else IPv6(**ENDS6)) / udp)
    # Where TCP does not stand directly behind the fixed header nothing changes.
    yield 1400, packet(v4(options=IPOption(b"\x94\x04\x00\x00")), "S", mss(1460))
    yield 1400, packet(v4(flags="MF"), "S", mss(1460), bytes(4))
    yield 1400, packet(v4(frag=1), "S", mss(1460))
    yield 1400, bytes(IPv6(**ENDS6) / IPv6ExtHdrDestOpt(nh=6) / Raw(packet(v6(), "S", mss(1460))[40:]))
    # Behind an end the next byte is no length, by which another option would begin.
    for make in (v4, v6):
        for before in range(4):
            for length in (2, 3, 4, 5):
                hidden = NOP * before + END + bytes((length,)) + bytes(length - 2) + mss(1460)
                yield 1400, packet(make(), "S", hidden)


def expected(mtu: int, whole: bytes) -> bytes:
    """With the checksum that scapy makes of the changed packet."""
    right = clamped(whole, mtu)
    assert right == whole or right == with_checksum(right), whole.hex()
    return right


def lines() -> Iterator[str]:
    for mtu, whole in cases():
        right = expected(mtu, whole)
        yield f"{mtu} {whole.hex()} {'-' if right == whole else right.hex()}"


def table() -> str:
    return HEAD + "".join(line + "\n" for line in lines())


def test_committed_packets_are_scapys() -> None:
    assert TABLE.read_text() == table(), f"run python -m {__name__}"


def test_scapy_reads_the_value_at_the_place() -> None:
    """The place of the value is where scapy's own reader of options finds it."""
    for options in lists():
        filled = options + bytes(-len(options) % 4)
        read = TCP(packet(v4(), "S", options)[20:]).options
        at = place(filled)
        if at is not None:
            # One of a wrong length is bytes to scapy.
            value = next(value for name, value in read if name == "MSS" and isinstance(value, int))
            assert value == int.from_bytes(filled[at : at + 2], "big"), options.hex()


if __name__ == "__main__":
    TABLE.write_text(table())
