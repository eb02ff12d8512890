"""Frames to both sides of the inner chip and what must become of them, made and worked out by scapy.

`python tests/test_inner_frames.py` writes the tables anew; the tests fail if scapy no longer makes what is committed. The policy that
the expectations assume stands in InnerSetup.scala.
"""

from collections.abc import Iterator
from pathlib import Path

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
from scapy.packet import Raw

RESOURCES = Path(__file__).resolve().parents[1] / "interface_fpga/test/resources"
NAMES = {
    "ARP": ARP, "ICMP": ICMP, "IP": IP, "SCTP": SCTP, "TCP": TCP, "UDP": UDP, "Dot1Q": Dot1Q, "Ether": Ether, "IPOption": IPOption,
    "IPv6": IPv6, "HopByHop": IPv6ExtHdrHopByHop, "DestOpt": IPv6ExtHdrDestOpt, "Fragment": IPv6ExtHdrFragment, "PadN": PadN,
    "Dot1AD": Dot1AD, "Routing": IPv6ExtHdrRouting, "EchoRequest": ICMPv6EchoRequest, "EchoReply": ICMPv6EchoReply,
    "Unreachable": ICMPv6DestUnreach, "NS": ICMPv6ND_NS, "NA": ICMPv6ND_NA, "RS": ICMPv6ND_RS, "RA": ICMPv6ND_RA,
    "Redirect": ICMPv6ND_Redirect, "Raw": Raw, "MPLS": MPLS, "bytes": bytes, "range": range,
}  # fmt: skip
PORT, HOST = "02:00:00:00:00:01", "02:00:00:00:00:02"
TAGS = (b"\x81\x00", b"\x88\xa8", b"\x91\x00")
NEXT_HOPS = {0: "02:aa:00:00:00:00", 7: "02:aa:00:00:00:07"}

ENCRYPT_HEAD = """\
# Frames to the red port; tests/test_inner_frames.py writes this table and checks it. A line with the scapy expression, then:
# counter sa bypass frame packet-on-the-link (or -, or fragments with commas between)
"""
DECRYPT_HEAD = """\
# Packets from the crypto chip; tests/test_inner_frames.py writes this table and checks it. A line with the scapy expression, then:
# counter sa sequence nextHeader outerTos bypass packet frame-on-the-red-port (or -)
"""


def made(expression: str) -> bytes:
    return raw(eval(expression, NAMES))


def routed(packet: bytes, ecn: int | None = None) -> bytes:
    """The IP packet with TTL one less, another ECN field if need be, and scapy's checksum; nothing behind its total length."""
    if packet[0] >> 4 == 6:
        header = IPv6(packet[:40])
        header.hlim -= 1
        if ecn is not None:
            header.tc = header.tc & 0xFC | ecn
        return raw(header) + packet[40 : 40 + header.plen]
    ip = IP(packet)
    header = IP(packet[: 4 * ip.ihl])
    header.ttl -= 1
    if ecn is not None:
        header.tos = header.tos & 0xFC | ecn
    del header.chksum
    return raw(header) + packet[4 * ip.ihl : ip.len]


