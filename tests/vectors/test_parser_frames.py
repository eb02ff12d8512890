# SPDX-License-Identifier: Apache-2.0
"""The frames that HeaderParserSpec judges the parser by are made by scapy, and read back by
scapy's dissector.

`python -m tests.vectors.test_parser_frames` writes the table anew; the test fails if scapy no
longer makes the committed table.
"""

import random
from collections.abc import Iterator
from itertools import cycle, product

from scapy.compat import raw
from scapy.contrib.ikev2 import IKEv2
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import (
    MIP6MH_BE,
    MIP6MH_BRR,
    MIP6MH_BU,
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    MIP6MH_Generic,
    PadN,
)
from scapy.layers.ipsec import AH, ESP
from scapy.layers.l2 import ARP, GRE, LLC, STP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw

from tests.support.paths import ROOT

TABLE = ROOT / "interface_fpga/test/resources/parser_frames.txt"
COLUMNS = [
    "etherClass", "l2Bytes", "malformed", "unfinished", "checksumBad", "headerBytes", "totalLength", "payloadLength", "tos", "ttl",
    "checksum", "dontFragment", "fragment", "protocol", "source", "destination", "hasPorts", "sourcePort", "destinationPort", "hasIcmp",
    "hasMobility", "messageType", "messageCode", "payload4", "udpEncap", "spi", "ikeCookie", "frame",
]  # fmt: skip
HEAD = f"""\
# Frames that scapy makes and what its dissector reads in them; tests/vectors/test_parser_frames.py writes this table and checks it.
# A line with the scapy expression, then: {" ".join(COLUMNS)}
"""


def ends_at(frame: Packet, payload_length: int) -> bytes:
    """The IPv6 frame with another payload length and all its bytes."""
    frame[IPv6].plen = payload_length
    return raw(frame)


def options(size: int) -> list[PadN]:
    """Options that fill a hop-by-hop or destination options header of that many bytes."""
    left = size - 4
    return [PadN(optdata=bytes(range(1, left + 1)))] if left < 256 else [*options(254), *options(size - 252)]


NAMES = {
    "AH": AH, "ARP": ARP, "ESP": ESP, "GRE": GRE, "ICMP": ICMP, "IP": IP, "LLC": LLC, "SCTP": SCTP, "STP": STP, "TCP": TCP, "UDP": UDP,
    "Dot1AD": Dot1AD, "Dot1Q": Dot1Q, "Dot3": Dot3, "Ether": Ether, "IPOption": IPOption, "IPv6": IPv6, "Raw": Raw, "MPLS": MPLS,
    "ICMPv6EchoRequest": ICMPv6EchoRequest, "HopByHop": IPv6ExtHdrHopByHop, "DestOpt": IPv6ExtHdrDestOpt, "Routing": IPv6ExtHdrRouting,
    "Fragment": IPv6ExtHdrFragment, "IKEv2": IKEv2, "Mobility": MIP6MH_Generic, "BRR": MIP6MH_BRR, "BU": MIP6MH_BU,
    "BE": MIP6MH_BE, "options": options, "ends_at": ends_at, "raw": raw, "bytes": bytes, "range": range,
}  # fmt: skip
ETHER = 'Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")'
CLASSES = {0x0800: "ipv4", 0x0806: "arp", 0x86DD: "ipv6"}
TAGS = (0x8100, 0x88A8, 0x9100)
EXTENSIONS = {0: IPv6ExtHdrHopByHop, 43: IPv6ExtHdrRouting, 44: IPv6ExtHdrFragment, 60: IPv6ExtHdrDestOpt}
MAX_HEADERS, MAX_BYTES = 4, 64  # of extension headers: the parser's limits


def expressions() -> Iterator[str]:
    """Every kind of frame by name, then IPv4 with each header length, protocol and
    payload length."""
    dice = random.Random(4303)
    yield f'{ETHER} / ARP(psrc="10.0.0.1", pdst="10.0.0.2")'
    yield f'{ETHER} / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=2)'
    yield f'{ETHER} / Dot1Q(vlan=5) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)'
    yield f'{ETHER} / Dot1AD(vlan=5) / Dot1Q(vlan=6) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)'
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
    for protocol in (1, 6, 17, 50, 58, 132):
        for payload in range(6):
            yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", proto={protocol}) / Raw(bytes(range(200, 200 + {payload})))'
    for total in (34, 40, 50):
        yield f'Ether(raw({ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", proto=6) / Raw(bytes(60)))[:{total}])'
    yield from natt_expressions()
    yield from tagged_expressions()
    yield from combinations()
    yield from broken_ipv6()
    yield from mobility_expressions()
    yield from group_expressions()
    yield from ike_expressions()


