# SPDX-License-Identifier: Apache-2.0
"""Ranges of ports, ICMP types and codes, and of addresses, through one box, below, at and above
both ends, types of mobility headers, ports that cannot be read, and ESP of hosts behind the box;
by scapy."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import (
    MIP6MH_BA,
    MIP6MH_BRR,
    MIP6MH_BU,
    IPv6,
    IPv6ExtHdrDestOpt,
    MIP6MH_Generic,
    MIP6MH_HoTI,
)
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw

from tests.support.reference import Tunnel, esp_payload, forwarded

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
RED, BLACK = {"src": "198.18.0.1", "dst": "198.19.0.1"}, {"src": "198.19.0.1", "dst": "198.18.0.1"}
# Ports around 80-443 and around 1024-65535, and whether they are in.
LOW = [(port, 80 <= port <= 443) for port in (0, 1, 79, 80, 81, 127, 128, 255, 256, 442, 443, 444, 592, 65535)]
HIGH = [(port, port >= 1024) for port in (0, 1, 1023, 1024, 1025, 32767, 32768, 65534, 65535)]


def test_policies_of_ranges_encrypt_what_is_in_them(make_box) -> None:
    """UDP to a range uses one tunnel, TCP from a range another, an ICMP range is punted; the
    rest is dropped by name."""
    web, clients = Tunnel(), Tunnel(spi_out=0x3003, spi_in=0x4004)
    batch = web.batch("198.18.0.0/16", "198.19.0.0/16 proto udp dport 80-443", "198.19.0.0/16")
    batch += clients.lines("198.18.0.0/16", "198.19.0.0/16 proto tcp sport 1024-65535", "198.20.0.0/16")
    batch += "xfrm policy add dst 198.19.0.0/16 proto icmp type 3 code 1-4 dir out action punt\n"
    cases: list[tuple[Packet, Tunnel | str]] = []
    for port, inside in LOW:
        cases.append((IP(**RED) / UDP(sport=9, dport=port) / Raw(b"x" * 30), web if inside else "inner.drop_policy"))
        cases.append((IP(**RED) / UDP(sport=port, dport=9), "inner.drop_policy"))
    for port, inside in HIGH:
        cases.append((IP(**RED) / TCP(sport=port, dport=9), clients if inside else "inner.drop_policy"))
        cases.append((IP(**RED) / SCTP(sport=port, dport=9), "inner.drop_policy"))
    for kind, code in ((3, 0), (3, 1), (3, 4), (3, 5), (2, 1), (4, 1)):
        counter = "inner.punt_policy" if kind == 3 and 1 <= code <= 4 else "inner.drop_policy"
        cases.append((IP(**RED) / ICMP(type=kind, code=code), counter))
    outcome = make_box(batch).red([ETHERNET / packet for packet, _ in cases])
    sent = [(packet, tunnel) for packet, tunnel in cases if isinstance(tunnel, Tunnel)]
    for frame, (packet, tunnel) in zip(outcome.out, sent, strict=True):
        assert bytes(tunnel.peer_receiver().decrypt(esp_payload(frame))) == forwarded(bytes(packet))
    counters = [counter for _, counter in cases if isinstance(counter, str)]
    assert outcome.named() == {counter: counters.count(counter) for counter in counters}


def test_selectors_of_ranges_pass_what_is_in_them(make_box) -> None:
    """What an SA decrypts is held to both ranges of its policy (RFC 4301 5.2), of either
    IP version."""
    v4, v6 = Tunnel(), Tunnel(spi_out=0x3003, spi_in=0x4004)
    batch = v4.batch("198.18.0.0/16", "198.19.0.0/16", "198.19.0.0/16 proto udp sport 1024-65535 dport 80-443")
    batch += v6.lines("2001:db8:1::/48", "::/0", "2001:db8:2::/48 proto ipv6-icmp type 1-4")
    cases: list[tuple[Tunnel, Packet, bool]] = []
    cases += [(v4, IP(**BLACK) / UDP(sport=5000, dport=port) / Raw(b"x" * 20), inside) for port, inside in LOW]
    cases += [(v4, IP(**BLACK) / UDP(sport=port, dport=443), inside) for port, inside in HIGH]
    cases += [(v4, IP(**BLACK) / TCP(sport=5000, dport=80), False), (v4, IP(**BLACK, proto=17) / Raw(b"abc"), False)]
    inner = IPv6(src="2001:db8:2::1", dst="2001:db8:1::1", nh=58)
    cases += [(v6, inner / Raw(bytes([kind, 7, 0, 0])), 1 <= kind <= 4) for kind in (0, 1, 4, 5, 128)]
    inner = IPv6(src="2001:db8:2::1", dst="2001:db8:1::1") / IPv6ExtHdrDestOpt(nh=58)
    cases += [(v6, inner / Raw(bytes([kind, 7, 0, 0])), 1 <= kind <= 4) for kind in (0, 1, 4, 5)]
    senders = {id(tunnel): tunnel.peer_sender() for tunnel in (v4, v6)}
    frames = [ETHERNET / senders[id(tunnel)].encrypt(packet) for tunnel, packet, _ in cases]
    outcome = make_box(batch).black(frames)
    expected = [forwarded(bytes(packet)) for _, packet, inside in cases if inside]
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {"inner.drop_selector_mismatch": sum(not inside for _, _, inside in cases)}


def test_an_sa_of_several_sets_is_held_to_the_spd_in_its_order(make_box) -> None:
    """Policies of one SA, a block before the first and another SA's between them (RFC
    4301 4.4.1, 4.4.1.2); rekeyed, it has the same."""
    several, rekeyed, other = Tunnel(), Tunnel(spi_in=0x2009), Tunnel(spi_in=0x4004)
    batch = f"addr add {several.near}/24 dev black\n"
    for tunnel, reqid in ((several, 1), (rekeyed, 1), (other, 2)):
        inbound = next(line for line in tunnel.lines(*3 * ["any"]).splitlines() if f"spi {tunnel.spi_in:#x} " in line)
        batch += inbound.replace(f"reqid {tunnel.spi_in}", f"reqid {reqid}") + "\n"
    for reqid, priority, selector in (
        (1, 40, "src 198.19.1.0/24 dst 198.18.0.0/16"),
        (1, 20, "src 198.19.0.0/24 proto udp"),
        (2, 30, "src 198.19.1.64/26"),
    ):
        ends = f"src {several.far} dst {several.near}"
        batch += (
            f"xfrm policy add {selector} dir in priority {priority} tmpl {ends} proto esp reqid {reqid} mode tunnel\n"
        )
    batch += "xfrm policy add src 198.19.0.0/24 proto udp dport 53 dir in priority 10 action block\n"
    cases: list[tuple[str, Packet, int]] = [
        ("198.19.0.1", UDP(sport=7, dport=80), 1),  # priority 20
        ("198.19.0.1", UDP(sport=7, dport=53), 0),  # 10, a block
        ("198.19.0.1", TCP(sport=7, dport=80), 0),  # no policy
        ("198.19.1.1", UDP(sport=7, dport=53), 1),  # 40
        ("198.19.1.63", TCP(sport=7, dport=80), 1),
        ("198.19.1.64", TCP(sport=7, dport=80), 2),  # 30, before 40
        ("198.19.1.127", UDP(sport=7, dport=80), 2),
        ("198.19.1.128", ICMP(), 1),  # 40
        ("198.19.2.1", UDP(sport=7, dport=80), 0),  # no policy
    ]
    frames, expected = [], []
    for tunnel, reqid in ((several, 1), (other, 2), (rekeyed, 1)):
        sender = tunnel.peer_sender()
        for source, upper, wanted in cases:
            packet = IP(src=source, dst="198.18.0.1") / upper / Raw(b"x" * 30)
            frames.append(ETHERNET / sender.encrypt(packet))
            expected += [forwarded(bytes(packet))] if wanted == reqid else []
    outcome = make_box(batch).black(frames)
    assert len(expected) == 4 + 2 + 4
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {"inner.drop_selector_mismatch": len(frames) - len(expected)}


def test_an_sa_of_one_set_is_held_to_the_spd_in_its_order(make_box) -> None:
    """An earlier policy of another SA, and one that lets packets pass in clear, cut out of a wider
    set (RFC 4301 4.4.1)."""
    wide, narrow = Tunnel(), Tunnel(spi_out=0x3003, spi_in=0x4004)
    inbound = "dst 198.18.0.0/16 dir in"
    batch = f"addr add {wide.near}/24 dev black\n"
    for tunnel in (wide, narrow):
        batch += (
            next(line for line in tunnel.lines("any", "any", "any").splitlines() if f"spi {tunnel.spi_in:#x} " in line)
            + "\n"
        )
    for tunnel, priority, source in ((wide, 40, "198.19.0.0/16"), (narrow, 30, "198.19.7.0/24")):
        ends = f"src {tunnel.far} dst {tunnel.near} proto esp reqid {tunnel.spi_in}"
        batch += f"xfrm policy add src {source} {inbound} priority {priority} tmpl {ends} mode tunnel\n"
    batch += f"xfrm policy add src 198.19.8.0/24 {inbound} priority 20 action allow\n"
    frames, expected = [], []
    for tunnel, passing in (
        (wide, ("198.19.0.1", "198.19.6.255", "198.19.9.0")),
        (narrow, ("198.19.7.0", "198.19.7.255")),
    ):
        sender = tunnel.peer_sender()
        for source in ("198.19.0.1", "198.19.6.255", "198.19.7.0", "198.19.7.255", "198.19.8.1", "198.19.9.0"):
            packet = IP(src=source, dst="198.18.0.1") / UDP(sport=7, dport=9) / Raw(b"x" * 30)
            frames.append(ETHERNET / sender.encrypt(packet))
            expected += [forwarded(bytes(packet))] if source in passing else []
    outcome = make_box(batch).black(frames)
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {"inner.drop_selector_mismatch": len(frames) - len(expected)}


# Packets without a port or type to read: headers cut short, and a protocol number alone.
CUT_SHORT = [(6, b"abc"), (17, b""), (17, b"x"), (132, b"abc"), (1, b"")]


def test_policies_of_opaque_ports_encrypt_what_has_none(make_box) -> None:
    """OPAQUE (RFC 4301 4.4.1.1) is of no packet with ports, no port is of OPAQUE, and ANY is of
    both; a later fragment has the ports of the first."""
    opaque, ported = Tunnel(), Tunnel(spi_out=0x3003, spi_in=0x4004)
    batch = opaque.batch("198.18.0.0/16", "198.19.0.0/16 sport opaque dport opaque", "198.19.0.0/16")
    batch += ported.lines("198.18.0.0/16", "198.19.0.0/16 proto udp dport 0-65534", "198.20.0.0/16")
    batch += "xfrm policy add dst 198.19.0.0/16 proto tcp dir out action punt priority 9\n"
    batch += "xfrm policy add src 198.18.0.1 dst 198.19.0.1 proto icmp type opaque dir out action punt\n"
    cases: list[tuple[Packet, Tunnel | str]] = []
    for number, start in CUT_SHORT:
        cases.append((IP(**RED, proto=number) / Raw(start), "inner.punt_policy" if number == 1 else opaque))
    cases += [
        (IP(**RED) / UDP(sport=0, dport=0), ported),
        (IP(**RED) / UDP(sport=9, dport=65535), "inner.drop_policy"),
        (IP(**RED) / TCP(sport=0, dport=0), "inner.punt_policy"),
        (IP(**RED) / ICMP(type=0, code=0), "inner.drop_policy"),
        (IP(**RED, proto=47) / Raw(bytes(20)), opaque),
    ]
    whole = IP(**RED, id=5) / UDP(sport=9, dport=53) / Raw(bytes(1200))
    frames = [ETHERNET / packet for packet, _ in cases] + [ETHERNET / piece for piece in reversed(fragment(whole, 600))]
    outcome = make_box(batch).red(frames)
    sent = [(packet, tunnel) for packet, tunnel in cases if isinstance(tunnel, Tunnel)]
    # The first fragment came last, and others waited for it.
    first, *later = fragment(whole, 600)
    sent += [(piece, ported) for piece in (first, *reversed(later))]
    for frame, (packet, tunnel) in zip(outcome.out, sent, strict=True):
        assert bytes(tunnel.peer_receiver().decrypt(esp_payload(frame))) == forwarded(bytes(packet))
    counters = [counter for _, counter in cases if isinstance(counter, str)]
    assert outcome.named() == {counter: counters.count(counter) for counter in counters}


def test_selectors_of_opaque_ports_pass_what_has_none(make_box) -> None:
    """An SA of OPAQUE ports carries later fragments whose first one goes by another SA (RFC 4301
    7.2), and headers cut short, and nothing with ports."""
    tunnel = Tunnel()
    box = make_box(tunnel.batch("198.18.0.0/16", "198.19.0.0/16", "198.19.0.0/16 proto udp sport opaque"))
    pieces = fragment(IP(**BLACK, id=7) / UDP(sport=7, dport=9) / Raw(bytes(2000)), 800)
    known = fragment(IP(**BLACK, id=8) / UDP(sport=7, dport=9) / Raw(bytes(2000)), 800)
    cases: list[tuple[Packet, bool]] = [(piece, True) for piece in pieces[1:]] + [(piece, False) for piece in known]
    cases += [(IP(**BLACK, proto=17) / Raw(start), True) for start in (b"", b"abc")]
    cases += [(IP(**BLACK) / UDP(sport=port, dport=port), False) for port in (0, 9, 65535)]
    cases += [(IP(**BLACK, proto=6) / Raw(b"abc"), False), (IP(**BLACK, proto=47) / Raw(bytes(20)), False)]
    peer = tunnel.peer_sender()
    outcome = box.black([ETHERNET / peer.encrypt(packet) for packet, _ in cases])
    expected = [forwarded(bytes(packet)) for packet, passes in cases if passes]
    assert len(expected) == len(pieces) + 1
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {"inner.drop_selector_mismatch": sum(not passes for _, passes in cases)}


def test_fragments_over_the_flags_of_tcp_are_dropped(make_box) -> None:
    """RFC 4301 7.2, RFC 1858 4: TCP in a tunnel that begins 8 bytes behind the first fragment's,
    whose flags a filter has seen."""
    tunnel = Tunnel()
    box = make_box(tunnel.batch("198.18.0.0/16", "198.19.0.0/16", "198.19.0.0/16"))
    pieces = fragment(IP(**BLACK, id=7) / TCP(sport=7, dport=9) / Raw(bytes(200)), 96)
    tiny = fragment(IP(**BLACK, id=8) / TCP(sport=7, dport=9) / Raw(bytes(20)), 8)
    others = fragment(IP(**BLACK, id=9) / UDP(sport=7, dport=9) / Raw(bytes(20)), 8)
    packets = [*pieces, *tiny, *others]
    dropped = [packet for packet in packets if packet.frag == 1 and packet.proto == 6]
    assert dropped == [tiny[1]]
    peer = tunnel.peer_sender()
    outcome = box.black([ETHERNET / peer.encrypt(IP(bytes(packet))) for packet in packets])
    expected = [forwarded(bytes(packet)) for packet in packets if packet not in dropped]
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {"inner.drop_fragment_offset": 1}


def test_esp_for_others_goes_by_the_policies(make_box) -> None:
    """ESP for another address and without an SA here is clear traffic (RFC 4301 5.2 step 3b), with
    any contents."""
    tunnel = Tunnel()
    batch = tunnel.batch("198.18.0.0/16", "198.19.0.0/16", "198.19.0.0/16")
    for source, action in (("203.0.113.0/24", "allow"), ("203.0.114.0/24", "block"), ("203.0.115.0/24", "punt")):
        batch += f"xfrm policy add src {source} dst 198.18.0.0/16 proto 50 dir fwd action {action}\n"

    def esp(source: str, size: int = 65, **fields: int | str) -> Packet:
        return IP(src=source, dst="198.18.0.1", id=size, **fields) / ESP(spi=tunnel.spi_in, seq=1, data=bytes(size))

    passing = [esp("203.0.113.1"), esp("203.0.113.2", 2000), esp("203.0.113.3", 66, tos=0xB9)]
    passing.append(IP(src="203.0.113.4", dst="198.18.0.1", proto=50) / Raw(bytes(33)))
    other = {
        "outer.drop_ttl_expired": esp("203.0.113.1", ttl=0),
        "outer.punt_policy": esp("203.0.115.1"),
    }
    stray = [esp("203.0.114.1"), esp("203.0.116.1")]
    inner = IP(src="198.19.0.1", dst="198.18.0.1") / UDP(sport=7, dport=9) / Raw(b"x" * 30)
    packets = [*passing, *other.values(), *stray, tunnel.peer_sender().encrypt(inner)]
    outcome = make_box(batch).black([ETHERNET / packet for packet in packets])
    expected = [forwarded(bytes(packet)) for packet in (*passing, inner)]
    # Bypassed packets overtake those that wait for a cipher.
    assert sorted(frame[14:] for frame in outcome.out) == sorted(expected)
    assert outcome.named() == dict.fromkeys(other, 1) | {"outer.drop_unknown_spi": len(stray)}


def test_an_sa_is_found_by_its_spi_alone(make_box) -> None:
    """RFC 4301 4.4.2: at each of the box's addresses, of either IP version, and in its own second
    one; ESP for others stays theirs."""
    v4, v6, second = (
        Tunnel(),
        Tunnel(spi_out=0x3003, spi_in=0x4004, near="2001:db8:b::1", far="2001:db8:b::2"),
        Tunnel(spi_out=0x5005, spi_in=0x6006, near="192.0.2.77"),
    )
    batch = v4.batch("198.18.0.0/16", "198.19.0.0/16", "198.19.0.0/16") + f"addr add {v6.near}/64 dev black\n"
    for number, tunnel in enumerate((v6, second), 20):
        batch += tunnel.lines("198.18.0.0/16", f"198.{number}.0.0/16", f"198.{number}.0.0/16")
    batch += "xfrm policy add src 203.0.113.0/24 dst 198.18.0.0/16 proto 50 dir fwd action allow\n"
    frames, expected = [], []
    for number, tunnel in enumerate((v4, v6, second), 19):
        sender = tunnel.peer_sender()
        for address in [v4.near, v6.near, tunnel.near]:
            packet = IP(src=f"198.{number}.0.1", dst="198.18.0.1") / UDP(sport=7, dport=len(frames)) / Raw(b"x" * 30)
            sealed = bytes(sender.encrypt(packet)[ESP])
            outer = IPv6(src=v6.far, dst=address, nh=50) if ":" in address else IP(src=v4.far, dst=address, proto=50)
            frames.append(ETHERNET / outer / Raw(sealed))
            expected.append(forwarded(bytes(packet)))
    theirs = IP(src="203.0.113.1", dst="198.18.0.1") / ESP(spi=v4.spi_in, seq=1, data=bytes(64))
    frames.append(ETHERNET / theirs)
    expected.append(forwarded(bytes(theirs)))
    strange = IP(src=v4.far, dst="192.0.2.78") / ESP(spi=second.spi_in, seq=99, data=bytes(64))
    frames.append(ETHERNET / strange)
    outcome = make_box(batch).black(frames)
    # Bypassed packets overtake those that wait for a cipher; short frames are padded.
    assert sorted(frame[14:][: int.from_bytes(frame[16:18], "big")] for frame in outcome.out) == sorted(expected)
    assert outcome.named() == {"outer.drop_unknown_spi": 1}


def test_types_of_mobility_headers_are_selected_both_ways(make_box) -> None:
    """RFC 4301 4.4.1.1, RFC 6275 6.1: one type by a flow, a range by rules and an SA's selector,
    behind extension headers, cut short."""
    tunnel = Tunnel()
    batch = tunnel.batch(
        "2001:db8:1::/48", "2001:db8:2::/48 proto 135 type 1-4", "2001:db8:2::/48 proto mobility-header type 1-4"
    )
    batch += "xfrm policy add src 2001:db8:1::1 dst 2001:db8:2::1 proto 135 type 5 dir out action punt\n"
    batch += "xfrm policy add dst 198.19.0.0/16 proto 135 dir out action punt\n"
    red = {"src": "2001:db8:1::1", "dst": "2001:db8:2::1"}
    black = {"src": red["dst"], "dst": red["src"]}
    messages = [
        MIP6MH_BRR(),
        MIP6MH_HoTI(),
        MIP6MH_BA(),
        *(MIP6MH_Generic(mhtype=kind) for kind in (0, 1, 4, 133, 255)),
    ]

    def kinds(ends: dict[str, str]) -> list[tuple[Packet, bool]]:
        cases: list[tuple[Packet, bool]] = []
        for message in messages:
            inside = 1 <= message.mhtype <= 4
            cases.append((IPv6(**ends) / message, inside))
            cases.append((IPv6(**ends) / IPv6ExtHdrDestOpt() / message, inside))
        # Too short for the type to count; the code that ICMP would have in its second byte; a port
        # that is the type.
        cases += [(IPv6(**ends, nh=135) / Raw(bytes([59, 0, 1, 0])[:size]), size == 4) for size in (0, 3, 4)]
        return [
            *cases,
            (IPv6(**ends, nh=58) / Raw(bytes([1, 1, 1, 1])), False),
            (IPv6(**ends) / UDP(sport=1, dport=1), False),
        ]

    sent = [packet for packet, inside in kinds(red) if inside]
    punted = [
        IPv6(**red) / MIP6MH_BU(seq=3),
        IPv6(**red) / IPv6ExtHdrDestOpt() / MIP6MH_BU(),
        IP(**RED, proto=135) / Raw(bytes(8)),
    ]
    elsewhere = IPv6(**red | {"src": "2001:db8:1::2"}) / MIP6MH_BU()
    dropped = [*(packet for packet, inside in kinds(red) if not inside), elsewhere]
    outcome = make_box(batch).red([ETHERNET / packet for packet in (*sent, *punted, *dropped)])
    receiver = tunnel.peer_receiver()
    assert [bytes(receiver.decrypt(esp_payload(frame))) for frame in outcome.out] == [forwarded(bytes(p)) for p in sent]
    assert outcome.named() == {"inner.punt_policy": len(punted), "inner.drop_policy": len(dropped)}
    cases, sender = kinds(black), tunnel.peer_sender()
    outcome = make_box(batch).black([ETHERNET / sender.encrypt(packet) for packet, _ in cases])
    expected = [forwarded(bytes(packet)) for packet, inside in cases if inside]
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {"inner.drop_selector_mismatch": sum(not inside for _, inside in cases)}


# Lists of addresses of either IP version, and addresses at, below and above their ends.
NEAR_LISTS = {
    "198.18.0.1-198.18.0.20,198.18.2.0/24": [
        *(f"198.18.0.{last}" for last in (0, 1, 2, 15, 16, 19, 20, 21)),
        *("198.18.1.255", "198.18.2.0", "198.18.2.255", "198.18.3.0"),
    ],
    "2001:db8:1::7-2001:db8:1::9": [f"2001:db8:1::{last}" for last in ("6", "7", "8", "9", "a", "1:8")],
}
FAR_LISTS = {
    "198.19.0.9-198.19.0.10": [f"198.19.0.{last}" for last in (8, 9, 10, 11)],
    "2001:db8:4::/48,2001:db8:2::/48": [
        *("2001:db8:1:ffff::1", "2001:db8:2::", f"2001:db8:2{':ffff' * 5}", "2001:db8:3::1"),
        *("2001:db8:4::", f"2001:db8:4{':ffff' * 5}", "2001:db8:5::"),
    ],
}


def holds(words: str, address: str) -> bool:
    """Whether a list has an address, by the standard library's numbers."""
    for part in words.split(","):
        first, _, last = part.partition("-")
        if last:
            inside = int(ip_address(first)) <= int(ip_address(address)) <= int(ip_address(last))
        else:
            inside = ip_address(address) in ip_network(part)
        if inside:
            return True
    return False


