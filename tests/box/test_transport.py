# SPDX-License-Identifier: Apache-2.0
"""Transport mode through one box, a bump in the wire between two hosts: judged by scapy both ways,
headers and tags included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption, defragment, fragment
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6Unknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    MIP6MH_Generic,
    PadN,
    fragment6,
)
from scapy.layers.ipsec import ESP
from scapy.packet import Packet, Raw

from sallyport import limits, suites
from tests.support.frames import read_frames
from tests.support.hosts import (
    BRIDGE,
    FAR,
    FAR_V6,
    NEAR,
    NEAR_V6,
    TAGS,
    TO_BLACK,
    TO_RED,
    Pair,
    ip_of,
    on_the_wire,
    opened,
    sealed,
)
from tests.support.replay import Box

V4, V6 = Pair(), Pair(near=NEAR_V6, far=FAR_V6)
LINK_LOCAL = Pair(near="fe80::11", far="fe80::22")
# A suite of each kind: GHASH, a chained hash, another cipher; blocks of 4 and of 16.
SUITES = ["aes256gcm16", "sm4-sm3", "aes128-sha256", "chacha20poly1305"]
every_suite = pytest.mark.parametrize("name", SUITES)
both_versions = pytest.mark.parametrize("pair", [V4, V6], ids=["IPv4", "IPv6"])
SIZES = [*range(0, 36), 99, 100, 101, 511, 1000, 1400, 1472, 4000, 9000]


def built(pair: Pair, name: str, built_suites: list[str]) -> Pair:
    """The pair with another suite, or a skip if the simulated chip says that it lacks it."""
    if suites.find(name).built not in built_suites:
        pytest.skip(f"the simulated crypto chip was built without {name}")
    return Pair(suite=name, esn=name != "aes256gcm16", near=pair.near, far=pair.far)


def option(words: int) -> list[Packet]:
    """IPv4 options of so many words of 4 bytes; none of them is anything but there."""
    return [IPOption(b"\x94\x04\0\0")] * words


def varied(pair: Pair, back: bool = False) -> list[Packet]:
    """IP packets of every length around a block, and of several protocols; a bridge looks at
    no TTL."""
    packets = [pair.packet(size, back) for size in SIZES]
    src, dst = (pair.far, pair.near) if back else (pair.near, pair.far)
    if pair.near == V4.near:
        head = IP(src=src, dst=dst, ttl=1, tos=0xB9, id=0xABCD, flags="DF")
        ping: Packet = ICMP(type=8, id=3, seq=4)
    else:
        head = IPv6(src=src, dst=dst, hlim=1, tc=0xB9, fl=0xABCDE)
        ping = ICMPv6EchoRequest(id=3, seq=4)
    experiment = head.copy()  # a protocol unknown to the chips (RFC 3692)
    experiment.setfieldval("proto" if pair.near == V4.near else "nh", 253)
    packets += [head / TCP(sport=1, dport=2, flags="S"), head / ping / Raw(b"ping"), experiment / Raw(b"\x01")]
    return [type(head)(bytes(packet)) for packet in packets]


def tagged(ether: Packet, packets: list[Packet]) -> list[Packet]:
    """The packets in frames with no tag, one and two in turn."""
    tags = list(TAGS.values())
    return [tags[number % len(tags)](ether) / packet for number, packet in enumerate(packets)]


@every_suite
@both_versions
def test_scapy_decrypts_what_hosts_send(make_box, built_suites: list[str], pair: Pair, name: str) -> None:
    """Every byte is the host's own but for ESP, the lengths, the protocol and the checksum:
    Ethernet header, tags, TTL, identification."""
    pair = built(pair, name, built_suites)
    frames = tagged(TO_BLACK, varied(pair))
    outcome = make_box(pair.batch()).red(frames)
    host = pair.far_receiver()
    for number, (black, red) in enumerate(zip(outcome.out, frames, strict=True), start=1):
        assert (ip_of(black)[ESP].spi, ip_of(black)[ESP].seq) == (pair.spi_out, number)
        assert opened(host, black) == bytes(red)
    assert outcome.named() == {}
    assert outcome.counters["inner"]["tx_protect"] == len(frames)


@every_suite
def test_length_on_the_wire_is_the_theory_s(make_box, built_suites: list[str], name: str) -> None:
    pair = built(V4, name, built_suites)
    sizes = [*range(64, 100), 1400, 1518]
    frames = [TO_BLACK / pair.packet(size - limits.ETHERNET_BYTES - 28) for size in sizes]
    outcome = make_box(pair.batch()).red(frames)
    assert [len(frame) + 4 for frame in outcome.out] == [
        limits.esp_frame_bytes(size, suites.find(name), "transport") for size in sizes
    ]


@every_suite
@both_versions
def test_scapy_s_esp_reaches_the_host(make_box, built_suites: list[str], pair: Pair, name: str) -> None:
    """The frame that comes out on red is, byte for byte, the one that the far host sealed."""
    pair = built(pair, name, built_suites)
    frames = tagged(TO_RED, varied(pair, back=True))
    host = pair.far_sender()
    outcome = make_box(pair.batch()).black([sealed(host, frame) for frame in frames])
    assert outcome.out == [on_the_wire(frame) for frame in frames]
    assert outcome.named() == {}


def test_hosts_of_one_link(make_box) -> None:
    """Link-local addresses are ends of SAs as any others are."""
    box = make_box(LINK_LOCAL.batch())
    out, back = TO_BLACK / LINK_LOCAL.packet(100), TO_RED / LINK_LOCAL.packet(100, back=True)
    outcome = box.red([out])
    assert [opened(LINK_LOCAL.far_receiver(), frame) for frame in outcome.out] == [bytes(out)]
    assert outcome.named() == {}
    outcome = box.black([sealed(LINK_LOCAL.far_sender(), back)])
    assert outcome.out == [bytes(back)]
    assert outcome.named() == {}


def test_hosts_have_sas_of_their_own(make_box) -> None:
    """One policy of networks, and one SA a direction for each two hosts. The box asks for SAs for
    other hosts, and does not let them through."""
    pairs = [Pair(spi_out=0x1000 + n, spi_in=0x2000 + n, near=f"198.18.0.{n}", far=f"198.19.0.{n}") for n in (1, 2, 3)]
    text = BRIDGE + "".join(pair.states(reqid=7) for pair in pairs)
    networks = {"out": "src 198.18.0.0/16 dst 198.19.0.0/16", "in": "src 198.19.0.0/16 dst 198.18.0.0/16"}
    for way, selector in networks.items():
        text += f"xfrm policy add {selector} dir {way} tmpl proto esp reqid 7 mode transport\n"
    box = make_box(text)
    frames = [TO_BLACK / pair.packet(size) for size in (10, 200) for pair in pairs]
    stranger = TO_BLACK / Pair(near=pairs[0].near, far=pairs[1].far).packet(10)
    outcome = box.red([*frames, stranger])
    assert [opened(pairs[n % 3].far_receiver(), frame) for n, frame in enumerate(outcome.out)] == [*map(bytes, frames)]
    assert outcome.named() == {"inner.punt_policy": 1}
    back = [TO_RED / pair.packet(size, back=True) for size in (10, 200) for pair in pairs]
    senders = [pair.far_sender() for pair in pairs]
    outcome = box.black([sealed(senders[n % 3], frame) for n, frame in enumerate(back)])
    assert outcome.out == [on_the_wire(frame) for frame in back]
    assert outcome.named() == {}


# Words of options that fill the 62 bytes that may stand in front of the payload: Ethernet header,
# tags, IPv4 header.
MOST_OPTIONS = {"untagged": 7, "VLAN": 6, "QinQ": 5}


@pytest.mark.parametrize("name", TAGS)
def test_options_stay_in_front_of_esp(make_box, name: str) -> None:
    """As many as there is room for, both ways; one word more is refused by name."""
    most = MOST_OPTIONS[name]
    fits = [V4.packet(size, options=option(words)) for words in (1, most) for size in (5, 500)]
    frames = [TAGS[name](TO_BLACK) / packet for packet in fits]
    too_long = TAGS[name](TO_BLACK) / V4.packet(100, options=option(most + 1))
    box = make_box(V4.batch())
    outcome = box.red([*frames[:2], too_long, *frames[2:]])
    assert [opened(V4.far_receiver(), frame) for frame in outcome.out] == [*map(bytes, frames)]
    assert outcome.named() == {"inner.drop_transport_header": 1}

    host = V4.far_sender()
    back = [
        TAGS[name](TO_RED) / V4.packet(100, back=True, options=option(words)) for words in (1, most, most + 1, most)
    ]
    outcome = box.black([sealed(host, frame) for frame in back])
    assert outcome.out == [bytes(frame) for frame in (back[0], back[1], back[3])]
    assert outcome.named() == {"outer.drop_transport_header": 1}


NO_ESP = {
    "IPv4 without payload": IP(src=NEAR, dst=FAR, proto=59),
    "IPv6 without payload": IPv6(src=NEAR_V6, dst=FAR_V6, nh=59),
    "hop-by-hop options": IPv6(src=NEAR_V6, dst=FAR_V6) / IPv6ExtHdrHopByHop() / UDP() / Raw(b"x" * 20),
    "destination options": IPv6(src=NEAR_V6, dst=FAR_V6) / IPv6ExtHdrDestOpt() / UDP() / Raw(b"x" * 20),
    "a fragment header alone": IPv6(src=NEAR_V6, dst=FAR_V6) / IPv6ExtHdrFragment() / UDP() / Raw(b"x" * 20),
}


@pytest.mark.parametrize("name", NO_ESP)
def test_what_esp_has_no_place_in_is_dropped_by_name(make_box, name: str) -> None:
    batch = V4.batch() + Pair(spi_out=0x3003, spi_in=0x4004, near=NEAR_V6, far=FAR_V6).lines()
    outcome = make_box(batch).red([TO_BLACK / V4.packet(1), TO_BLACK / NO_ESP[name], TO_BLACK / V4.packet(2)])
    host = V4.far_receiver()
    assert [opened(host, frame) for frame in outcome.out] == [bytes(TO_BLACK / V4.packet(size)) for size in (1, 2)]
    assert outcome.named() == {"inner.drop_transport_header": 1}


@pytest.mark.parametrize("header", [IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt()], ids=["hop-by-hop", "destination"])
def test_extension_headers_before_esp_are_dropped_by_name(make_box, header: Packet) -> None:
    host = V6.far_sender()
    good = [TO_RED / V6.packet(size, back=True) for size in (30, 40)]
    before, after = (sealed(host, frame) for frame in good)
    src, dst = V6.far, V6.near
    bad = TO_RED / host.encrypt(IPv6(bytes(IPv6(src=src, dst=dst) / header / UDP() / Raw(b"x" * 20))))
    outcome = make_box(V6.batch()).black([before, bad, after])
    assert outcome.out == [bytes(frame) for frame in good]
    assert outcome.named() == {"outer.drop_transport_header": 1}


# --- what an SA refuses ---


def flipped(frame: bytes, position: int) -> bytes:
    data = bytearray(frame)
    data[position] ^= 0x10
    return bytes(data)


UDP_PAIR = Pair()


def udp(port: int) -> Packet:
    return UDP(sport=7, dport=port) / Raw(b"far")


def icmp(kind: int) -> Packet:
    return ICMPv6Unknown(type=kind, msgbody=b"far.")


def mobility(kind: int) -> Packet:
    return MIP6MH_Generic(nh=59, len=0, mhtype=kind, msg=b"far.")


@pytest.mark.parametrize(
    ("more", "upper", "near", "far"),
    [
        ("proto udp", udp, (0, 9, 10), (0, 9, 10)),
        ("proto udp dport 0-9", udp, (0, 9), ()),
        ("proto 135 type 0-9", mobility, (0, 9), ()),
        ("proto 58 type 0-9", icmp, (0, 9), (0, 9)),
    ],
    ids=["udp", "ports", "mobility", "icmp"],
)
def test_numbers_too_far_behind_are_opaque(
    make_box, monkeypatch, more: str, upper: Callable[[int], Packet], near: tuple[int, ...], far: tuple[int, ...]
) -> None:
    """Behind two tags and 64 bytes of extension headers inside ESP, ports and the type of a
    mobility header are not among the bytes that are read; behind one tag they are."""
    ends, options = {"src": V6.far, "dst": V6.near}, IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(60))])
    frames = [
        (tags(TO_RED) / IPv6(**ends) / options / upper(number), number in passing)
        for tags, passing in ((TAGS["VLAN"], near), (TAGS["QinQ"], far))
        for number in (0, 9, 10)
    ]

    def behind_the_fixed_header(packet: Packet, protocol: int) -> tuple[Packet, int, bytes]:
        return IPv6(**ends, nh=protocol), packet.nh, bytes(packet.payload)

    # RFC 4303 3.1.1 has destination options on either side of ESP; scapy puts them in front.
    monkeypatch.setattr("scapy.layers.ipsec.split_for_transport", behind_the_fixed_header)
    sender = V6.far_sender()
    outcome = make_box(V6.batch(more)).black([sealed(sender, frame) for frame, _ in frames])
    assert outcome.out == [bytes(frame) for frame, passes in frames if passes]
    refused = sum(not passes for _, passes in frames)
    assert outcome.named() == ({"inner.drop_selector_mismatch": refused} if refused else {})


UDP_ONLY = "proto udp dport 9"


def bad_frames() -> dict[str, tuple[str, bytes]]:
    """A frame that the box must refuse between good ones with numbers 2001 and 2002, and
    its counter."""
    host, other = UDP_PAIR.far_sender(), Pair(far="198.19.0.99").packet(50, back=True)
    packet = UDP_PAIR.packet(50, back=True)
    tcp = IP(src=FAR, dst=NEAR) / TCP(sport=7, dport=9)
    port = IP(src=FAR, dst=NEAR) / UDP(sport=7, dport=10) / Raw(b"x")

    def seal(inner: Packet, number: int = 2500) -> bytes:
        return sealed(host, TO_RED / inner, seq_num=number)

    return {
        "bad ICV": ("crypto.drop_dec_icv", flipped(seal(packet), -1)),
        "bad text": ("crypto.drop_dec_icv", flipped(seal(packet), 60)),
        "replayed": ("inner.drop_replayed", seal(packet, 2001)),
        "too old": ("inner.drop_too_old", seal(packet, 2001 - 1024)),
        "another host": ("inner.drop_selector_mismatch", seal(other)),
        "another protocol": ("inner.drop_selector_mismatch", seal(tcp)),
        "another port": ("inner.drop_selector_mismatch", seal(port)),
        "unknown SPI": ("outer.drop_unknown_spi", sealed(Pair(spi_in=7).far_sender(), TO_RED / packet)),
        "IP checksum": ("outer.drop_ip_checksum", flipped(seal(packet), 25)),
        "clear packet of the policy": ("outer.drop_policy", bytes(TO_RED / packet)),
    }


@pytest.mark.parametrize("name", bad_frames())
def test_bad_frame_is_dropped_by_name(make_box, name: str) -> None:
    counter, bad = bad_frames()[name]
    host = UDP_PAIR.far_sender()
    good = [TO_RED / UDP_PAIR.packet(size, back=True) for size in (60, 70)]
    before, after = (sealed(host, frame, seq_num=2001 + number) for number, frame in enumerate(good))
    outcome = make_box(UDP_PAIR.batch(UDP_ONLY)).black([before, bad, after])
    assert outcome.out == [bytes(frame) for frame in good]
    assert outcome.named() == {counter: 1}


def test_what_the_policy_does_not_name_is_discarded(make_box) -> None:
    frames = [
        TO_BLACK / UDP_PAIR.packet(20),
        TO_BLACK / IP(src=NEAR, dst=FAR) / UDP(sport=7, dport=10),
        TO_BLACK / IP(src=NEAR, dst="198.19.0.99") / UDP(sport=7, dport=9),
        TO_BLACK / V6.packet(20),
    ]
    outcome = make_box(UDP_PAIR.batch(UDP_ONLY)).red(frames)
    assert [opened(UDP_PAIR.far_receiver(), frame) for frame in outcome.out] == [bytes(frames[0])]
    assert outcome.named() == {"inner.drop_policy": 3}


# --- fragments and lengths ---

MTU = 1400
# 1400 - 20 - 8 - 8 - 16 = 1348; two bytes of them are the trailer. The packet's own header adds
# to that.
LONGEST, LONGEST_V6 = 1346 + 20, 1326 + 40


def test_fragments_are_put_together_before_esp(make_box) -> None:
    """RFC 4303 3.3.4: transport mode is applied to whole datagrams. The frame around is that of the
    first fragment."""
    packets = [V4.packet(3000, id=number) for number in (1, 2)]
    cuts = [fragment(packet, 576) for packet in packets]
    frames = [TO_BLACK / piece for piece in cuts[0]] + [TAGS["VLAN"](TO_BLACK) / piece for piece in cuts[1][::-1]]
    outcome = make_box(V4.batch()).red(frames)
    expected = [TO_BLACK / packets[0], TAGS["VLAN"](TO_BLACK) / packets[1]]
    assert [opened(V4.far_receiver(), frame) for frame in outcome.out] == [bytes(frame) for frame in expected]
    assert outcome.named() == {}
    assert outcome.counters["inner"]["reasm_datagrams"] == 2


@pytest.mark.parametrize("pair", [V6, LINK_LOCAL], ids=["far", "of one link"])
def test_ipv6_fragments_are_put_together_before_esp(make_box, pair: Pair) -> None:
    packet = pair.packet(3000)
    whole = IPv6(src=pair.near, dst=pair.far) / IPv6ExtHdrFragment(id=7) / packet.payload
    outcome = make_box(pair.batch()).red([TO_BLACK / piece for piece in fragment6(whole, 1280)])
    assert [opened(pair.far_receiver(), frame) for frame in outcome.out] == [bytes(TO_BLACK / packet)]
    assert outcome.named() == {}


@both_versions
def test_fragments_of_esp_reach_the_host_whole(make_box, pair: Pair) -> None:
    packet = pair.packet(3000, back=True)
    esp = pair.far_sender().encrypt(packet)
    cut = {
        V4: lambda: fragment(esp, 800),
        V6: lambda: fragment6(IPv6(src=esp.src, dst=esp.dst) / IPv6ExtHdrFragment(id=7) / esp.payload, 1280),
    }
    pieces = cut[pair]()
    outcome = make_box(pair.batch()).black([TO_RED / piece for piece in reversed(pieces)])
    assert outcome.out == [bytes(TO_RED / packet)]
    assert outcome.named() == {}
    assert outcome.counters["outer"]["reasm_datagrams"] == 1


def sized(pair: Pair, length: int, **fields: Any) -> Packet:
    """A packet of `length` bytes."""
    return pair.packet(length - len(pair.packet(0, **fields)), **fields)


def test_what_is_too_long_is_cut_behind_esp(make_box) -> None:
    """The fragments have the packet's own identification and the frame's own addresses; none is
    longer than the MTU."""
    lengths = [LONGEST, LONGEST + 1, 300, 4000]
    frames = [TO_BLACK / sized(V4, length, id=length) for length in lengths]
    outcome = make_box(f"link set black mtu {MTU}\n" + V4.batch()).red(frames)
    pieces = [ip_of(frame) for frame in outcome.out]
    assert max(len(piece) for piece in pieces) <= MTU
    assert {frame[:14] for frame in outcome.out} == {bytes(TO_BLACK / IP())[:14]}
    whole = []
    for length in lengths:
        mine = [piece for piece in pieces if piece.id == length]
        joined = mine if len(mine) == 1 else defragment(mine)
        whole += [opened(V4.far_receiver(), bytes(TO_BLACK / packet)) for packet in joined]
    assert whole == [bytes(frame) for frame in frames]
    assert outcome.counters["outer"]["frag_packets"] == 2
    assert outcome.counters["outer"]["frag_split"] == len(pieces) - len(frames)
    assert outcome.named() == {}


@pytest.mark.parametrize(
    ("pair", "longest", "fields"), [(V4, LONGEST, {"flags": "DF"}), (V6, LONGEST_V6, {})], ids=["IPv4 with DF", "IPv6"]
)
def test_who_may_not_be_cut_is_punted(make_box, pair: Pair, longest: int, fields: dict) -> None:
    frames = [TO_BLACK / sized(pair, longest + more, **fields) for more in (0, 1, 0, 3000)]
    outcome = make_box(f"link set black mtu {MTU}\n" + pair.batch()).red(frames)
    host = pair.far_receiver()
    assert [opened(host, frame) for frame in outcome.out] == [bytes(frames[0]), bytes(frames[2])]
    assert all(len(ip_of(frame)) == MTU for frame in outcome.out)
    assert outcome.named() == {"inner.punt_mtu": 2}
    assert read_frames(outcome.folder / "punt-inner.pcapng") == [bytes(frames[1]), bytes(frames[3])]


@pytest.mark.parametrize("name", ["options", "VLAN"])
def test_what_the_box_cannot_cut_is_dropped_by_name(make_box, name: str) -> None:
    """Fragments of a header with options, or behind tags, are not made."""
    if name == "options":
        frames = [TO_BLACK / sized(V4, length, options=option(1)) for length in (LONGEST, LONGEST + 1)]
    else:
        frames = [TAGS["VLAN"](TO_BLACK) / sized(V4, length) for length in (LONGEST, LONGEST + 1)]
    outcome = make_box(f"link set black mtu {MTU}\n" + V4.batch()).red(frames)
    assert [opened(V4.far_receiver(), frame) for frame in outcome.out] == [bytes(frames[0])]
    assert outcome.named() == {"outer.drop_mtu": 1}


# --- lifetimes, as of any SA ---


def test_lifetimes_count_whole_packets(make_box) -> None:
    """Bytes are those of the IP packets before ESP, as in tunnel mode: 3 packets of 100 bytes reach
    a limit of 300."""
    batch = V4.batch().replace(
        f"reqid {V4.spi_out} mode transport dir", f"reqid {V4.spi_out} limit byte-hard 300 mode transport dir"
    )
    batch = batch.replace(
        f"reqid {V4.spi_in} mode transport dir", f"reqid {V4.spi_in} limit packet-hard 2 mode transport dir"
    )
    assert batch.count("limit") == 2
    box: Box = make_box(batch)
    outcome = box.red([TO_BLACK / sized(V4, 100, id=number) for number in range(5)])
    assert len(outcome.out) == 3
    assert outcome.named() == {"inner.drop_lifetime": 2}
    host = V4.far_sender()
    outcome = box.black([sealed(host, TO_RED / V4.packet(size, back=True)) for size in (10, 20, 30)])
    assert len(outcome.out) == 2
    assert outcome.named() == {"inner.drop_inner_lifetime": 1}