def encrypt_cases() -> Iterator[tuple[str, int, str]]:
    """Counter, SA or next hop, expression."""
    ether = f'Ether(dst="{PORT}", src="{HOST}")'

    def ip(dst: str, rest: str = "", src: str = "10.0.0.1") -> str:
        return f'{ether} / IP(src="{src}", dst="{dst}", id=1{rest})'

    udp = "UDP(sport=7, dport=8)"
    yield "tx_protect", 5, f"{ip('10.1.0.9')} / {udp}"
    yield "tx_bypass", 3, f"{ip('10.2.0.9')} / {udp}"
    yield "punt_policy", 0, f"{ip('10.3.0.9')} / {udp}"
    yield "drop_policy", 0, f"{ip('10.4.0.9')} / {udp}"
    yield "drop_policy", 0, f"{ip('192.0.2.1')} / {udp}"
    # Priorities among rules, and between rules and flows.
    yield "tx_protect", 6, f"{ip('10.5.0.9')} / UDP(sport=1, dport=5000)"
    yield "tx_bypass", 1, f"{ip('10.5.0.9')} / UDP(sport=5000, dport=1)"
    yield "tx_bypass", 1, f"{ip('10.5.0.9')} / TCP(sport=1, dport=5000)"
    yield "drop_policy", 0, f"{ip('10.1.9.1')} / {udp}"
    yield "tx_protect", 700, f"{ip('10.1.0.77')} / {udp}"
    yield "tx_protect", 5, f"{ip('10.1.0.77')} / UDP(sport=8, dport=7)"
    yield "tx_protect", 5, f"{ip('10.1.0.77')} / TCP(sport=7, dport=8)"
    yield "tx_protect", 5, f"{ip('10.1.0.77', src='10.0.0.2')} / {udp}"
    yield "tx_protect", 701, f"{ip('10.1.9.9')} / {udp}"
    yield "drop_policy", 0, f"{ip('10.1.9.12')} / {udp}"
    yield "tx_protect", 703, f"{ip('10.2.0.5')} / ICMP()"
    yield "tx_bypass", 3, f"{ip('10.2.0.6')} / ICMP()"
    yield "tx_protect", 704, f"{ip('10.6.0.1', src='10.6.0.2')} / SCTP(sport=100, dport=200)"
    # Lengths: shorter than the padding, around the ends of beats, long; options; DF and TOS are told to the crypto chip.
    for length in (0, 1, 17, 18, 19, 22, 23, 35, 36, 37, 50, 86, 87, 100, 1000, 1472, 8972, 9553, 9554):
        yield "tx_protect", 5, f"{ip('10.1.0.9')} / {udp} / Raw(bytes(range(200)) * 50)[Raw].load[:{length}]"
    for options in (4, 8, 20, 36, 40):
        option = f', options=IPOption(b"{chr(92)}x94{chr(92)}x{options:02x}" + bytes({options - 2}))'
        yield "tx_protect", 700, f"{ip('10.1.0.77', option)} / {udp} / Raw(bytes(30))"
    for tos in (0, 1, 2, 3, 0xB8, 0xFF):
        yield (
            "tx_bypass" if tos % 2 else "tx_protect",
            3 if tos % 2 else 5,
            f"{ip(f'10.{1 + tos % 2}.0.9', f', tos={tos}, flags={chr(34)}DF{chr(34)}')} / {udp}",
        )
    for ttl in (2, 3, 128, 255):
        yield "tx_protect", 5, f"{ip('10.1.0.9', f', ttl={ttl}')} / {udp}"
    # Checksums of which the update carries: every low byte of the identification in turn moves the sum.
    for ident in range(0, 65536, 1999):
        yield "tx_protect", 5, f'{ether} / IP(src="10.0.0.1", dst="10.1.0.9", id={ident}) / {udp}'
    # TTL: of what would go on alone.
    for ttl in (0, 1):
        yield "drop_ttl_expired", 0, f"{ip('10.1.0.9', f', ttl={ttl}')} / {udp}"
        yield "drop_ttl_expired", 0, f"{ip('10.2.0.9', f', ttl={ttl}')} / {udp}"
        yield "punt_policy", 0, f"{ip('10.3.0.9', f', ttl={ttl}')} / {udp}"
        yield "drop_policy", 0, f"{ip('10.4.0.9', f', ttl={ttl}')} / {udp}"
    # Tags are not looked at and stay here, whatever follows them: options, both families, padding, ends of beats.
    for tags in (
        "Dot1Q(vlan=5)",
        "Dot1AD(vlan=5) / Dot1Q(vlan=6)",
        "Dot1AD(vlan=5, type=0x9100) / Dot1Q(vlan=0, prio=7)",
    ):
        for length in (0, 18, 40, 44, 100, 1472):
            tagged = ip("10.1.0.9").replace(ether, f"{ether} / {tags}", 1)
            yield "tx_protect", 5, f"{tagged} / {udp} / Raw(bytes({length}))"
        option = ip("10.1.0.77", ", options=IPOption(bytes([0x94, 40]) + bytes(38))").replace(
            ether, f"{ether} / {tags}", 1
        )
        yield "tx_protect", 700, f"{option} / {udp} / Raw(bytes(30))"
        yield "tx_bypass", 3, f"{ip('10.2.0.9').replace(ether, f'{ether} / {tags}', 1)} / {udp}"
        yield "drop_policy", 0, f"{ip('10.4.0.9').replace(ether, f'{ether} / {tags}', 1)} / {udp}"
        yield "punt_arp", 0, f"{ether} / {tags} / ARP()"
        yield "tx_protect", 5, f'{ether} / {tags} / IPv6(src="2001:db8::1", dst="2001:db8:1::1") / {udp}'
        yield "punt_ipv6", 0, f'{ether} / {tags} / IPv6(src="fe80::1", dst="2001:db8:1::1") / {udp}'
        yield "drop_ip_malformed", 0, f"{ip('10.1.0.9', ', len=1501').replace(ether, f'{ether} / {tags}', 1)} / {udp}"
    # Not IPv4, not whole, not right.
    yield "punt_arp", 0, f"{ether} / ARP()"
    yield "punt_vlan", 0, f'{ether} / Dot1Q(vlan=5) / Dot1Q(vlan=5) / Dot1Q(vlan=5) / IP(dst="10.1.0.9") / {udp}'
    yield "punt_other", 0, f'{ether} / MPLS(label=3) / IP(dst="10.1.0.9") / {udp}'
    yield "punt_other", 0, f'Ether(dst="{PORT}", src="{HOST}", type=46) / Raw(bytes(46))'
    yield "punt_other", 0, f'Ether(dst="{PORT}", src="{HOST}", type=0x88cc) / Raw(bytes(300))'
    # Fragments that are wrong by themselves; test_chip_fragments.py has those that are put together.
    for field in ('flags="MF"', 'flags="MF", frag=7'):
        yield "drop_reasm_length", 0, f"{ip('10.1.0.9', ', ' + field)} / {udp} / Raw(bytes(7))"
    yield "drop_reasm_oversize", 0, f"{ip('10.1.0.9', ', frag=1199')} / {udp} / Raw(bytes(40))"
    for field in ("version=5", "ihl=4", "len=19", "len=47", "len=1501"):
        yield "drop_ip_malformed", 0, f"{ip('10.1.0.9', ', ' + field)} / {udp}"
    for field in ("chksum=0", "chksum=0xffff", "chksum=1"):
        yield "drop_ip_checksum", 0, f"{ip('10.1.0.9', ', ' + field)} / {udp}"


