# SPDX-License-Identifier: Apache-2.0
"""Frames to both sides of the inner chip and what must become of them, made and worked out
by scapy.

`python -m tests.vectors.test_inner_frames` writes the tables anew; the tests fail if scapy no
longer makes the committed tables. The cases stand in tests/vectors/inner_frames.
"""

from scapy.compat import raw
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption, fragment
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RA,
    ICMPv6ND_Redirect,
    ICMPv6ND_RS,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw

from tests.support.paths import ROOT
from tests.vectors.inner_frames.addresses import decrypt_cases_addresses, encrypt_cases_addresses
from tests.vectors.inner_frames.decrypt import decrypt_cases, decrypt_cases_v6
from tests.vectors.inner_frames.encrypt import PORT, encrypt_cases, encrypt_cases_mtu, encrypt_cases_v6
from tests.vectors.inner_frames.icmp_errors import decrypt_cases_errors, encrypt_cases_errors
from tests.vectors.inner_frames.local import decrypt_cases_local
from tests.vectors.inner_frames.red_mtu import red_mtu_cases

RESOURCES = ROOT / "interface_fpga/test/resources"
NAMES = {
    "ARP": ARP, "ICMP": ICMP, "IP": IP, "SCTP": SCTP, "TCP": TCP, "UDP": UDP, "Dot1Q": Dot1Q, "Ether": Ether, "IPOption": IPOption,
    "IPv6": IPv6, "HopByHop": IPv6ExtHdrHopByHop, "DestOpt": IPv6ExtHdrDestOpt, "Fragment": IPv6ExtHdrFragment, "PadN": PadN,
    "Dot1AD": Dot1AD, "Routing": IPv6ExtHdrRouting, "EchoRequest": ICMPv6EchoRequest, "EchoReply": ICMPv6EchoReply,
    "Unreachable": ICMPv6DestUnreach, "NS": ICMPv6ND_NS, "NA": ICMPv6ND_NA, "RS": ICMPv6ND_RS, "RA": ICMPv6ND_RA,
    "Redirect": ICMPv6ND_Redirect, "Raw": Raw, "MPLS": MPLS, "bytes": bytes, "range": range, "raw": raw,
}  # fmt: skip
TAGS = (b"\x81\x00", b"\x88\xa8", b"\x91\x00")
NEXT_HOPS = {0: "02:aa:00:00:00:00", 7: "02:aa:00:00:00:07"}

ENCRYPT_HEAD = """\
# Frames to the red port; tests/vectors/test_inner_frames.py writes this table and checks it. A line with the scapy expression, then:
# counter sa bypass frame packet-on-the-link (or -, or fragments with commas between)
"""
DECRYPT_HEAD = """\
# Packets from the crypto chip; tests/vectors/test_inner_frames.py writes this table and checks it. A line with the scapy expression, then:
# counter sa sequence nextHeader outerTos bypass packet frame-on-the-red-port (or for-the-CPU, or -)
"""
RED_MTU_HEAD = """\
# Packets from the crypto chip under an MTU of the red port; tests/vectors/test_inner_frames.py writes this table and checks it. A line with
# the scapy expression, then: mtu counter sa nextHeader bypass packet frame-on-the-red-port (or fragments, or for-the-CPU, or -)
"""


def made(expression: str) -> bytes:
    return raw(eval(expression, NAMES))


def routed(packet: bytes, ecn: int | None = None, hops: int = 1) -> bytes:
    """The IP packet with TTL so much less, another ECN field if need be, and scapy's checksum;
    nothing behind its total length."""
    if packet[0] >> 4 == 6:
        header = IPv6(packet[:40])
        header.hlim -= hops
        if ecn is not None:
            header.tc = header.tc & 0xFC | ecn
        return raw(header) + packet[40 : 40 + header.plen]
    ip = IP(packet)
    header = IP(packet[: 4 * ip.ihl])
    header.ttl -= hops
    if ecn is not None:
        header.tos = header.tos & 0xFC | ecn
    del header.chksum
    return raw(header) + packet[4 * ip.ihl : ip.len]


