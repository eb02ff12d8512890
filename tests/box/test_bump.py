# SPDX-License-Identifier: Apache-2.0
"""Bump in the wire: a bridged box passes bypassed frames unchanged, both ways. Protected frames
come out of the box at the other end as they went into the first."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6MLReport2,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RS,
    IPv6,
    IPv6ExtHdrFragment,
    fragment6,
)
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import ARP, LLC, Dot3, Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.hosts import (
    BRIDGE,
    FAR_V6,
    NEAR_V6,
    TAGS,
    TO_BLACK,
    TO_RED,
    Pair,
    header_length,
    ip_of,
    on_the_wire,
    opened,
    sealed,
)
from tests.support.registers import Registers, field

V4, V6 = Pair(), Pair(spi_out=0x3003, spi_in=0x4004, near=NEAR_V6, far=FAR_V6)
EVERYBODY = "ff:ff:ff:ff:ff:ff"
WAYS = {"encrypt": ("box0.red", "box0.black"), "decrypt": ("box0.black", "box0.red")}
both_ways = pytest.mark.parametrize("way", WAYS)


def through(batch: str, way: str, frames: list[bytes | Packet], folder: Path) -> tuple[list[bytes], dict[str, int]]:
    """The frames that leave a box for frames into one of its ports."""
    into, out = WAYS[way]
    seen = boxes.run([batch], {into: frames}, [out], folder)
    return seen.out[out], seen.named[0]


def neighbours() -> list[Packet]:
    """ARP and neighbour discovery, in a VLAN too."""
    src = "02:00:00:00:00:11"
    ask, answer = ARP(op=1, hwsrc=src, psrc=V4.near, pdst=V4.far), ARP(op=2, hwsrc=src, psrc=V4.near, pdst=V4.far)
    solicited = IPv6(src="fe80::11", dst="ff02::1:ff00:1", hlim=255)
    return [
        Ether(src=src, dst=EVERYBODY) / ask,
        TO_BLACK / answer,
        TAGS["VLAN"](Ether(src=src, dst=EVERYBODY)) / ask,
        TAGS["QinQ"](TO_BLACK) / answer,
        Ether(src=src, dst="33:33:ff:00:00:01") / solicited / ICMPv6ND_NS(tgt=V6.far),
        TO_BLACK / IPv6(src="fe80::11", dst="fe80::22", hlim=255) / ICMPv6ND_NA(tgt=V6.near),
        TAGS["VLAN"](TO_BLACK) / IPv6(src=V6.near, dst=V6.far, hlim=255) / ICMPv6ND_NS(tgt=V6.far),
        Ether(src=src, dst="33:33:00:00:00:02") / IPv6(src="fe80::11", dst="ff02::2", hlim=255) / ICMPv6ND_RS(),
    ]


@both_ways
@pytest.mark.parametrize("policies", ["", V4.lines() + V6.lines()], ids=["no policies", "hosts protected"])
def test_neighbours_find_one_another_through_the_box(tmp_path: Path, way: str, policies: str) -> None:
    """Whatever the policies say, and as they came."""
    frames = [bytes(frame) for frame in neighbours()]
    out, named = through(BRIDGE + policies, way, frames, tmp_path)
    assert out == [on_the_wire(frame) for frame in frames]
    assert named == {}


@both_ways
def test_nothing_else_passes_by_default(tmp_path: Path, way: str) -> None:
    frames = [
        TO_BLACK / V4.packet(10),
        TO_BLACK / IP(src=V4.near, dst=V4.far) / ICMP(),
        TO_BLACK / V6.packet(10),
        TO_BLACK / IPv6(src="fe80::11", dst="ff02::16") / ICMPv6MLReport2(),
        TO_BLACK / IPv6(src="fe80::11", dst="fe80::22") / ICMPv6EchoRequest(),
    ]
    chip = "inner" if way == "encrypt" else "outer"
    other = [
        TO_BLACK / Raw(b"\x08" * 60),
        Dot3(src="02:00:00:00:00:11", dst="01:80:c2:00:00:00") / LLC() / Raw(b"bpdu"),
    ]
    other[0].type = 0x88CC
    out, named = through(BRIDGE, way, [*frames, *other], tmp_path)
    assert out == []
    assert named == {f"{chip}.drop_policy": len(frames), f"{chip}.punt_other": len(other)}


def clear_frames() -> list[Packet]:
    """Of all kinds that a policy may let pass: a bridge looks at no TTL, and changes nothing."""
    v4, v6 = {"src": V4.near, "dst": V4.far}, {"src": V6.near, "dst": V6.far}
    packets = [
        IP(**v4, ttl=1, tos=0xB9, id=7) / UDP(sport=7, dport=9) / Raw(b"x" * 30),
        IP(**v4, ttl=0) / TCP(sport=7, dport=9),
        IP(**v4, options=[IPOption(b"\x94\x04\0\0")] * 10) / UDP() / Raw(bytes(100)),
        IP(**v4) / UDP(sport=500, dport=500) / Raw(bytes(100)),
        IP(**v4) / UDP(sport=4500, dport=4500) / Raw(bytes(100)),
        IP(**v4) / ICMP(type=8, id=3, seq=4) / Raw(b"ping"),
        IP(**v4, flags="DF") / UDP(sport=7, dport=9) / Raw(bytes(9000)),
        IPv6(**v6, hlim=1, tc=0xB9, fl=0xABCDE) / UDP(sport=7, dport=9) / Raw(b"x" * 3),
        IPv6(**v6) / ICMPv6EchoRequest(id=3, seq=4),
        IPv6(src="fe80::11", dst="ff02::16", hlim=1) / ICMPv6MLReport2(),
    ]
    tags = list(TAGS.values())
    return [tags[n % 3](TO_BLACK) / packet for n, packet in enumerate(packets)]


ALL_CLEAR = "".join(
    f"xfrm policy add src {src} dst {dst} dir {way} action allow\n"
    for src, dst in (("0.0.0.0/0", "0.0.0.0/0"), ("::/0", "::/0"), ("::/0", "ff00::/8"))
    for way in ("out", "in")
)


@both_ways
def test_what_policies_let_pass_is_as_it_came(tmp_path: Path, way: str) -> None:
    """No next hop, no lower TTL."""
    frames = clear_frames()
    out, named = through(BRIDGE + ALL_CLEAR, way, frames, tmp_path)
    assert out == [on_the_wire(frame) for frame in frames]
    assert named == {}


@both_ways
@pytest.mark.parametrize("policies", [ALL_CLEAR, ""], ids=["allowed", "no policies"])
def test_fragments_of_one_link_meet_the_policies(tmp_path: Path, way: str, policies: str) -> None:
    """Of link-local hosts, to one of them and to many, in a VLAN too, in any order (RFC 4301 7)."""
    upper = UDP(sport=7, dport=9) / Raw(bytes(range(250)) * 8)
    heads = [IPv6(src="fe80::11", dst=dst, hlim=1) for dst in ("fe80::22", "ff02::16", "ff05::1:3")]
    tags = list(TAGS.values())
    cuts = [fragment6(head / IPv6ExtHdrFragment(id=n) / upper, 1280) for n, head in enumerate(heads)]
    frames = [tags[n](TO_BLACK) / piece for n, cut in enumerate(cuts) for piece in reversed(cut)]
    out, named = through(BRIDGE + policies, way, frames, tmp_path)
    assert sorted(out) == (sorted(map(bytes, frames)) if policies else [])
    assert named == ({} if policies else {f"{'inner' if way == 'encrypt' else 'outer'}.drop_policy": len(frames)})


def test_a_bridge_does_not_cut(tmp_path: Path) -> None:
    """A packet longer than the port's MTU is dropped, with or without DF, and no message
    reports it."""
    packets = [V4.packet(1400 - 28, flags=flags, id=7) for flags in ("DF", 0)]
    packets += [V4.packet(1401 - 28, flags=flags, id=8) for flags in ("DF", 0)] + [V6.packet(1401 - 48)]
    frames = [TO_BLACK / packet for packet in packets]
    out, named = through(f"link set black mtu 1400\n{BRIDGE}{ALL_CLEAR}", "encrypt", frames, tmp_path)
    assert out == [bytes(frame) for frame in frames[:2]]
    assert named == {"outer.drop_mtu": 3}


@pytest.mark.parametrize("action", ["allow", "block", None])
def test_esp_of_the_hosts_crosses_as_policies_say(tmp_path: Path, action: str | None) -> None:
    """ESP that no SA takes is the hosts' own (RFC 4301 5.2 step 3b), short and odd as it may be;
    that of an SA is not asked."""
    batch = BRIDGE + V6.lines()
    if action:
        batch += f"xfrm policy add src {V4.far} dst {V4.near} proto 50 dir in action {action}\n"
    head = IP(src=V4.far, dst=V4.near, ttl=1, tos=0x2E)
    theirs = [TO_RED / head / ESP(spi=V6.spi_in, seq=1, data=bytes(size)) for size in (0, 25, 64, 1400)]
    ours = TO_RED / V6.packet(100, back=True)
    out, named = through(batch, "decrypt", [*theirs, sealed(V6.far_sender(), ours)], tmp_path)
    crossing = theirs if action == "allow" else []
    assert sorted(out) == sorted([bytes(ours), *(on_the_wire(frame) for frame in crossing)])
    dropped = {"allow": {}, "block": {"outer.drop_unknown_spi": 4}, None: {"outer.drop_unknown_spi": 4}}
    assert named == dropped[action]


def test_nobody_takes_what_is_for_the_box_s_address(tmp_path: Path) -> None:
    """A bridge's own address is not on the path: ICMP to it passes by policy as any other."""
    frame = TO_RED / IP(src=V4.far, dst="198.18.0.9") / ICMP(type=8, id=3, seq=4) / Raw(b"ping")
    batch = "addr add 198.18.0.9/16 dev black\n" + BRIDGE + ALL_CLEAR
    out, named = through(batch, "decrypt", [frame], tmp_path)
    assert out == [on_the_wire(frame)]
    assert named == {}