def group_expressions() -> Iterator[str]:
    """Destinations at the edges of the blocks of groups."""
    for dst in ("223.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255"):
        yield f'{ETHER} / IP(src="10.1.2.3", dst="{dst}") / UDP(sport=1, dport=2)'
    for dst in (
        "feff::1",
        "ff00::",
        "ff02::fb",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "::ff00:0:0:1",
        "::224.0.0.1",
    ):
        yield f'{ETHER} / IPv6(src="2001:db8::1", dst="{dst}") / UDP(sport=1, dport=2)'


def natt_expressions() -> Iterator[str]:
    """UDP to port 4500: each kind of payload behind each header length, and lengths that
    are wrong."""
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


def ike_expressions() -> Iterator[str]:
    """Messages of IKE to both ports behind each header length: without a responder's SPI, with each
    of its bytes, with a cookie, and with other first payloads; also cut short."""
    dice = random.Random(7296)
    spis = ["bytes(8)", *(f"bytes({n}) + bytes([{1 << n}]) + bytes({7 - n})" for n in range(8))]
    first = "IKEv2(init_SPI=bytes(range(8))"
    messages = [f"{first}, resp_SPI={spi}, next_payload={kind})" for spi in spis for kind in (33, 41, 46, 0)]
    messages += [f"Raw(bytes([41] * {size}))" for size in (0, 1, 8, 16, 17, 26, 27, 28, 29, 40)]
    for upper in (
        "UDP(sport=500, dport=500)",
        "UDP(sport=61234, dport=4500) / Raw(bytes(4))",
        "UDP(sport=4500, dport=500)",
    ):
        for length in range(0, 44, 4):
            option = f", options=IPOption(bytes([0x94, {length}]) + bytes(range(1, {length - 1})))" if length else ""
            for message in dice.sample(messages, 4):
                yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", proto=17{option}) / {upper} / {message}'
        for number, chain in enumerate(CHAINS):
            tags = ((), (0x8100,), (0x88A8, 0x8100))[number % 3]
            for message in dice.sample(messages, 2):
                yield f"{ethernet(tags)} / {ip6(chain, f'{upper} / {message}')}"


def ethernet(types: tuple[int, ...]) -> str:
    """An Ethernet header and a VLAN tag for each type; the last tag's own type follows from the
    layer behind it."""
    if not types:
        return ETHER
    tags = [f", type={follows:#x}" for follows in types[1:]] + [""]
    return f"{ETHER[:-1]}, type={types[0]:#x})" + "".join(f" / Dot1Q(vlan={5 + i}{tag})" for i, tag in enumerate(tags))


def tagged_expressions() -> Iterator[str]:
    """Every tag and pair of tags in front of each class of frame, and more tags than are read."""
    for tags in [(tag,) for tag in TAGS] + list(product(TAGS, TAGS)):
        yield f'{ethernet(tags)} / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)'
        yield f'{ethernet(tags)} / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=2)'
    for tags in ((0x8100,), (0x88A8, 0x8100)):
        yield f'{ethernet(tags)} / ARP(psrc="10.0.0.1", pdst="10.0.0.2")'
        yield f'{ethernet(tags)} / MPLS(label=3, s=1) / IP(src="10.0.0.1", dst="10.0.0.2")'
        yield f"{ethernet((*tags, 46))} / Raw(bytes(46))"
        for field in ("version=6", "ihl=4", "len=2000", "chksum=1"):
            yield f'{ethernet(tags)} / IP(src="192.0.2.1", dst="198.51.100.7", {field}) / UDP(sport=53, dport=5353)'
        yield f'{ethernet(tags)} / IP(src="10.1.2.3", dst="10.3.2.1", len=60) / UDP(sport=1, dport=2) / Raw(bytes(32))'
        yield f'{ethernet(tags)} / IP(src="10.1.2.3", dst="10.3.2.1", len=61) / UDP(sport=1, dport=2) / Raw(bytes(32))'
    for tags in ((0x8100,) * 3, (0x88A8, 0x8100, 0x9100), (0x8100,) * 4):
        yield f'{ethernet(tags)} / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)'