def tunnels_of_lists() -> tuple[list[Tunnel], str]:
    """A tunnel of lists on both sides for each IP version, one policy each way."""
    tunnels = [Tunnel(), Tunnel(spi_out=0x3003, spi_in=0x4004)]
    batch = f"addr add {tunnels[0].near}/24 dev black\n"
    for tunnel, near, far in zip(tunnels, NEAR_LISTS, FAR_LISTS, strict=True):
        back = "::/0" if ":" in far else "0.0.0.0/0"
        batch += tunnel.lines(near, far, far).replace(f"src {far} dst {back} dir in", f"src {far} dst {near} dir in")
    assert batch.count("policy add") == 4
    return tunnels, batch


def between(sources: dict[str, list[str]], destinations: dict[str, list[str]]) -> list[tuple[int, Packet, bool]]:
    """Packets between all addresses of two lists; which tunnel's they are, and whether both lists
    hold them."""
    cases: list[tuple[int, Packet, bool]] = []
    for number, (source, destination) in enumerate(zip(sources, destinations, strict=True)):
        for src in sources[source]:
            for dst in destinations[destination]:
                header = (IPv6 if ":" in src else IP)(src=src, dst=dst)
                inside = holds(source, src) and holds(destination, dst)
                cases.append((number, header / UDP(sport=7, dport=9) / Raw(b"x" * 30), inside))
    return cases


