# SPDX-License-Identifier: Apache-2.0
"""Frames to the red port. The policy that the expectations assume stands in InnerSetup.scala."""

from collections.abc import Iterator

PORT, HOST = "02:00:00:00:00:01", "02:00:00:00:00:02"


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
    # Lengths: shorter than the padding, around the ends of beats, long; options; DF and TOS are
    # told to the crypto chip.
    for length in (0, 1, 17, 18, 19, 22, 23, 35, 36, 37, 50, 86, 87, 100, 1000, 1472, 8972, 9489, 9490):
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
    # Checksums whose update carries: every low byte of the identification in turn moves the sum.
    for ident in range(0, 65536, 1999):
        yield "tx_protect", 5, f'{ether} / IP(src="10.0.0.1", dst="10.1.0.9", id={ident}) / {udp}'
    # TTL: of what would go on alone.
    for ttl in (0, 1):
        yield "punt_ttl", 0, f"{ip('10.1.0.9', f', ttl={ttl}')} / {udp}"
        yield "punt_ttl", 0, f"{ip('10.2.0.9', f', ttl={ttl}')} / {udp}"
        yield "punt_policy", 0, f"{ip('10.3.0.9', f', ttl={ttl}')} / {udp}"
        yield "drop_policy", 0, f"{ip('10.4.0.9', f', ttl={ttl}')} / {udp}"
    # Tags are not looked at and stay here, whatever follows them: options, both families, padding,
    # ends of beats.
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
        yield "punt_resolution", 0, f"{ether} / {tags} / ARP()"
        yield "tx_protect", 5, f'{ether} / {tags} / IPv6(src="2001:db8::1", dst="2001:db8:1::1") / {udp}'
        yield "punt_link_local", 0, f'{ether} / {tags} / IPv6(src="fe80::1", dst="2001:db8:1::1") / {udp}'
        yield "drop_ip_malformed", 0, f"{ip('10.1.0.9', ', len=1501').replace(ether, f'{ether} / {tags}', 1)} / {udp}"
    # Not IPv4, not whole, not right.
    yield "punt_resolution", 0, f"{ether} / ARP()"
    yield "punt_vlan", 0, f'{ether} / Dot1Q(vlan=5) / Dot1Q(vlan=5) / Dot1Q(vlan=5) / IP(dst="10.1.0.9") / {udp}'
    yield "punt_other", 0, f'{ether} / MPLS(label=3) / IP(dst="10.1.0.9") / {udp}'
    yield "punt_other", 0, f'Ether(dst="{PORT}", src="{HOST}", type=46) / Raw(bytes(46))'
    yield "punt_other", 0, f'Ether(dst="{PORT}", src="{HOST}", type=0x88cc) / Raw(bytes(300))'
    # Fragments that are wrong by themselves; test_chip_fragments.py has those that are
    # put together.
    for field in ('flags="MF"', 'flags="MF", frag=7'):
        yield "drop_reasm_length", 0, f"{ip('10.1.0.9', ', ' + field)} / {udp} / Raw(bytes(7))"
    yield "drop_reasm_length", 0, f"{ip('10.1.0.9', ', frag=8191')} / {udp} / Raw(bytes(40))"
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
    # Priorities, flows, ports, and packets without ports.
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
    # Extension headers in front of the fields that the chip looks at.
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
        yield "punt_ttl", 0, f"{ip(there, f', hlim={hops}')} / {udp}"
        yield "punt_ttl", 0, f"{ip('2001:db8:2::1', f', hlim={hops}')} / {udp}"
        yield "punt_policy", 0, f"{ip('2001:db8:3::1', f', hlim={hops}')} / {udp}"
    # Of this link: neighbour discovery to any address, and addresses that no router passes on; and
    # the addresses beside those.
    for message in ("RS()", "RA()", "NS()", "NA()", "Redirect()"):
        yield "punt_nd", 0, f"{ip(there, ', hlim=255')} / {message}"
        yield "punt_nd", 0, f"{ip(there, ', hlim=255')} / DestOpt() / {message}"
    yield "tx_protect", 5, f"{ip(there)} / Unreachable()"
    yield "tx_protect", 5, f"{ip(there, ', nh=58')} / Raw(bytes([132, 0, 0, 0]))"
    yield "tx_protect", 5, f"{ip(there, ', nh=58')} / Raw(bytes([138, 0, 0, 0]))"
    yield "tx_protect", 5, f"{ip(there)} / UDP(sport=0x8700, dport=0)"
    for address in ("fe80::1", "fe80::", "febf:ffff::1"):
        yield "punt_link_local", 0, f"{ip(address)} / {udp}"
        yield "punt_link_local", 0, f"{ip(there, src=address)} / {udp}"
    for address in ("ff02::1", "ff00::", "ff12::1"):
        yield "punt_link_local", 0, f"{ip(address)} / {udp}"
    for address in ("ff03::1", "ff05::2", "ff0e::101"):
        yield "drop_policy", 0, f"{ip(address)} / {udp}"
    for address in ("fec0::1", "fe7f:ffff::1", "feff::1"):
        yield "drop_policy", 0, f"{ip(address)} / {udp}"
        yield "tx_protect", 5, f"{ip(there, src=address)} / {udp}"
    # Fragments, too many headers, broken ones.
    yield "drop_reasm_length", 0, f"{ip(there)} / Fragment(m=1) / {udp} / Raw(bytes(1))"
    yield "drop_reasm_length", 0, f"{ip(there)} / HopByHop() / Fragment(offset=8191) / {udp}"
    # First fragments without all of the upper-layer header (RFC 7112); test_chip_fragments.py has
    # those with just all of it.
    for protocol, size in ((6, 8), (6, 16), (132, 8), (51, 8), (4, 8), (4, 16), (41, 32)):
        yield "drop_reasm_headers", 0, f"{ip(there)} / Fragment(m=1, nh={protocol}) / Raw(bytes({size}))"
    for protocol in (6, 17, 58, 50, 132):
        yield "drop_reasm_headers", 0, f"{ip(there)} / Fragment(m=1) / DestOpt(nh={protocol})"
    yield "drop_reasm_headers", 0, f"{ip(there)} / HopByHop() / Fragment(m=1) / DestOpt() / DestOpt(nh=17)"
    yield "drop_reasm_length", 0, f"{ip(there)} / Fragment(m=1, nh=6) / Raw(bytes(9))"
    yield "punt_link_local", 0, f"{ip('fe80::1')} / Fragment(m=1) / {udp}"
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
    """Counter, SA or next hop, expression, and the MTU to which the packet is cut, 0 if it is not.
    Lengths are of IP packets."""
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
    # Longer than ESP of every suite holds: cut whatever the policy says, if that may be.
    for length in (9518, 9519, 9582):
        yield "tx_protect", 5, udp("10.1.0.9", length), 9518 if length > 9518 else 0
    yield "tx_protect", 9, udp("10.10.0.1", 9518), 0
    yield "tx_protect", 5, udp("10.1.0.9", 9519, df), 0
    yield "tx_protect", 5, udp("10.1.0.9", 9519, option), 0
    yield "tx_bypass", 3, udp("10.2.0.9", 9519), 0
    # TTL comes first; a header with options is not cut, so a bypassed packet with one is punted; a
    # flow's MTU counts where the flow does.
    yield "punt_ttl", 0, udp("10.11.0.1", 601, df + ", ttl=1"), 0
    yield "tx_protect", 10, udp("10.11.0.1", 700, option), 0
    yield "punt_mtu", 10, udp("10.11.0.1", 700, option + df), 0
    for length in (576, 577, 1500):
        yield "punt_mtu" if length > 576 else "tx_bypass", 4, udp("10.12.0.1", length - 4, option), 0
    for length in (1001, 1002):
        yield "tx_protect", 709, udp("10.11.0.79", length), 0
        yield "punt_mtu" if length > 1001 else "tx_protect", 709, udp("10.11.0.79", length, df), 0
    for length in (1280, 1281):
        yield "punt_mtu" if length > 1280 else "tx_protect", 9, udp6(length), 0