HOP_BY_HOP, DESTINATION, ROUTING = "HopByHop(options=options(8))", "DestOpt(options=options(8))", "Routing(segleft=0)"
FIRST, LATER, ATOMIC = "Fragment(m=1, id=7)", "Fragment(offset=3, id=7)", "Fragment(id=7, res1=255)"
ADDRESS = '"2001:db8::3"'
# No extension header, each alone, legal orders, out of order, and below, at and above the limits of
# number and bytes.
CHAINS = [
    [], [HOP_BY_HOP], [DESTINATION], [ROUTING], [FIRST], [LATER], [ATOMIC], ["Fragment(offset=3, m=1, id=7)"],
    [HOP_BY_HOP, DESTINATION], [f"Routing(segleft=1, addresses=[{ADDRESS}])", DESTINATION], [HOP_BY_HOP, FIRST, DESTINATION],
    [DESTINATION, LATER], [HOP_BY_HOP, DESTINATION, ROUTING, FIRST], [FIRST, ATOMIC], [DESTINATION, DESTINATION, DESTINATION, DESTINATION],
    ["HopByHop(options=options(64))"], ["HopByHop(options=options(24))", f"Routing(addresses=[{ADDRESS}, {ADDRESS}])"],
    ["HopByHop(options=options(16))", "DestOpt(options=options(16))", f"Routing(addresses=[{ADDRESS}])", ATOMIC],
    ["HopByHop(options=options(72))"], [f"Routing(addresses=[{ADDRESS}, {ADDRESS}, {ADDRESS}])", "DestOpt(options=options(16))"],
    ["HopByHop(options=options(64))", LATER], [HOP_BY_HOP, DESTINATION, ROUTING, FIRST, DESTINATION],
    [DESTINATION, HOP_BY_HOP], [HOP_BY_HOP, HOP_BY_HOP], [FIRST, HOP_BY_HOP],
    [DESTINATION, DESTINATION, DESTINATION, DESTINATION, HOP_BY_HOP],
]  # fmt: skip
UPPER = [
    "TCP(sport={0}, dport={1})", "UDP(sport={0}, dport={1})", "SCTP(sport={0}, dport={1})", "UDP(sport={0}, dport=4500) / ESP(spi=0x8001)",
    "ESP(spi=0x{0:04x}{1:04x}, seq=7)", "AH(spi=0x{0:04x}, seq=7, icv=bytes(12))", "Raw(bytes(range(1, 9)))",
]  # fmt: skip


def ip6(chain: list[str], upper: str, source: str = "2001:db8::1", **fields: object) -> str:
    """IPv6 with extension headers; a payload of bytes alone gets "no next header"."""
    values = "".join(f", {name}={value}" for name, value in fields.items())
    headers = [f'IPv6(src="{source}", dst="2001:db8:ffff::2"{values})', *chain]
    if upper.startswith("Raw"):
        headers[-1] = f"{headers[-1][:-1]}, nh=59)"
    return " / ".join([*headers, upper])


def combinations() -> Iterator[str]:
    """Every number of tags with each family, its options or extension headers, and what
    they carry."""
    dice = random.Random(8200)
    one, two = cycle(TAGS), cycle(product(TAGS, TAGS))
    for tags in range(3):
        for upper, chain in product([*UPPER, "ICMPv6EchoRequest(code={1})"], CHAINS):
            types = ((), (next(one),), next(two))[tags]
            filled = upper.format(dice.randrange(65536), dice.randrange(256))
            fields = {"hlim": dice.choice([0, 1, 2, 64, 255]), "tc": dice.randrange(256), "fl": dice.randrange(1 << 20)}
            yield f"{ethernet(types)} / {ip6(chain, filled, **fields)}"
        for upper, length in product([*UPPER, "ICMP(type={1}, code={1})"], (0, 4, 20, 40)):
            types = ((), (next(one),), next(two))[tags]
            filled = upper.format(dice.randrange(65536), dice.randrange(256))
            option = f", options=IPOption(bytes([0x94, {length}]) + bytes({length - 2}))" if length else ""
            yield f'{ethernet(types)} / IP(src="10.0.0.1", dst="10.0.0.2"{option}, flags={dice.choice([0, 2])}) / {filled}'