def test_one_policy_of_lists_encrypts_what_is_in_them(make_box) -> None:
    """RFC 4301 4.4.1.1: src and dst are lists of ranges in one SPD entry, of either IP version;
    packets outside are dropped by name."""
    tunnels, batch = tunnels_of_lists()
    cases = between(NEAR_LISTS, FAR_LISTS)
    outcome = make_box(batch).red([ETHERNET / packet for _, packet, _ in cases])
    sent = [(tunnels[number], packet) for number, packet, inside in cases if inside]
    assert len(sent) == 8 * 2 + 3 * 4
    for frame, (tunnel, packet) in zip(outcome.out, sent, strict=True):
        assert bytes(tunnel.peer_receiver().decrypt(esp_payload(frame))) == forwarded(bytes(packet))
    assert outcome.named() == {"inner.drop_policy": len(cases) - len(sent)}


def test_an_sa_of_lists_passes_what_is_in_them(make_box) -> None:
    """What an SA under one policy of lists decrypts is held to all of both (RFC 4301 5.2)."""
    tunnels, batch = tunnels_of_lists()
    cases = between(FAR_LISTS, NEAR_LISTS)
    senders = [tunnel.peer_sender() for tunnel in tunnels]
    outcome = make_box(batch).black([ETHERNET / senders[number].encrypt(packet) for number, packet, _ in cases])
    expected = [forwarded(bytes(packet)) for _, packet, inside in cases if inside]
    assert len(expected) == 8 * 2 + 3 * 4
    assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
    assert outcome.named() == {"inner.drop_selector_mismatch": len(cases) - len(expected)}