def encrypt_cases_v6() -> Iterator[tuple[str, int, str]]:
    """The same of IPv6."""

    def ip(dst: str, rest: str = "", src: str = "2001:db8::1") -> str:
        return f'Ether(dst="{PORT}", src="{HOST}") / IPv6(src="{src}", dst="{dst}"{rest})'

    udp = "UDP(sport=7, dport=8)"
    there = "2001:db8:1::1"
    yield "tx_protect", 5, f"{ip(there)} / {udp}"
    yield "tx_bypass", 3, f"{ip('2001:db8:2::1')} / {udp}"
    yield "punt_policy", 0, f"{ip('2001:db8:3::1')} / {udp}"
    yield "drop_policy", 0, f"{ip('2001:db8:4::1')} / {udp}"
    yield "drop_policy", 0, f"{ip('2001:db8:9::1')} / {udp}"
    # Prefixes: each side of an end; one address; the other family.
    yield "tx_protect", 5, f"{ip('2001:db8:1:ffff:ffff:ffff:ffff:ffff')} / {udp}"
    yield "tx_bypass", 3, f"{ip('2001:db8:2::')} / {udp}"
    yield "tx_protect", 7, f"{ip('2001:db8:1::9')} / {udp}"
    yield "tx_protect", 5, f"{ip('2001:db8:1::8')} / {udp}"
    yield "drop_policy", 0, f"{ip('::10.1.0.9')} / {udp}"
    # Priorities, flows, ports, and what has none.
    yield "tx_protect", 6, f"{ip('2001:db8:5::1')} / UDP(sport=1, dport=5000)"
    yield "tx_bypass", 1, f"{ip('2001:db8:5::1')} / UDP(sport=5000, dport=1)"
    yield "tx_bypass", 1, f"{ip('2001:db8:5::1')} / TCP(sport=1, dport=5000)"
    yield "tx_bypass", 1, f"{ip('2001:db8:5::1')} / Raw(bytes([1, 0x13, 0x88]))"
    yield "tx_protect", 705, f"{ip('2001:db8:1::77')} / {udp}"
    yield "tx_protect", 5, f"{ip('2001:db8:1::77')} / TCP(sport=7, dport=8)"
    yield "tx_protect", 5, f"{ip('2001:db8:1::77', src='2001:db8::2')} / {udp}"
    yield "tx_protect", 706, f"{ip('2001:db8:2::5')} / EchoReply()"
    yield "tx_bypass", 3, f"{ip('2001:db8:2::5')} / EchoRequest()"
    yield "tx_protect", 707, f"{ip('2001:db8:2::6', ', nh=47')} / Raw(bytes(40))"
    yield "tx_protect", 708, f"{ip('::10.6.0.1', src='::10.6.0.2')} / SCTP(sport=100, dport=200)"
    yield "tx_protect", 8, f"{ip('2001:db8:7::1')} / EchoRequest(seq=5) / Raw(bytes(100))"
    yield "drop_policy", 0, f"{ip('2001:db8:7::1')} / EchoReply()"
    yield "drop_policy", 0, f"{ip('2001:db8:7::1', ', nh=58')} / Raw(bytes([128, 0, 0]))"
    # Extension headers in front of what is looked at.
    for headers in (
        "HopByHop()",
        "Routing(addresses=['2001:db8::7'])",
        "DestOpt()",
        "HopByHop() / Routing() / DestOpt()",
        "DestOpt() / DestOpt() / DestOpt() / DestOpt(options=PadN(optdata=bytes(36)))",
        "Fragment()",
        "HopByHop(options=PadN(optdata=bytes(60)))",
    ):
        yield "tx_protect", 705, f"{ip('2001:db8:1::77')} / {headers} / {udp}"
        yield "tx_protect", 706, f"{ip('2001:db8:2::5')} / {headers} / EchoReply()"
        yield "tx_protect", 6, f"{ip('2001:db8:5::1')} / {headers} / UDP(sport=1, dport=5000) / Raw(bytes(77))"
    yield "tx_protect", 5, f"{ip(there, ', nh=59')}"
    # Lengths, traffic class (bytes 0 and 1 have halves of it), flow label and hop limit.
    for length in (0, 1, 2, 3, 23, 24, 25, 50, 86, 87, 1000, 1452, 8952, 9533, 9534):
        yield "tx_protect", 5, f"{ip(there)} / {udp} / Raw(bytes(range(200)) * 50)[Raw].load[:{length}]"
    for traffic_class in (0, 1, 2, 3, 0x0F, 0xB8, 0xFF):
        dst = f"2001:db8:{1 + traffic_class % 2}::1"
        counter = "tx_bypass" if traffic_class % 2 else "tx_protect"
        yield counter, 3 if traffic_class % 2 else 5, f"{ip(dst, f', tc={traffic_class}, fl=0xabcde')} / {udp}"
    for hops in (2, 3, 255):
        yield "tx_protect", 5, f"{ip(there, f', hlim={hops}')} / {udp}"
    for hops in (0, 1):
        yield "drop_ttl_expired", 0, f"{ip(there, f', hlim={hops}')} / {udp}"
        yield "drop_ttl_expired", 0, f"{ip('2001:db8:2::1', f', hlim={hops}')} / {udp}"
        yield "punt_policy", 0, f"{ip('2001:db8:3::1', f', hlim={hops}')} / {udp}"
    # Of this link: neighbour discovery, whoever it is for, and addresses that no router passes on; and their neighbours.
    for message in ("RS()", "RA()", "NS()", "NA()", "Redirect()"):
        yield "punt_ipv6", 0, f"{ip(there, ', hlim=255')} / {message}"
        yield "punt_ipv6", 0, f"{ip(there, ', hlim=255')} / DestOpt() / {message}"
    yield "tx_protect", 5, f"{ip(there)} / Unreachable()"
    yield "tx_protect", 5, f"{ip(there, ', nh=58')} / Raw(bytes([132, 0, 0, 0]))"
    yield "tx_protect", 5, f"{ip(there, ', nh=58')} / Raw(bytes([138, 0, 0, 0]))"
    yield "tx_protect", 5, f"{ip(there)} / UDP(sport=0x8700, dport=0)"
    for address in ("fe80::1", "fe80::", "febf:ffff::1"):
        yield "punt_ipv6", 0, f"{ip(address)} / {udp}"
        yield "punt_ipv6", 0, f"{ip(there, src=address)} / {udp}"
    for address in ("ff02::1", "ff00::", "ff0e::101"):
        yield "punt_ipv6", 0, f"{ip(address)} / {udp}"
    for address in ("fec0::1", "fe7f:ffff::1", "feff::1"):
        yield "drop_policy", 0, f"{ip(address)} / {udp}"
        yield "tx_protect", 5, f"{ip(there, src=address)} / {udp}"
    # Fragments, too many headers, broken ones.
    yield "drop_reasm_length", 0, f"{ip(there)} / Fragment(m=1) / {udp} / Raw(bytes(1))"
    yield "drop_reasm_oversize", 0, f"{ip(there)} / HopByHop() / Fragment(offset=1199) / {udp}"
    yield "punt_ipv6", 0, f"{ip('fe80::1')} / Fragment(m=1) / {udp}"
    yield "punt_extension_headers", 0, f"{ip(there)} / Fragment(m=1) / {' / '.join(['DestOpt()'] * 4)} / {udp}"
    yield "drop_ip_malformed", 0, f"{ip(there, ', plen=17')} / Fragment(m=1) / {udp}"
    yield "punt_extension_headers", 0, f"{ip(there)} / HopByHop(options=PadN(optdata=bytes(68))) / {udp}"
    yield "punt_extension_headers", 0, f"{ip(there)} / {' / '.join(['DestOpt()'] * 5)} / {udp}"
    yield "drop_ip_malformed", 0, f"{ip(there, ', plen=9')} / {udp}"
    yield "drop_ip_malformed", 0, f"{ip(there, ', version=4')} / {udp}"
    yield "drop_ip_malformed", 0, f"{ip(there)} / DestOpt() / HopByHop() / {udp}"
    # Types of ICMP in IPv4: 0 is one, not "any".
    v4 = f'Ether(dst="{PORT}", src="{HOST}") / IP(src="10.0.0.1", dst="10.7.0.1", id=1)'
    yield "tx_protect", 8, f"{v4} / ICMP(type=0)"
    yield "tx_bypass", 2, f"{v4} / ICMP(type=8)"
    yield "drop_policy", 0, f"{v4} / ICMP(type=3)"
    yield "drop_policy", 0, f"{v4} / UDP(sport=0, dport=0)"
    yield "drop_policy", 0, f"{v4.replace('id=1', 'id=1, proto=1')} / Raw(bytes(3))"