def broken_ipv6() -> Iterator[str]:
    """IPv6 that is cut at and beside each boundary, payloads too short for what they should hold,
    and wrong fields."""
    for chain in (
        [],
        [HOP_BY_HOP],
        [HOP_BY_HOP, f"Routing(addresses=[{ADDRESS}])", FIRST, "DestOpt(options=options(16))"],
    ):
        whole = ip6(chain, "UDP(sport=7, dport=8) / Raw(bytes(20))")
        length = len(raw(eval(whole, NAMES))) - 40
        for cut in range(length + 2):
            if cut % 8 in (0, 1, 2, 4, 7) or cut >= length - 30:
                yield f"ends_at({ETHER} / {whole}, {cut})"
        for tags in ((), (0x8100,), (0x88A8, 0x8100)):
            whole_frame = len(raw(eval(f"{ethernet(tags)} / {whole}", NAMES)))
            for cut in (60, 61, 62, 63, whole_frame - 9, whole_frame - 1):
                yield f"Ether(raw({ethernet(tags)} / {whole})[:{cut}])"
    # Too many headers and bytes, and then cut: a misplaced or missing header counts before
    # an excess.
    for chain in ([DESTINATION] * 5, ["DestOpt(options=options(64))", DESTINATION], ["DestOpt(options=options(72))"]):
        for cut in (7, 8, 31, 32, 33, 39, 40, 63, 64, 71, 72):
            yield f"ends_at({ETHER} / {ip6(chain, 'UDP(sport=7, dport=8) / Raw(bytes(60))')}, {cut})"
    yield f"{ETHER} / {ip6(['DestOpt(options=options(2048))'], 'UDP(sport=7, dport=8)')}"
    for number in (*EXTENSIONS, 1, 6, 17, 50, 51, 58, 59, 132, 135, 253):
        for payload in (0, 3, 4, 7):
            yield f"{ETHER} / {ip6([], f'Raw(bytes(range(200, {200 + payload})))').replace('nh=59', f'nh={number}')}"
    for field in ("version=4", "version=0", "version=15", "plen=65535", "plen=16384", "plen=0, nh=17", "plen=0, nh=0"):
        yield f'{ETHER} / IPv6(src="2001:db8::1", dst="2001:db8::2", {field}) / UDP(sport=7, dport=8)'


def mobility_expressions() -> Iterator[str]:
    """Mobility headers (RFC 6275 6.1) of each kind that scapy knows and of any type, behind every
    chain, cut short, and in IPv4."""
    dice = random.Random(6275)
    for chain in CHAINS:
        kind, rest = dice.randrange(256), dice.randrange(3)
        yield f"{ETHER} / {ip6(chain, f'Mobility(len={rest}, mhtype={kind}, res=255) / Raw(bytes({8 * rest}))')}"
    for message in ("BRR()", "BU(seq=3)", "BE(status=2)"):
        yield f"{ethernet((0x8100,))} / {ip6([], message)}"
    for size in (0, 2, 3, 4, 8):
        for chain in ([], [HOP_BY_HOP], [FIRST], [LATER]):
            yield f"ends_at({ETHER} / {ip6(chain, 'Mobility(mhtype=5)')}, {8 * len(chain) + size})"
    for kind in (0, 1, 5, 58, 133, 137, 255):
        yield f"{ETHER} / {ip6([], f'Mobility(mhtype={kind})')}"
        yield f'{ETHER} / IP(src="10.1.2.3", dst="10.3.2.1", proto=135) / Mobility(mhtype={kind})'


def padded(expression: str) -> bytes:
    """The frame, as a MAC would pad it unless it is cut."""
    frame = raw(eval(expression, dict(NAMES)))
    return frame if expression.startswith("Ether(raw") else frame.ljust(60, b"\0")


def row(expression: str) -> str:
    """What scapy's dissector reads in the frame."""
    frame = padded(expression)
    l2 = 14
    while l2 < 22 and int.from_bytes(frame[l2 - 2 : l2], "big") in TAGS:
        l2 += 4
    ether_type = int.from_bytes(frame[l2 - 2 : l2], "big")
    kind = "vlan" if ether_type in TAGS else CLASSES.get(ether_type, "other")
    values = {"etherClass": kind, "l2Bytes": l2, "udpEncap": "none", "frame": frame.hex()}
    if kind == "ipv4":
        values |= ipv4(frame[l2:])
    if kind == "ipv6":
        values |= ipv6(frame[l2:])
    return " ".join(str(values.get(name, 0)) for name in COLUMNS)


