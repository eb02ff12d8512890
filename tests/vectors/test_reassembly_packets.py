# SPDX-License-Identifier: Apache-2.0
"""The fragments that ReassemblerSpec judges reassembly by are cut by scapy, and put together again
they are scapy's packets.

`python -m tests.vectors.test_reassembly_packets` writes the table anew; the test fails if scapy no
longer makes the committed table.
"""

import random
from collections.abc import Iterator
from ipaddress import ip_address

from scapy.compat import raw
from scapy.layers.inet import IP, TCP, UDP, IPOption, fragment
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    fragment6,
)
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

from tests.support.paths import ROOT

TABLE = ROOT / "interface_fpga/test/resources/reassembly_packets.txt"
HEAD = """\
# Packets that scapy makes and the fragments that it cuts them into; tests/vectors/test_reassembly_packets.py writes and checks this table.
# family source destination identification protocol bytesBeforeIp packet
#   then for each fragment: offset more headerBytes payloadBytes nextHeaderAt packet
"""


def links(dice: random.Random) -> bytes:
    """The bytes in front of an IP header: none, Ethernet, one VLAN tag, two."""
    ether = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
    inner = Dot1Q(vlan=5, type=0x0800)
    tagged, twice = raw(ether / inner), raw(ether / Dot1AD(vlan=7) / inner)
    return dice.choice([b"", raw(Ether(dst=ether.dst, src=ether.src, type=0x0800)), tagged, twice])


def upper(dice: random.Random) -> Packet:
    """A transport header and its payload."""
    layer = dice.choice([UDP(sport=53, dport=dice.randrange(1, 65536)), TCP(sport=dice.randrange(1, 65536), dport=443)])
    return layer / Raw(dice.randbytes(dice.choice([20, 40, 200, 1400, 1452, 3000, 9400])))


def padded(frame: bytes, link: bytes) -> bytes:
    return frame.ljust(60, b"\0") if link else frame


def ipv4(dice: random.Random) -> str:
    options = dice.choice([[], [IPOption(b"\x94\x04\0\0")], [IPOption(b"\x07\x27\x04" + bytes(36))]])
    packet = IP(src=f"10.0.0.{dice.randrange(256)}", dst="192.0.2.1", id=dice.randrange(65536), tos=dice.randrange(256),
                ttl=dice.randrange(2, 256), options=options) / upper(dice)  # fmt: skip
    packet = IP(raw(packet))
    link = links(dice)
    header = 4 * packet.ihl
    words = ["4", f"{int(ip_address(packet.src)):x}", f"{int(ip_address(packet.dst)):x}", str(packet.id), str(packet.proto),
             str(len(link)), (link + raw(packet)).hex()]  # fmt: skip
    size = dice.choice([8, 64, 576, 1480]) if len(packet) < 400 else dice.choice([576, 744, 1480])
    for piece in fragment(packet, fragsize=min(size, (len(packet) - header - 1) // 8 * 8)):
        piece = IP(raw(piece))
        words += [str(piece.frag), str(int(piece.flags.MF)), str(len(link) + 4 * piece.ihl), str(piece.len - 4 * piece.ihl), "0",
                  padded(link + raw(piece), link).hex()]  # fmt: skip
    return " ".join(words)


def ipv6(dice: random.Random) -> str:
    chain = dice.choice(
        [
            [],
            [IPv6ExtHdrHopByHop()],
            [IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt()],
            [IPv6ExtHdrRouting(addresses=["2001:db8::7"])],
        ]
    )
    head = IPv6(src=f"2001:db8::{dice.randrange(65536):x}", dst="2001:db8:1::2", tc=dice.randrange(256), fl=dice.randrange(1 << 20),
                hlim=dice.randrange(2, 256))  # fmt: skip
    transport = upper(dice)
    whole, cut = head.copy(), head.copy()
    for layer in chain:
        whole, cut = whole / layer, cut / layer
    whole = IPv6(raw(whole / transport))
    identification = dice.randrange(1 << 32)
    link = links(dice).replace(b"\x08\x00", b"\x86\xdd")
    pieces = fragment6(cut / IPv6ExtHdrFragment(id=identification) / transport, dice.choice([256, 800, 1280, 1500]))
    # An address in a routing header changes the checksum alone; it is that of the packet as it
    # was cut.
    together = b"".join(raw(piece[IPv6ExtHdrFragment].payload) for piece in pieces)
    headers = raw(whole)[: len(whole) - len(together)]
    protocol = transport.overload_fields[IPv6]["nh"]
    words = ["6", f"{int(ip_address(head.src)):x}", f"{int(ip_address(head.dst)):x}", str(identification), str(protocol),
             str(len(link)), (link + headers + together).hex()]  # fmt: skip
    for piece in pieces:
        piece = IPv6(raw(piece))
        behind = piece[IPv6ExtHdrFragment]
        before = len(piece) - len(behind)
        at = 6 if not chain else before - len(chain[-1])
        words += [str(behind.offset), str(behind.m), str(len(link) + before), str(len(behind) - 8), str(len(link) + at),
                  padded(link + raw(piece), link).hex()]  # fmt: skip
    return " ".join(words)


def lines() -> Iterator[str]:
    dice = random.Random(8200)
    for _ in range(30):
        yield ipv4(dice)
        yield ipv6(dice)


def table() -> str:
    return HEAD + "".join(line + "\n" for line in lines())


def test_committed_packets_are_scapys() -> None:
    assert TABLE.read_text() == table(), f"run python -m {__name__}"


if __name__ == "__main__":
    TABLE.write_text(table())