def encrypt_cases_mtu() -> Iterator[tuple[str, int, str, int]]:
    """Counter, SA or next hop, expression, and the MTU to which the packet is cut, 0 if it is not. Lengths are of IP packets."""
    ether = f'Ether(dst="{PORT}", src="{HOST}")'

    def udp(dst: str, length: int, rest: str = "") -> str:
        payload = f"UDP(sport=7, dport=8) / Raw(bytes(range(251)) * 40)[Raw].load[:{length - 28}]"
        return f'{ether} / IP(src="10.0.0.1", dst="{dst}", id=0xabcd{rest}) / {payload}'

    def udp6(length: int) -> str:
        return f'{ether} / IPv6(src="2001:db8::1", dst="2001:db8:a::1") / UDP(sport=7, dport=8) / Raw(bytes({length - 48}))'

    df, option = ', flags="DF"', ", options=IPOption(bytes([0x94, 4, 0, 0]))"
    # 10.10/16 is not cut here above 600 B, 10.11/16 is; 10.12/16 is bypassed and cut above 576 B.
    for length in (600, 601, 9000):
        yield "tx_protect", 9, udp("10.10.0.1", length), 0
        yield "punt_mtu" if length > 600 else "tx_protect", 9, udp("10.10.0.1", length, df), 0
        yield "punt_mtu" if length > 600 else "tx_protect", 10, udp("10.11.0.1", length, df), 0
    for length in (599, 600, 601, 602, 609, 644, 1176, 1177, 9582):
        yield "tx_protect", 10, udp("10.11.0.1", length, ", tos=0xb9, ttl=5"), 600 if length > 600 else 0
    yield "tx_protect", 10, udp("10.11.0.1", 700, ', flags="evil"'), 600
    for length in (576, 577, 1500):
        yield "tx_bypass", 4, udp("10.12.0.1", length), 576 if length > 576 else 0
    # TTL comes first; a header with options is not cut; a flow's MTU counts where the flow does.
    yield "drop_ttl_expired", 0, udp("10.11.0.1", 601, df + ", ttl=1"), 0
    yield "tx_protect", 10, udp("10.11.0.1", 700, option), 0
    yield "punt_mtu", 10, udp("10.11.0.1", 700, option + df), 0
    for length in (1001, 1002):
        yield "tx_protect", 709, udp("10.11.0.79", length), 0
        yield "punt_mtu" if length > 1001 else "tx_protect", 709, udp("10.11.0.79", length, df), 0
    for length in (1280, 1281):
        yield "punt_mtu" if length > 1280 else "tx_protect", 9, udp6(length), 0


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