def test_clear_protected_and_discarded_side_by_side(tmp_path: Path) -> None:
    """One host's TCP is protected, its ping passes, its UDP is discarded."""
    batch = V4.batch("proto tcp") + "".join(
        f"xfrm policy add src {src} dst {dst} proto icmp dir {way} action allow\n"
        for way, src, dst in (("out", V4.near, V4.far), ("in", V4.far, V4.near))
    )
    head = IP(src=V4.near, dst=V4.far, ttl=1)
    tcp, ping, udp = head / TCP(sport=7, dport=9) / Raw(b"x"), head / ICMP(id=3, seq=4) / Raw(b"ping"), head / UDP()
    out, named = through(batch, "encrypt", [TO_BLACK / packet for packet in (tcp, ping, udp)], tmp_path)
    # Bypassed packets overtake those that wait for a cipher.
    assert {out[0][23], out[1][23]} == {1, 50}
    secret, clear = sorted(out, key=lambda frame: frame[23] != 50)
    assert opened(V4.far_receiver(), secret) == bytes(TO_BLACK / tcp)
    assert clear == on_the_wire(TO_BLACK / ping)
    assert named == {"inner.drop_policy": 1}


# --- a mode that is not the SA's ---


@both_ways
def test_wrong_mode_is_dropped_by_name(tmp_path: Path, way: str) -> None:
    """An interface chip that sends a packet in another mode than its key's, by a fault,
    sends nothing."""
    chip, table, row = {"encrypt": ("inner", "rule", "RuleRow"), "decrypt": ("outer", "sad", "SadRow")}[way]

    def fault(sim: Simulator) -> None:
        with Registers(sim.socket(0)) as registers:
            index = registers.first(chip, table, field(row, "Valid"))
            registers.flip(chip, table, index, field(row, "Transport"))

    into, out = WAYS[way]
    frames = {"encrypt": TO_BLACK / V4.packet(100), "decrypt": sealed(V4.far_sender(), TO_RED / V4.packet(100, True))}
    seen = boxes.run([V4.batch()], {into: [frames[way]]}, [out], tmp_path, fault)
    assert seen.out[out] == []
    assert seen.named == [{f"crypto.drop_{way[:3]}_mode": 1}]


