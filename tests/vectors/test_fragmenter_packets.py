# SPDX-License-Identifier: Apache-2.0
"""The fragments that FragmenterSpec wants are scapy's.

`python -m tests.vectors.test_fragmenter_packets` writes the table anew; the test fails if scapy no
longer makes the committed table.
"""

import random
from collections.abc import Iterator

from scapy.compat import raw
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.support.paths import ROOT

TABLE = ROOT / "interface_fpga/test/resources/fragmenter_packets.txt"
HEAD = """\
# Packets that scapy makes and the fragments that it cuts them into; tests/vectors/test_fragmenter_packets.py writes and checks this table.
# bytesBeforeIp version identification payloadUnitsOfAFragment packet fragment...
# A packet is its first bytes and how many follow: byte n of them is 37 n + n / 256. A fragment is its headers, and where in the packet's
# payload its own begins and ends.
"""


def filler(count: int) -> bytes:
    return bytes((37 * n + n // 256) % 256 for n in range(count))


def piece_of(packet: bytes, body: int, piece: bytes) -> str:
    """A fragment as the table has it, if it is headers and a part of the packet's payload, which
    starts at `body`."""
    header = body if piece[0] >> 4 == 4 else body + 8
    offset = (
        int.from_bytes(piece[6:8], "big") % (1 << 13) * 8
        if header == body
        else int.from_bytes(piece[42:44], "big") // 8 * 8
    )
    end = offset + len(piece) - header
    assert piece[header:] == packet[body + offset : body + end]
    return f"{piece[:header].hex()}/{offset}/{end}"


def v4(dice: random.Random, mtu: int, size: int) -> tuple[Packet, int, int, list[Packet]]:
    """A packet of `size` bytes, payload units of a fragment, identification, fragments."""
    units = (mtu - 20) // 8
    head = IP(
        src="192.0.2.1",
        dst="198.51.100.7",
        id=dice.randrange(1 << 16),
        tos=dice.randrange(256),
        ttl=dice.randrange(1, 256),
        flags=dice.choice([0, "evil"]),
    )
    upper = dice.choice([ESP(spi=dice.randrange(1 << 32), seq=7), UDP(sport=4500, dport=dice.randrange(1 << 16))])
    packet = IP(raw(head / upper / Raw(filler(size - 20 - len(upper)))))
    return packet, units, 0, fragment(packet, fragsize=8 * units)


def v6(dice: random.Random, mtu: int, size: int) -> tuple[Packet, int, int, list[Packet]]:
    identification = dice.randrange(1 << 32)
    head = IPv6(
        src="2001:db8::1",
        dst="2001:db8:7::2",
        tc=dice.randrange(256),
        fl=dice.randrange(1 << 20),
        hlim=dice.randrange(1, 256),
    )
    upper = ESP(spi=dice.randrange(1 << 32), seq=7) / Raw(filler(size - 48))
    pieces = fragment6(head / IPv6ExtHdrFragment(id=identification) / upper, mtu)
    return IPv6(raw(head / upper)), (mtu - 48) // 8, identification, pieces


def lines() -> Iterator[str]:
    dice = random.Random(791)
    for before in (14, 0):
        ethernet = raw(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02", type=0x0800)) if before else b""
        cases = [
            (v4, mtu, mtu + more)
            for mtu in (68, 576, 1280, 1499, 1500)
            for more in (1, 2, 30, 31, 44, 45, mtu - 20, mtu - 19)
        ]
        cases += [(v4, 1500, size) for size in (4420, 4421, 9582)] + [(v4, 9000, 9582), (v4, 68, 576)]
        cases += [(v4, mtu, dice.randrange(mtu + 1, 4 * mtu)) for mtu in (100, 333, 1006, 1400, 1492)]
        if before:
            cases += [
                (v6, mtu, mtu + more)
                for mtu in (1280, 1400, 1499, 1500)
                for more in (1, 7, 8, 9, 60, mtu - 48, mtu - 40)
            ]
            cases += [(v6, 1500, 9582), (v6, 1280, 9000)]
        for make, mtu, size in cases:
            packet, units, identification, pieces = make(dice, mtu, size)
            assert len(pieces) > 1 and max(map(len, pieces)) <= mtu
            link = ethernet if make is v4 else ethernet.replace(b"\x08\x00", b"\x86\xdd")
            version = 4 if make is v4 else 6
            whole = raw(packet)
            body = 20 if version == 4 else 40
            first = body + 8  # of UDP, or SPI and number of ESP
            assert whole[first:] == filler(len(whole) - first)
            words = [before, version, identification, units, f"{(link + whole[:first]).hex()}/{len(whole) - first}"]
            yield " ".join(map(str, [*words, *(link.hex() + piece_of(whole, body, raw(piece)) for piece in pieces)]))


def table() -> str:
    return HEAD + "".join(line + "\n" for line in lines())


def test_committed_fragments_are_scapys() -> None:
    assert TABLE.read_text() == table(), f"run python -m {__name__}"


if __name__ == "__main__":
    TABLE.write_text(table())