# RFC 6040 figure 4: rows are the arriving inner header, columns the arriving outer header (Not-ECT, ECT(0), ECT(1), CE).
NOT_ECT, ECT1, ECT0, CE, DROP = 0, 1, 2, 3, None
FIGURE_4 = {
    NOT_ECT: {NOT_ECT: NOT_ECT, ECT0: NOT_ECT, ECT1: NOT_ECT, CE: DROP},
    ECT0: {NOT_ECT: ECT0, ECT0: ECT0, ECT1: ECT1, CE: CE},
    ECT1: {NOT_ECT: ECT1, ECT0: ECT1, ECT1: ECT1, CE: CE},
    CE: {NOT_ECT: CE, ECT0: CE, ECT1: CE, CE: CE},
}


def around_the_ports() -> Iterator[tuple[str, int, int]]:
    """Counter and ports below, at and above both ends of the ranges that SAs 8 and 11 allow, and some bytes that agree alone."""
    for sport in (0, 4098, 4099, 4100, 0x10FF, 0x1100, 0x1300, 4999, 5000, 5001, 0x2003, 65535):
        yield "tx_frames" if 4099 <= sport <= 5000 else "drop_selector_mismatch", sport, 80
    for dport in (0, 79, 80, 81, 255, 256, 442, 443, 444, 0x0250, 65535):
        yield "tx_frames" if 80 <= dport <= 443 else "drop_selector_mismatch", 4100, dport