def test_lists_of_clear_traffic_pass_both_ways(make_box) -> None:
    """One policy each way lets the packets between two lists by in clear, and punts those of a list
    that comes before."""
    near, far = "198.18.0.1-198.18.0.20,198.18.2.0/24", "198.19.0.9-198.19.0.10"
    batch = f"xfrm policy add src {near} dst {far} dir out action allow priority 9\n"
    batch += f"xfrm policy add src {far} dst {near} dir in action allow priority 9\n"
    batch += "xfrm policy add src 198.18.0.15-198.18.0.19 dir out action punt priority 8\n"
    batch += "xfrm policy add dst 198.18.0.15-198.18.0.19 dir in action punt priority 8\n"
    for way, cases in (("red", between(NEAR_LISTS, FAR_LISTS)), ("black", between(FAR_LISTS, NEAR_LISTS))):
        cases = [(packet, inside) for number, packet, inside in cases if number == 0]
        here = [str(packet.src if way == "red" else packet.dst) for packet, _ in cases]
        punted = [holds("198.18.0.15-198.18.0.19", host) for host in here]
        frames = [ETHERNET / packet for packet, _ in cases]
        box = make_box(batch)
        outcome = box.red(frames) if way == "red" else box.black(frames)
        expected = [
            forwarded(bytes(packet))
            for (packet, inside), punt in zip(cases, punted, strict=True)
            if inside and not punt
        ]
        assert len(expected) == 5 * 2
        assert [frame[14:][: len(packet)] for frame, packet in zip(outcome.out, expected, strict=True)] == expected
        chip = "inner" if way == "red" else "outer"
        dropped = len(cases) - len(expected) - sum(punted)
        assert outcome.named() == {f"{chip}.punt_policy": sum(punted), f"{chip}.drop_policy": dropped}