def encrypt_row(counter: str, sa: int, expression: str, mtu: int = 0) -> str:
    frame = made(expression).ljust(60, b"\0")
    sends = counter in ("tx_protect", "tx_bypass")
    tags = 2 if frame[16:18] in TAGS else 1 if frame[12:14] in TAGS else 0
    out = "-"
    if sends:
        packet = routed(frame[14 + 4 * tags :])
        pieces = [raw(piece) for piece in fragment(IP(packet), (mtu - 20) // 8 * 8)] if mtu else [packet]
        out = ",".join(piece.hex() for piece in pieces)
    return f"# {expression}\n{counter} {sa} {int(counter == 'tx_bypass')} {frame.hex()} {out}\n"


def decrypt_row(
    counter: str, sa: int, sequence: int, next_header: int, tos: int, bypass: bool, expression: str, ecn: int | None
) -> str:
    packet = eval(expression, NAMES)
    packet = packet if isinstance(packet, bytes) else raw(packet)
    out = "-"
    if counter == "tx_frames":
        hop = NEXT_HOPS[sa if bypass else 7 if sa == 5 else 0]
        ether_type = 0x86DD if packet[0] >> 4 == 6 else 0x800
        frame = raw(Ether(dst=hop, src=PORT, type=ether_type) / Raw(routed(packet, ecn)))
        out = frame.ljust(60, b"\0").hex()
    elif counter.startswith("punt_"):
        # The chip puts the header of its own port in front; nothing is padded for the CPU.
        ether_type = 0x86DD if packet[0] >> 4 == 6 else 0x800
        out = raw(Ether(dst=PORT, src=PORT, type=ether_type) / Raw(routed(packet, ecn, hops=0))).hex()
    return f"# {expression}\n{counter} {sa} {sequence} {next_header} {tos} {int(bypass)} {packet.hex()} {out}\n"


def red_mtu_row(mtu: int, counter: str, sa: int, expression: str) -> str:
    packet = eval(expression, NAMES)
    packet = packet if isinstance(packet, bytes) else raw(packet)
    v6, bypass = packet[0] >> 4 == 6, sa == 0
    ether_type = 0x86DD if v6 else 0x800
    frames: list[Packet] = []
    if counter == "tx_frames":
        onward = routed(packet)
        whole = len(onward) <= mtu or v6
        pieces = [onward] if whole else [raw(piece) for piece in fragment(IP(onward), (mtu - 20) // 8 * 8)]
        frames = [Ether(dst=NEXT_HOPS[7 if bypass else 0], src=PORT, type=ether_type) / Raw(piece) for piece in pieces]
    elif counter.startswith("punt_"):
        frames = [Ether(dst=PORT, src=PORT, type=ether_type) / Raw(routed(packet, hops=0))]
    padding = 60 if counter == "tx_frames" else 0
    out = ",".join(raw(frame).ljust(padding, b"\0").hex() for frame in frames) or "-"
    return f"# {expression}\n{mtu} {counter} {sa or 7} {41 if v6 else 4} {int(bypass)} {packet.hex()} {out}\n"


def encrypt_table() -> str:
    return ENCRYPT_HEAD + "".join(
        encrypt_row(*case)
        for case in (
            *encrypt_cases(),
            *encrypt_cases_v6(),
            *encrypt_cases_mtu(),
            *encrypt_cases_addresses(),
            *encrypt_cases_errors(),
        )
    )


def decrypt_table() -> str:
    cases = (
        *decrypt_cases(),
        *decrypt_cases_v6(),
        *decrypt_cases_addresses(),
        *decrypt_cases_errors(),
        *decrypt_cases_local(),
    )
    return DECRYPT_HEAD + "".join(decrypt_row(*case) for case in cases)


def red_mtu_table() -> str:
    return RED_MTU_HEAD + "".join(red_mtu_row(*case) for case in red_mtu_cases())


TABLES = {
    "inner_encrypt.txt": encrypt_table,
    "inner_decrypt.txt": decrypt_table,
    "inner_red_mtu.txt": red_mtu_table,
}


def test_committed_frames_are_scapys() -> None:
    for name, table in TABLES.items():
        assert (RESOURCES / name).read_text() == table(), name


if __name__ == "__main__":
    for name, table in TABLES.items():
        (RESOURCES / name).write_text(table())