def decrypt_cases() -> Iterator[tuple[str, int, int, int, int, bool, str, int | None]]:
    """Counter, SA, sequence number, next header, outer TOS, bypass, expression, ECN of the result."""

    def ip(rest: str = "", src: str = "10.9.0.1", dst: str = "10.0.0.1") -> str:
        return f'IP(src="{src}", dst="{dst}", id=1{rest})'

    udp = "UDP(sport=7, dport=8)"
    count = 1000
    for length in (0, 1, 17, 18, 19, 21, 22, 23, 24, 35, 36, 37, 86, 87, 100, 1000, 1472, 8972, 9554):
        count += 1
        yield (
            "tx_frames",
            5,
            count,
            4,
            0,
            False,
            f"{ip()} / {udp} / Raw(bytes(range(200)) * 50)[Raw].load[:{length}]",
            None,
        )
    for padding in (1, 4, 30, 200, 3000):
        count += 1
        yield "tx_frames", 5, count, 4, 0, False, f"raw({ip()} / {udp}) + bytes({padding})", None
    # The window of SA 5 is 64; SA 6 does not check; SA 9 has no row.
    yield "drop_replayed", 5, count, 4, 0, False, f"{ip()} / {udp}", None
    yield "drop_replayed", 5, 1001, 4, 0, False, f"{ip()} / {udp}", None
    yield "drop_too_old", 5, count - 64, 4, 0, False, f"{ip()} / {udp}", None
    yield "tx_frames", 5, count - 63, 4, 0, False, f"{ip()} / {udp}", None
    yield "drop_too_old", 5, 0, 4, 0, False, f"{ip()} / {udp}", None
    yield "tx_frames", 5, (1 << 32) + 7, 4, 0, False, f"{ip()} / {udp}", None
    yield "drop_replayed", 5, (1 << 32) + 7, 4, 0, False, f"{ip()} / {udp}", None
    yield "drop_too_old", 5, count, 4, 0, False, f"{ip()} / {udp}", None
    for _ in range(2):
        yield "tx_frames", 6, 1, 4, 0, False, f"{ip()} / {udp}", None
    yield "tx_frames", 6, 0, 4, 0, False, f"{ip()} / {udp}", None
    yield "drop_no_selector", 9, 1, 4, 0, False, f"{ip()} / {udp}", None
    yield "drop_no_selector", 0xFFFF, 1, 4, 0, False, f"{ip()} / {udp}", None
    # ECN, with DSCP of inner and outer header that differ.
    for inner, row in FIGURE_4.items():
        for outer, result in row.items():
            count += 1
            counter = "drop_ecn" if result is DROP else "tx_frames"
            yield counter, 7, count, 4, 0x28 | outer, False, f"{ip(f', tos={0xB8 | inner}')} / {udp}", result
            yield "tx_frames", 7, 0, 0, 0x28 | outer, True, f"{ip(f', tos={0xB8 | inner}')} / {udp}", inner
    for ident in range(0, 65536, 4999):
        count += 1
        yield "tx_frames", 7, count, 4, 3, False, f'IP(src="10.9.0.1", dst="10.0.0.1", id={ident}, tos=1) / {udp}', CE
        count += 1
        yield "tx_frames", 7, count, 4, 1, False, f'IP(src="10.9.0.1", dst="10.0.0.1", id={ident}, tos=2) / {udp}', ECT1
    # Selectors: SA 8 allows UDP from 10.9.0.0/24 ports 4099 to 5000 to 10.0.0.1 ports 80 to 443.
    right = "UDP(sport=4100, dport=80)"
    narrow = [
        ("tx_frames", f"{ip()} / {right}"),
        ("drop_selector_mismatch", f"{ip(src='10.9.1.1')} / {right}"),
        ("drop_selector_mismatch", f"{ip(dst='10.0.0.2')} / {right}"),
        ("drop_selector_mismatch", f"{ip()} / TCP(sport=4100, dport=80)"),
        *((counter, f"{ip()} / UDP(sport={sport}, dport={dport})") for counter, sport, dport in around_the_ports()),
        ("drop_selector_mismatch", f"{ip(', frag=9, proto=17')} / Raw(raw({right}))"),
        ("tx_frames", f"{ip(', flags=1')} / {right}"),
        ("drop_selector_mismatch", f"{ip(', proto=17')} / Raw(bytes(3))"),
    ]
    for counter, expression in narrow:
        count += 1
        yield counter, 8, count, 4, 0, False, expression, None
    # A packet that its selectors refuse has moved the window all the same (RFC 4301 5.2, RFC 4303 3.4.3).
    yield "drop_replayed", 8, count, 4, 0, False, f"{ip()} / {right}", None
    # SA 14 allows ICMP of type 3 with codes 1 to 4.
    for kind, code in ((3, 0), (3, 1), (3, 4), (3, 5), (3, 255), (2, 1), (4, 4), (0, 3)):
        count += 1
        allowed = kind == 3 and 1 <= code <= 4
        expression = f"{ip()} / ICMP(type={kind}, code={code})"
        yield "tx_frames" if allowed else "drop_selector_mismatch", 14, count, 4, 0, False, expression, None
    yield "drop_selector_mismatch", 14, count + 1, 4, 0, False, f"{ip()} / UDP(sport=3, dport=1)", None
    # SA 5 allows any protocol: fragments and what has no ports.
    base = (1 << 32) + 100
    yield "tx_frames", 5, base, 4, 0, False, f"{ip(', frag=9')} / Raw(bytes(64))", None
    yield "tx_frames", 5, base + 1, 4, 0, False, f"{ip()} / ICMP()", None
    yield "drop_inner_malformed", 5, base + 2, 4, 0, False, 'IPv6(src="2001:db8::1", dst="2001:db8::2")', None
    yield "drop_inner_malformed", 5, base + 20, 41, 0, False, f"{ip()} / {udp}", None
    yield "drop_inner_not_ip", 5, base + 3, 17, 0, False, f"{ip()} / {udp}", None
    yield "drop_inner_not_ip", 5, base + 21, 43, 0, False, 'IPv6(src="2001:db8::1", dst="2001:db8::2")', None
    for i, field in enumerate(("version=6", "ihl=3", "len=19", "len=29")):
        yield "drop_inner_malformed", 5, base + 4 + i, 4, 0, False, f"{ip(', ' + field)} / {udp}", None
        yield "drop_inner_malformed", 7, 0, 0, 0, True, f"{ip(', ' + field)} / {udp}", None
    yield "drop_inner_checksum", 5, base + 10, 4, 0, False, f"{ip(', chksum=5')} / {udp}", None
    yield "drop_inner_checksum", 7, 0, 0, 0, True, f"{ip(', chksum=5')} / {udp}", None
    for ttl in (0, 1):
        yield "drop_inner_ttl_expired", 5, base + 11 + ttl, 4, 0, False, f"{ip(f', ttl={ttl}')} / {udp}", None
        yield "drop_inner_ttl_expired", 7, 0, 0, 0, True, f"{ip(f', ttl={ttl}')} / {udp}", None
    # Next hops: row 1 is empty (SA 10 names it), rows 0 and 7 are not; a bypassed packet names its own.
    yield "drop_no_next_hop", 10, 1, 4, 0, False, f"{ip()} / {udp}", None
    yield "drop_no_next_hop", 1, 0, 0, 0, True, f"{ip()} / {udp}", None
    yield "drop_no_next_hop", 0x107, 0, 0, 0, True, f"{ip()} / {udp}", None
    for length in (0, 18, 1400):
        yield "tx_frames", 0, 0, 0, 0, True, f"{ip(src='192.0.2.1')} / {udp} / Raw(bytes({length}))", None