# --- two boxes back to back ---


def mixed(pairs: list[Pair], seed: int, back: bool) -> list[Packet]:
    """Frames of all kinds that two boxes must carry as they are."""
    choice = random.Random(seed)
    ether = TO_RED if back else TO_BLACK
    frames: list[Packet] = []
    for number in range(120):
        pair, tag = choice.choice(pairs), choice.choice(list(TAGS.values()))
        fields = {} if ":" in pair.near else {"id": number, "ttl": choice.randrange(256), "tos": choice.randrange(256)}
        if fields and choice.random() < 0.2:
            fields["options"] = [IPOption(b"\x94\x04\0\0")] * choice.randrange(1, 6)
        size = choice.choice([choice.randrange(64), choice.randrange(1472), choice.randrange(9000)])
        frames.append(tag(ether) / pair.packet(size, back, **fields))
    return frames


@pytest.mark.parametrize("names", [("aes256gcm16", "sm4gcm16"), ("sm4-sm3", "aes128-sha256")], ids=["GHASH", "chained"])
def test_two_boxes_are_not_there(tmp_path: Path, built_suites: list[str], names: tuple[str, str]) -> None:
    """Hosts on both sides see each other's frames byte for byte, in order, both ways at once; in
    between they are ESP."""
    if not set(names) <= set(built_suites):
        pytest.skip(f"the simulated crypto chip was built without {' or '.join(names)}")
    pairs = [
        Pair(suite=names[0], esn=True),
        Pair(suite=names[1], spi_out=0x3003, spi_in=0x4004, near=NEAR_V6, far=FAR_V6),
    ]
    batches = [
        BRIDGE + "".join(pair.lines() for pair in pairs),
        BRIDGE + "".join(pair.mirrored().lines() for pair in pairs),
    ]
    there, back = mixed(pairs, 1, back=False), mixed(pairs, 2, back=True)
    watch = ["box0.red", "box0.black", "box1.red"]
    seen = boxes.run(batches, {"box0.red": there, "box1.red": back}, watch, tmp_path, unmarked)
    for port, sent in (("box1.red", there), ("box0.red", back)):
        assert sorted(seen.out[port]) == sorted(map(on_the_wire, sent))
        for version in (b"\x08\x00", b"\x86\xdd"):  # each pair's frames keep their order
            mine = [frame for frame in seen.out[port] if ip_type(frame) == version]
            assert mine == [frame for frame in map(on_the_wire, sent) if ip_type(frame) == version]
    assert all(ESP in ip_of(frame) for frame in seen.out["box0.black"])
    assert seen.named == [{}, {}]


def unmarked(sim: Simulator) -> None:
    """No DSCP passes another, so that there is one order."""
    for box in (0, 1):
        sim.sallyctl(box, "qos", "set", "dscp", "none")


def ip_type(frame: bytes) -> bytes:
    """The type behind a frame's tags."""
    return frame[header_length(frame) - 2 : header_length(frame)]
