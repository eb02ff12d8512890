# SPDX-License-Identifier: Apache-2.0
"""Packets from the crypto chip. The SAs and next hops that the expectations assume stand in
InnerSetup.scala."""

from collections.abc import Iterator

# RFC 6040 figure 4: rows are the arriving inner header, columns the arriving outer header (Not-ECT,
# ECT(0), ECT(1), CE).
NOT_ECT, ECT1, ECT0, CE, DROP = 0, 1, 2, 3, None
FIGURE_4 = {
    NOT_ECT: {NOT_ECT: NOT_ECT, ECT0: NOT_ECT, ECT1: NOT_ECT, CE: DROP},
    ECT0: {NOT_ECT: ECT0, ECT0: ECT0, ECT1: ECT1, CE: CE},
    ECT1: {NOT_ECT: ECT1, ECT0: ECT1, ECT1: ECT1, CE: CE},
    CE: {NOT_ECT: CE, ECT0: CE, ECT1: CE, CE: CE},
}

# The cells marked "(!!!)" or "(!)", currently unused, whose packets go on: inner, outer.
UNUSED = {(NOT_ECT, ECT0), (NOT_ECT, ECT1), (ECT1, ECT0), (CE, ECT1)}


def around_the_ports() -> Iterator[tuple[str, int, int]]:
    """Counter and ports below, at and above both ends of the ranges that SAs 8 and 11 allow, and
    some bytes that agree alone."""
    for sport in (0, 4098, 4099, 4100, 0x10FF, 0x1100, 0x1300, 4999, 5000, 5001, 0x2003, 65535):
        yield "tx_frames" if 4099 <= sport <= 5000 else "drop_selector_mismatch", sport, 80
    for dport in (0, 79, 80, 81, 255, 256, 442, 443, 444, 0x0250, 65535):
        yield "tx_frames" if 80 <= dport <= 443 else "drop_selector_mismatch", 4100, dport