def decrypt_cases_v6() -> Iterator[tuple[str, int, int, int, int, bool, str, int | None]]:
    """The same of IPv6."""

    def ip(rest: str = "", src: str = "2001:db8:9::1", dst: str = "2001:db8::1") -> str:
        return f'IPv6(src="{src}", dst="{dst}"{rest})'

    udp = "UDP(sport=7, dport=8)"
    count = 1 << 33
    for length in (0, 1, 15, 16, 17, 23, 24, 80, 1000, 1452, 8952, 9534):
        count += 1
        payload = f"{udp} / Raw(bytes(range(200)) * 50)[Raw].load[:{length}]"
        yield "tx_frames", 5, count, 41, 0, False, f"{ip()} / {payload}", None
        yield "tx_frames", 7, 0, 0, 0, True, f"{ip()} / {payload}", None
    for padding in (1, 30, 200):
        count += 1
        yield "tx_frames", 5, count, 41, 0, False, f"raw({ip()} / {udp}) + bytes({padding})", None
    yield "drop_replayed", 5, count, 41, 0, False, f"{ip()} / {udp}", None
    # ECN, beside every kind of DSCP and flow label.
    for inner, row in FIGURE_4.items():
        for outer, result in row.items():
            count += 1
            counter = "drop_ecn" if result is DROP else "tx_frames"
            marked = f"{ip(f', tc={0xA4 | inner}, fl=0xfedcb')} / {udp}"
            yield counter, 7, count, 41, 0x28 | outer, False, marked, result
            yield "tx_frames", 7, 0, 0, 0x28 | outer, True, marked, inner
    # SA 11 allows UDP from 2001:db8:9::/61 ports 4099 to 5000 to 2001:db8::1 ports 80 to 443; SA 8 the same of IPv4.
    right = "UDP(sport=4100, dport=80)"
    narrow = [
        ("tx_frames", f"{ip()} / {right}"),
        ("tx_frames", f"{ip(src='2001:db8:9:7:ffff:ffff:ffff:ffff')} / {right}"),
        ("drop_selector_mismatch", f"{ip(src='2001:db8:9:8::')} / {right}"),
        ("drop_selector_mismatch", f"{ip(src='2001:db8:8:ffff:ffff:ffff:ffff:ffff')} / {right}"),
        ("drop_selector_mismatch", f"{ip(dst='2001:db8::')} / {right}"),
        ("drop_selector_mismatch", f"{ip(dst='2001:db8:8000::1')} / {right}"),
        ("drop_selector_mismatch", f"{ip()} / TCP(sport=4100, dport=80)"),
        *((counter, f"{ip()} / UDP(sport={sport}, dport={dport})") for counter, sport, dport in around_the_ports()),
        ("tx_frames", f"{ip()} / HopByHop() / DestOpt() / {right}"),
        ("drop_selector_mismatch", f"{ip()} / Fragment(offset=9) / Raw(raw({right}))"),
        ("tx_frames", f"{ip()} / Fragment(m=1) / {right}"),
        ("drop_inner_extension_headers", f"{ip()} / {' / '.join(['DestOpt()'] * 5)} / {right}"),
        ("drop_inner_malformed", f"{ip(', plen=9')} / {right}"),
        ("tx_frames", f"{ip(', plen=7')} / {right}"),
        ("drop_inner_ttl_expired", f"{ip(', hlim=1')} / {right}"),
    ]
    for counter, expression in narrow:
        count += 1
        yield counter, 11, count, 41, 0, False, expression, None
    count += 1
    yield "drop_selector_mismatch", 11, count, 4, 0, False, f'IP(src="10.9.0.1", dst="10.0.0.1") / {right}', None
    count += 1
    yield "drop_selector_mismatch", 8, count, 41, 0, False, f"{ip(src='::10.9.0.1', dst='::10.0.0.1')} / {right}", None
    # SA 12 allows echo requests of IPv6.
    for counter, expression in (
        ("tx_frames", f"{ip()} / EchoRequest()"),
        ("tx_frames", f"{ip()} / DestOpt() / EchoRequest(seq=3) / Raw(bytes(50))"),
        ("drop_selector_mismatch", f"{ip()} / EchoReply()"),
        ("drop_selector_mismatch", f"{ip()} / UDP(sport=128, dport=0)"),
        ("drop_selector_mismatch", f"{ip(', nh=58')} / Raw(bytes([128, 0, 0]))"),
    ):
        count += 1
        yield counter, 12, count, 41, 0, False, expression, None
    # SA 13 allows types 1 to 4 of IPv6, of any code.
    for kind, code in ((0, 0), (1, 0), (1, 255), (2, 0), (4, 7), (5, 0), (129, 1)):
        count += 1
        expression = f"{ip(', nh=58')} / Raw(bytes([{kind}, {code}, 0, 0]))"
        yield "tx_frames" if 1 <= kind <= 4 else "drop_selector_mismatch", 13, count, 41, 0, False, expression, None
    count += 1
    yield "drop_selector_mismatch", 13, count, 41, 0, False, f"{ip()} / UDP(sport=1, dport=0)", None


