"""The frames that Ipv4ParserSpec judges the parser by are made by scapy, and read back by scapy's dissector.

`python tests/test_parser_frames.py` writes the table anew; the test fails if scapy no longer makes what is committed.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from scapy.compat import raw
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import ARP, GRE, LLC, STP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Raw

TABLE = Path(__file__).resolve().parents[1] / "interface_fpga/test/resources/parser_frames.txt"
HEAD = """\
# Frames that scapy makes and what its dissector reads in them; tests/test_parser_frames.py writes this table and checks it.
# A line with the scapy expression, then:
# class malformed checksumBad headerBytes totalLength tos ttl checksum df fragment protocol source destination
#   hasPorts sport dport payload4 udpEncap spi frame
"""
NAMES = {
    "ARP": ARP, "ESP": ESP, "GRE": GRE, "ICMP": ICMP, "IP": IP, "LLC": LLC, "SCTP": SCTP, "STP": STP, "TCP": TCP, "UDP": UDP,
    "Dot1AD": Dot1AD, "Dot1Q": Dot1Q, "Dot3": Dot3, "Ether": Ether, "IPOption": IPOption, "IPv6": IPv6, "Raw": Raw, "MPLS": MPLS,
}  # fmt: skip
ETHER = 'Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")'
CLASSES = {0x0800: "ipv4", 0x0806: "arp", 0x86DD: "ipv6", 0x8100: "vlan", 0x88A8: "vlan", 0x9100: "vlan"}


def expressions() -> Iterator[str]:
    """Every kind of frame by name, then IPv4 with each header length, protocol and payload length."""
    dice = random.Random(4303)
    yield f'{ETHER} / ARP(psrc="10.0.0.1", pdst="10.0.0.2")'
    yield f'{ETHER} / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=2)'
    yield f'{ETHER} / Dot1Q(vlan=5) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)'
    yield f'{ETHER} / Dot1AD(vlan=5) / Dot1Q(vlan=6) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)'
    yield 'Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02", type=0x9100) / Raw(bytes(60))'
    yield f'{ETHER} / MPLS(label=3, s=1) / IP(src="10.0.0.1", dst="10.0.0.2")'
    yield 'Dot3(dst="01:80:c2:00:00:00", src="02:00:00:00:00:02") / LLC() / STP()'
    yield 'Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02", type=0x88cc) / Raw(bytes(60))'
    yield 'Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.255") / UDP(sport=68, dport=67)'
    for field in ("version=6", "version=0", "ihl=4", "ihl=0", "ihl=15", "len=19", "len=0", "len=47", "len=9000", "len=65535", "chksum=0",
                  "chksum=0xffff", "chksum=0x1234", "ttl=0", "ttl=1", "ttl=2", "tos=0xff", 'flags="DF"', 'flags="MF"', 'flags="evil"',
                  "frag=1", "frag=8191", 'flags="MF", frag=100', 'flags="DF+MF"'):  # fmt: skip
        yield f'{ETHER} / IP(src="192.0.2.1", dst="198.51.100.7", id=77, {field}) / UDP(sport=53, dport=5353) / Raw(b"x" * 18)'
    layers = ["TCP(sport={0}, dport={1})", "UDP(sport={0}, dport={1})", "SCTP(sport={0}, dport={1})", "ICMP()", "GRE()",
              "ESP(spi=0x{0:04x}{1:04x}, seq=7)"]  # fmt: skip
    for options in range(0, 44, 4):
        for layer in layers:
            length = dice.choice([0, 1, 5, 6, 7, 18, 19, 40, 100, 1400])
            option = (
                f', options=IPOption(b"\\x94{chr(92)}x{options:02x}" + bytes(range(1, {options - 1})))'
                if options
                else ""
            )
            src, dst = (
                f"{dice.randrange(1, 224)}.{dice.randrange(256)}.{dice.randrange(256)}.{dice.randrange(1, 255)}"
                for _ in "sd"
            )
            yield (
                f'{ETHER} / IP(src="{src}", dst="{dst}", id={dice.randrange(65536)}, ttl={dice.randrange(256)}, '
                f"tos={dice.randrange(256)}, flags={dice.choice([0, 2])}{option}) / "
                f"{layer.format(dice.randrange(1, 65536), dice.randrange(1, 65536))} / Raw(bytes({length}))"
            )
    for protocol in (6, 17, 50, 132):
        for payload in range(6):
            yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", proto={protocol}) / Raw(bytes(range(200, 200 + {payload})))'
    for total in (34, 40, 50):
        yield f'Ether(raw({ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", proto=6) / Raw(bytes(60)))[:{total}])'
    yield from natt_expressions()


def natt_expressions() -> Iterator[str]:
    """UDP to port 4500: each kind of payload behind each header length, and lengths that are wrong."""
    payloads = ["ESP(spi=0xc0ffee00, seq=7)", "ESP(spi=1, seq=7)", "Raw(bytes(4))", "Raw(bytes(3))", "Raw(bytes(64))",
                'Raw(b"\\xff")', 'Raw(b"\\xff\\xff")', 'Raw(b"\\x00")', 'Raw(b"\\xff\\x00\\x00\\x00")', 'Raw(b"")']  # fmt: skip
    for options in range(0, 44, 4):
        option = f", options=IPOption(bytes([0x94, {options}]) + bytes(range(1, {options - 1})))" if options else ""
        for payload in payloads:
            yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", proto=17{option}) / UDP(sport=61234, dport=4500) / {payload}'
    for length in (0, 7, 8, 9, 11, 12, 13, 20, 8193 + 12, 65535):
        yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1") / UDP(sport=4500, dport=4500, len={length}) / Raw(b"\\xff\\x00\\x00\\x01")'
    for length in range(9):
        yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", proto=17) / Raw(bytes([0, 5, 0x11, 0x94, 0, {length}, 0, 0])[:{length}])'
    for layer in ("UDP(sport=4500, dport=4501)", "TCP(sport=4500, dport=4500)", "SCTP(sport=4500, dport=4500)"):
        yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1") / {layer} / Raw(b"\\xff")'
    yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", frag=5) / UDP(sport=4500, dport=4500) / Raw(b"\\xff")'


def row(expression: str) -> str:
    """What scapy's dissector reads in the frame, padded as a MAC would pad it."""
    frame = raw(eval(expression, NAMES | {"raw": raw, "bytes": bytes, "range": range}))
    if not expression.startswith("Ether(raw"):
        frame = frame.ljust(60, b"\0")
    ether_type = int.from_bytes(frame[12:14], "big")
    kind = CLASSES.get(ether_type, "other")
    if kind != "ipv4":
        return f"{kind} {'0 ' * 16}none 0 {frame.hex()}"
    ip = IP(frame[14:])
    header = 4 * ip.ihl
    malformed = ip.version != 4 or ip.ihl < 5 or ip.len < header or ip.len > len(frame) - 14
    if malformed:
        return f"ipv4 1 {'0 ' * 15}none 0 {frame.hex()}"
    again = IP(frame[14 : 14 + header])
    del again.chksum
    bad = IP(raw(again)).chksum != ip.chksum
    payload = frame[14 + header : 14 + ip.len]
    ports = ip.proto in (6, 17, 132) and ip.frag == 0 and len(payload) >= 4
    first = int.from_bytes(payload[:4], "big") if len(payload) >= 4 else 0
    encap, spi = udp_encap(payload) if ports and ip.proto == 17 else ("none", first)
    source, destination = (int.from_bytes(raw(ip)[at : at + 4], "big") for at in (12, 16))
    fields = [
        0, int(bad), header, ip.len, ip.tos, ip.ttl, ip.chksum, int(ip.flags.DF), int(ip.flags.MF or ip.frag != 0), ip.proto, source,
        destination, int(ports), first >> 16 if ports else 0, first & 0xFFFF if ports else 0, first, encap, spi,
    ]  # fmt: skip
    return " ".join(["ipv4", *map(str, fields), frame.hex()])


def udp_encap(payload: bytes) -> tuple[str, int]:
    """What RFC 3948 section 2 says of a UDP packet, and the first 4 bytes of ESP in it, else of the packet."""
    first = int.from_bytes(payload[:4], "big")
    if first & 0xFFFF != 4500:
        return "none", first
    if len(payload) < 8 or UDP(payload).len != len(payload):
        return "malformed", first
    match payload[8:]:
        case b"\xff":
            return "keepalive", first
        case data if data[:4] == bytes(4):
            return "ike", first
        case data:
            return "esp", int.from_bytes(data[:4].ljust(4, b"\0"), "big")


def table() -> str:
    return HEAD + "".join(f"# {expression}\n{row(expression)}\n" for expression in expressions())


def test_committed_frames_are_scapys() -> None:
    assert TABLE.read_text() == table()


if __name__ == "__main__":
    TABLE.write_text(table())