def decrypt_cases() -> Iterator[tuple[str, int, int, int, int, bool, str, int | None]]:
    """Counter, SA, sequence number, next header, outer TOS, bypass, expression, ECN of
    the result."""

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
        # It waits for the first one of its datagram, which never comes.
        ("inner_frag_held", f"{ip(', frag=9, proto=17').replace('id=1', 'id=901')} / Raw(raw({right}))"),
        ("tx_frames", f"{ip(', flags=1')} / {right}"),
        ("drop_selector_mismatch", f"{ip(', proto=17')} / Raw(bytes(3))"),
    ]
    for counter, expression in narrow:
        count += 1
        yield counter, 8, count, 4, 0, False, expression, None
    # A packet that its selectors refuse has moved the window all the same (RFC 4301 5.2, RFC
    # 4303 3.4.3).
    yield "drop_replayed", 8, count, 4, 0, False, f"{ip()} / {right}", None
    # SA 14 allows ICMP of type 3 with codes 1 to 4.
    for kind, code in ((3, 0), (3, 1), (3, 4), (3, 5), (3, 255), (2, 1), (4, 4), (0, 3)):
        count += 1
        allowed = kind == 3 and 1 <= code <= 4
        expression = f"{ip()} / ICMP(type={kind}, code={code})"
        yield "tx_frames" if allowed else "drop_selector_mismatch", 14, count, 4, 0, False, expression, None
    yield "drop_selector_mismatch", 14, count + 1, 4, 0, False, f"{ip()} / UDP(sport=3, dport=1)", None
    # SA 1 is of group 77, SAs 2 and 3 of group 78, of InnerSetup's inboundRules: the first that
    # matches decides.
    for dst, rest, group in (
        ("10.0.1.200", "UDP(dport=80)", 77),  # first rule
        ("10.0.1.5", "UDP(dport=80)", 77),  # first rule, before one of the other group
        ("10.0.1.200", "UDP(dport=81)", None),  # a discard comes before the fourth
        ("10.0.1.5", "UDP(dport=82)", 78),  # the other group's comes before the fourth
        ("10.0.1.5", "TCP(dport=80)", 78),
        ("10.0.1.127", "ICMP()", 78),
        ("10.0.1.128", "ICMP()", 77),  # fourth rule
        ("10.0.0.0", "Raw(bytes(9))", 77),
        ("10.0.2.0", "UDP(dport=80)", None),  # no rule
        ("9.255.255.255", "ICMP()", None),
    ):
        for sa in (1, 2, 3):
            count += 1
            counter = "tx_frames" if group == (77 if sa == 1 else 78) else "drop_selector_mismatch"
            yield counter, sa, count, 4, 0, False, f"{ip(dst=dst)} / {rest}", None
    yield "tx_frames", 1, count + 1, 4, 0, False, f"{ip(', frag=9, proto=17', dst='10.0.1.200')} / Raw(bytes(20))", None
    # SA 5 allows any protocol: fragments and packets without ports.
    base = (1 << 32) + 100
    yield "tx_frames", 5, base, 4, 0, False, f"{ip(', frag=9')} / Raw(bytes(64))", None
    yield "tx_frames", 5, base + 1, 4, 0, False, f"{ip()} / ICMP()", None
    # TCP that begins in the header of the first fragment's (RFC 1858 4); the box leaves packets
    # alone that no tunnel has carried.
    over_header = (
        ("drop_fragment_offset", "frag=1, proto=6"),
        ("drop_fragment_offset", "frag=1, proto=6, flags=1"),
        ("tx_frames", "frag=0, proto=6, flags=1"),
        ("tx_frames", "frag=2, proto=6"),
        ("tx_frames", "frag=4097, proto=6"),
        ("tx_frames", "frag=1, proto=17"),
        ("tx_frames", "frag=1, proto=132"),
    )
    for i, (counter, fragment) in enumerate(over_header):
        alone = f"{ip(', ' + fragment).replace('id=1', f'id={200 + i}')} / Raw(bytes(64))"
        yield counter, 5, base + 30 + i, 4, 0, False, alone, None
        yield "tx_frames", 7, 0, 0, 0, True, alone, None
    yield "drop_fragment_offset", 5, base + 37, 4, 3, False, f"{ip(', frag=1, proto=6, ttl=1')} / Raw(bytes(64))", None
    yield "drop_selector_mismatch", 8, 4000, 4, 0, False, f"{ip(', frag=1, proto=6')} / Raw(bytes(64))", None
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
        yield "punt_tunnel_ttl", 5, base + 11 + ttl, 4, 0, False, f"{ip(f', ttl={ttl}')} / {udp}", None
        yield "punt_clear_ttl", 7, 0, 0, 0, True, f"{ip(f', ttl={ttl}')} / {udp}", None
    # Next hops: row 1 is empty (SA 10 names it), rows 0 and 7 are not; a bypassed packet names
    # its own.
    yield "punt_tunnel_route", 10, 1, 4, 0, False, f"{ip()} / {udp}", None
    yield "punt_clear_route", 1, 0, 0, 0, True, f"{ip()} / {udp}", None
    yield "punt_clear_route", 0x107, 0, 0, 0, True, f"{ip()} / {udp}", None
    # A clear packet needs a BYPASS of InnerSetup's inboundRules as the first that matches.
    for dst, rest, allowed in (
        ("10.0.0.1", udp, True),
        ("10.0.0.0", udp, False),  # a group's rule alone
        ("10.0.1.128", "UDP(dport=80)", False),  # a group's before the BYPASS
        ("10.0.1.128", "UDP(dport=81)", False),  # a discard before it
        ("10.0.1.127", "ICMP()", False),
        ("10.0.2.0", udp, False),  # no rule
        ("224.0.1.1", udp, False),
    ):
        counter = "tx_frames" if allowed else "drop_in_clear_denied"
        yield counter, 7, 0, 0, 0, True, f"{ip(dst=dst)} / {rest}", None
    # It is judged before its TTL, which is nothing to a packet that may not be here.
    yield "drop_in_clear_denied", 7, 0, 0, 0, True, f"{ip(', ttl=1', dst='10.0.2.0')} / {udp}", None
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
    # Where a first fragment of IPv6 ends nothing says how much of TCP was in it (RFC 4301 7.2).
    count += 1
    yield "tx_frames", 5, count, 41, 0, False, f"{ip()} / Fragment(offset=1, nh=6) / Raw(bytes(64))", None
    # SA 1 is of group 77, which the last of InnerSetup's inboundRules lets have 2001:db8:1::/48; SA
    # 2 is of another.
    for sa, dst in ((1, "2001:db8:1::1"), (1, "2001:db8:1:ffff::"), (1, "2001:db8:2::1"), (2, "2001:db8:1::1")):
        count += 1
        counter = "tx_frames" if sa == 1 and ":1:" in dst else "drop_selector_mismatch"
        yield counter, sa, count, 41, 0, False, f"{ip(dst=dst)} / {udp}", None
    # In clear: a BYPASS, a group's rule, none.
    for dst, counter in (
        ("2001:db8::1", "tx_frames"),
        ("2001:db8:1::1", "drop_in_clear_denied"),
        ("2001:db8::2", "drop_in_clear_denied"),
        ("::10.0.0.1", "drop_in_clear_denied"),
    ):
        yield counter, 7, 0, 0, 0, True, f"{ip(dst=dst)} / {udp}", None
    five = " / ".join(["DestOpt()"] * 5)
    yield "drop_inner_extension_headers", 7, 0, 0, 0, True, f"{ip()} / {five} / {udp}", None
    # ECN, beside every kind of DSCP and flow label.
    for inner, row in FIGURE_4.items():
        for outer, result in row.items():
            count += 1
            counter = "drop_ecn" if result is DROP else "tx_frames"
            marked = f"{ip(f', tc={0xA4 | inner}, fl=0xfedcb')} / {udp}"
            yield counter, 7, count, 41, 0x28 | outer, False, marked, result
            yield "tx_frames", 7, 0, 0, 0x28 | outer, True, marked, inner
    # SA 11 allows UDP from 2001:db8:9::/61 ports 4099 to 5000 to 2001:db8::1 ports 80 to 443; SA 8
    # the same of IPv4.
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
        ("inner_frag_held", f"{ip()} / Fragment(offset=9, id=901) / Raw(raw({right}))"),
        ("tx_frames", f"{ip()} / Fragment(m=1) / {right}"),
        ("drop_inner_extension_headers", f"{ip()} / {' / '.join(['DestOpt()'] * 5)} / {right}"),
        ("drop_inner_malformed", f"{ip(', plen=9')} / {right}"),
        ("tx_frames", f"{ip(', plen=7')} / {right}"),
        ("punt_tunnel_ttl", f"{ip(', hlim=1')} / {right}"),
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