def decrypt_row(
    counter: str, sa: int, sequence: int, next_header: int, tos: int, bypass: bool, expression: str, ecn: int | None
) -> str:
    packet = eval(expression, NAMES | {"raw": raw})
    packet = packet if isinstance(packet, bytes) else raw(packet)
    out = "-"
    if counter == "tx_frames":
        hop = NEXT_HOPS[sa if bypass else 7 if sa == 5 else 0]
        ether_type = 0x86DD if packet[0] >> 4 == 6 else 0x800
        frame = raw(Ether(dst=hop, src=PORT, type=ether_type) / Raw(routed(packet, ecn)))
        out = frame.ljust(60, b"\0").hex()
    return f"# {expression}\n{counter} {sa} {sequence} {next_header} {tos} {int(bypass)} {packet.hex()} {out}\n"


def encrypt_table() -> str:
    return ENCRYPT_HEAD + "".join(
        encrypt_row(*case) for case in (*encrypt_cases(), *encrypt_cases_v6(), *encrypt_cases_mtu())
    )


def decrypt_table() -> str:
    return DECRYPT_HEAD + "".join(decrypt_row(*case) for case in (*decrypt_cases(), *decrypt_cases_v6()))


TABLES = {"inner_encrypt.txt": encrypt_table, "inner_decrypt.txt": decrypt_table}


def test_committed_frames_are_scapys() -> None:
    for name, table in TABLES.items():
        assert (RESOURCES / name).read_text() == table(), name


if __name__ == "__main__":
    for name, table in TABLES.items():
        (RESOURCES / name).write_text(table())