def ipv4(packet: bytes) -> dict[str, object]:
    ip = IP(packet)
    header = 4 * ip.ihl
    if ip.version != 4 or ip.ihl < 5 or ip.len < header or ip.len > len(packet):
        return {"malformed": 1}
    again = IP(packet[:header])
    del again.chksum
    return {
        "checksumBad": int(IP(raw(again)).chksum != ip.chksum),
        "headerBytes": header,
        "totalLength": ip.len,
        "tos": ip.tos,
        "ttl": ip.ttl,
        "checksum": ip.chksum,
        "dontFragment": int(ip.flags.DF),
        "fragment": int(ip.flags.MF or ip.frag != 0),
        "source": packet[12:16].hex(),
        "destination": packet[16:20].hex(),
        **upper_layer(ip.proto, packet[header : ip.len], ip.frag != 0, 1),
    }


def ipv6(packet: bytes) -> dict[str, object]:
    length = int.from_bytes(packet[4:6], "big")
    if packet[0] >> 4 != 6 or len(packet) < 40 or length > len(packet) - 40:
        return {"malformed": 1}
    # Scapy reads the headers of all that is there; which of them the payload length still covers is
    # judged here.
    room = len(packet) - 40
    ip = IPv6(packet[:4] + room.to_bytes(2, "big") + packet[6:])
    protocol, at, fragment, later = ip.nh, 0, False, False
    layer = ip.payload
    for number in range(MAX_HEADERS + 1):
        if protocol not in EXTENSIONS or later:
            break
        if (protocol == 0 and number > 0) or length - at < 8:
            return {"malformed": 1}
        assert isinstance(layer, EXTENSIONS[protocol]), layer
        end = room - len(layer.payload.original)
        if number == MAX_HEADERS or end > MAX_BYTES:
            return {"unfinished": 1}
        if end > length:
            return {"malformed": 1}
        if isinstance(layer, IPv6ExtHdrFragment):
            fragment |= bool(layer.m or layer.offset)
            later = layer.offset != 0
        protocol, at, layer = layer.nh, end, layer.payload
    return {
        "headerBytes": 40 + at,
        "totalLength": 40 + length,
        "tos": ip.tc,
        "ttl": ip.hlim,
        "dontFragment": 1,
        "fragment": int(fragment),
        "source": packet[8:24].hex(),
        "destination": packet[24:40].hex(),
        **upper_layer(protocol, packet[40 + at : 40 + length], later, 58),
    }


def upper_layer(protocol: int, payload: bytes, later: bool, icmp: int) -> dict[str, object]:
    """Ports, type and code, a mobility header's type, or the values in their place."""
    readable = not later and len(payload) >= 4
    ports, typed = readable and protocol in (6, 17, 132), readable and protocol == icmp
    mobile = readable and icmp == 58 and protocol == 135
    first = int.from_bytes(payload[:4], "big") if len(payload) >= 4 else 0
    kind = first >> 24 if typed else MIP6MH_Generic(payload[:4] + bytes(4)).mhtype if mobile else 0
    encap, spi = udp_encap(payload) if ports and protocol == 17 else ("none", first)
    return {
        "payloadLength": len(payload),
        "protocol": protocol,
        "hasPorts": int(ports),
        "sourcePort": first >> 16 if ports else 0,
        "destinationPort": first & 0xFFFF if ports else 0,
        "hasIcmp": int(typed),
        "hasMobility": int(mobile),
        "messageType": kind,
        "messageCode": first >> 16 & 0xFF if typed else 0,
        "payload4": first,
        "udpEncap": encap,
        "spi": spi,
        "ikeCookie": int(ike_cookie(payload[12:] if encap == "ike" else payload[8:])),
    }


def ike_cookie(message: bytes) -> bool:
    """A responder's SPI, or a notification first, in a whole header (RFC 7296 3.1)."""
    if len(message) < 28:
        return False
    # Of another version scapy reads another class.
    header = IKEv2(message[:17] + b"\x20" + message[18:])
    return header.resp_SPI != bytes(8) or header.next_payload == 41


def udp_encap(payload: bytes) -> tuple[str, int]:
    """What RFC 3948 section 2 says of a UDP packet, and the first 4 bytes of ESP in it, else of
    the packet."""
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
