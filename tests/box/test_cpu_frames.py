# SPDX-License-Identifier: Apache-2.0
"""Frames to and from the management CPU: punt headers, policers of the trap groups, and frames that
it injects, on whole boxes."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, IPv6, IPv6ExtHdrFragment
from scapy.layers.ipsec import ESP
from scapy.layers.isakmp import ISAKMP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapReader

from sallyport.errors import InputError
from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.frames import write_frames
from tests.support.hosts import BRIDGE, TO_BLACK
from tests.support.punts import punted
from tests.support.reference import FAR, NEAR, NEAR_V6, Tunnel, esp_payload, forwarded
from tests.support.replay import sallyport

TUNNEL = Tunnel()
ROUTER = TUNNEL.batch(src="198.18.0.0/16", dst="198.19.0.0/16", back="198.19.0.0/16") + (
    f"addr add {NEAR_V6}/64 dev black\nlink set black mtu 1500\n"
)
ETHERNET = Ether(dst="02:00:00:00:00:62", src="02:00:00:00:00:99")
EVERYBODY = Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:00:00:00:99")
UNKNOWN = ESP(spi=7, seq=1, data=bytes(64))
NS = ICMPv6ND_NS(tgt="2001:db8::9")
CYCLES_PER_S = 300_000_000
# Of a token bucket: cycles in which it gains its rate, and cycles between two of its turns
# (docs/explanation/chips.md).
INTERVAL, TURNS = 1 << 26, 16


def ready(*limits: str):
    """Next hops and limits before frames come."""

    def before(sim: Simulator) -> None:
        boxes.next_hops(sim)
        for limit in limits:
            sim.sallyctl(0, "punt", "set", *limit.split())

    return before


def padded(frame: bytes | Packet) -> bytes:
    return bytes(frame).ljust(60, b"\0")


def piece(size: int, **fields: int) -> Packet:
    """A frame with a fragment for the box."""
    return ETHERNET / IPv6(src="2001:db8:c0::2", dst=NEAR_V6) / IPv6ExtHdrFragment(id=7, **fields) / Raw(bytes(size))


# Reason, group and frame of each sort, into the black port and into the red one.
BLACK = [
    ("ike", "ike", ETHERNET / IP(src=FAR, dst=NEAR) / UDP(sport=500, dport=500) / Raw(b"\x01" * 300)),
    ("ike", "ike", ETHERNET / IP(src=FAR, dst=NEAR) / UDP(sport=4500, dport=4500) / Raw(bytes(4) + b"\x01" * 28)),
    ("arp", "arp", EVERYBODY / ARP(op=1, psrc=FAR, pdst=NEAR)),
    ("resolution", "resolution", EVERYBODY / ARP(op=1, psrc=FAR, pdst="192.0.2.77")),
    ("nd", "nd", EVERYBODY / IPv6(src="2001:db8:c0::2", dst="ff02::1:ff00:1", hlim=255) / NS),
    ("resolution", "resolution", EVERYBODY / IPv6(src="2001:db8:c0::2", dst="ff02::1:ff00:77", hlim=255) / NS),
    ("link_local", "link_local", ETHERNET / IPv6(src="fe80::1", dst="fe80::2") / UDP() / Raw(b"x")),
    ("link_local", "link_local", ETHERNET / IP(src=FAR, dst="224.0.0.18", ttl=255, proto=112) / Raw(bytes(20))),
    ("icmp", "icmp", ETHERNET / IP(src=FAR, dst=NEAR) / ICMP(id=1, seq=2) / Raw(bytes(1000))),
    ("icmp", "icmp", ETHERNET / IPv6(src="2001:db8:c0::2", dst=NEAR_V6) / ICMPv6EchoRequest()),
    ("unknown_spi", "unknown_spi", ETHERNET / IP(src=FAR, dst=NEAR) / UNKNOWN),
    ("unknown_spi", "unknown_spi", ETHERNET / IPv6(src="2001:db8:c0::2", dst=NEAR_V6) / UNKNOWN),
    (
        "unknown_spi",
        "unknown_spi",
        ETHERNET / IP(src=FAR, dst=NEAR) / UDP(sport=4500, dport=4500) / Raw(b"\0\0\0\x07" + bytes(60)),
    ),
    # Of these the source is told (RFC 8200 4.5): a length that is no multiple of 8, an end beyond
    # 65,535, TCP of 16 bytes.
    ("reasm", "reasm", piece(63, nh=17, m=1, offset=1)),
    ("reasm", "reasm", piece(1400, nh=17, m=1, offset=8180)),
    ("reasm", "reasm", piece(16, nh=6, m=1)),
    ("vlan", "other", ETHERNET / Dot1Q() / Dot1Q() / Dot1Q() / IP(dst=NEAR)),
    ("other", "other", Ether(dst="01:80:c2:00:00:0e", src="02:00:00:00:00:99", type=0x88CC) / Raw(bytes(46))),
]
RED = [
    ("arp", "arp", EVERYBODY / ARP(op=1, psrc="198.18.0.2", pdst="198.18.0.1")),
    ("nd", "nd", EVERYBODY / IPv6(src="fe80::1", dst="ff02::1:ff00:1", hlim=255) / NS),
    ("link_local", "link_local", ETHERNET / IP(src="198.18.0.2", dst="224.0.0.1", ttl=1, proto=2) / Raw(bytes(8))),
    ("ttl", "ttl", ETHERNET / IP(src="198.18.0.2", dst="198.19.0.2", ttl=1) / UDP() / Raw(b"probe")),
    ("mtu", "mtu", ETHERNET / IP(src="198.18.0.2", dst="198.19.0.2", flags="DF") / UDP() / Raw(bytes(1472))),
    ("other", "other", Ether(dst="01:80:c2:00:00:0e", src="02:00:00:00:00:99", type=0x88CC) / Raw(bytes(9582))),
]


def test_headers_say_what_a_frame_is(tmp_path: Path) -> None:
    """Reason, group, port and time of each frame of each port; the engine holds length and reserved
    bytes against the frame."""
    frames = {"box0.red": [frame for *_, frame in RED] * 3, "box0.black": [frame for *_, frame in BLACK] * 3}
    seen = boxes.run([ROUTER], frames, ["box0.inner.punt", "box0.outer.punt"], tmp_path, ready())
    for port, (chip, kinds) in enumerate({"inner": RED, "outer": BLACK}.items()):
        found = punted(tmp_path, chip)
        # Control passes the others, so the order is not that of the wire.
        assert sorted((p.reason, p.group, p.frame) for p in found) == sorted((r, g, padded(f)) for r, g, f in kinds * 3)
        assert {p.port for p in found} == {port}
        times = [p.cycle for p in found]
        assert times == sorted(set(times))
        # A frame leaves soon after it was judged, the longest 150 beats later; what register
        # accesses before the run took of the chip's clock is between its cycles and simulated time.
        since = [p.left_ns * CYCLES_PER_S / 1e9 - p.cycle for p in found]
        assert max(since) - min(since) < 200
    assert sum(seen.named[0].values()) == 3 * (len(RED) + len(BLACK))
    assert not [name for name in seen.named[0] if "drop" in name]


def test_esp_without_an_sa_has_all_that_a_log_needs(tmp_path: Path) -> None:
    """Time, SPI, addresses, protocol, sequence number and flow label of ESP to the box that no SA
    is for, as scapy reads them in what the management CPU gets (RFC 4301 5.2 step 3a, RFC
    4303 3.4.2)."""
    esp = [ESP(spi=0xC0FFEE00 + n, seq=0xFFFFFFF0 + n, data=bytes(64 + 4 * n)) for n in range(6)]
    outer = [
        IPv6(src="2001:db8:77::5", dst=NEAR_V6, fl=0xABCDE, tc=3) / esp[0],
        IP(src="203.0.113.7", dst=NEAR) / esp[1],
        IP(src="203.0.113.8", dst=NEAR) / UDP(sport=61000, dport=4500) / esp[2],
        IPv6(src="2001:db8:77::6", dst=NEAR_V6, fl=1) / esp[3],
        IPv6(src="2001:db8:77::6", dst=NEAR_V6) / esp[4],
        IP(src="203.0.113.9", dst=NEAR) / esp[5],
    ]
    frames = [Ether(bytes(ETHERNET / packet)) for packet in outer]
    boxes.run([ROUTER], {"box0.black": frames}, ["box0.outer.punt"], tmp_path, ready(), pacing="original")
    found = punted(tmp_path, "outer")
    assert [(p.reason, p.group) for p in found] == [("unknown_spi", "unknown_spi")] * len(outer)
    for number, (packet, p) in enumerate(zip(outer, found, strict=True)):
        frame = Ether(p.frame)
        header = IPv6 if IPv6 in packet else IP
        assert (frame[header].src, frame[header].dst) == (packet[header].src, packet[header].dst)
        assert (frame.fl if header is IPv6 else 0) == (packet.fl if header is IPv6 else 0)
        assert (frame[ESP].spi, frame[ESP].seq) == (0xC0FFEE00 + number, 0xFFFFFFF0 + number)
        # They came a microsecond apart.
        assert abs(p.cycle - found[0].cycle - number * CYCLES_PER_S // 1_000_000) < 60


def test_esp_for_another_box_is_not_punted(tmp_path: Path) -> None:
    v6 = IPv6(src="2001:db8:c0::2", dst="2001:db8:c0::77")
    frames = [ETHERNET / IP(src=FAR, dst="192.0.2.77") / UNKNOWN, ETHERNET / v6 / UNKNOWN]
    seen = boxes.run([ROUTER], {"box0.black": frames}, ["box0.red"], tmp_path, ready())
    assert seen.named == [{"outer.drop_unknown_spi": 2}]


@pytest.mark.parametrize(
    ("address", "outer"),
    [(f"{NEAR}/24", IPv6(src="2001:db8::2", dst="::")), (f"{NEAR_V6}/64", IP(src=FAR, dst="0.0.0.0"))],
    ids=["IPv4", "IPv6"],
)
def test_the_unspecified_address_is_nobodys(tmp_path: Path, address: str, outer: Packet) -> None:
    """Not that of a box which has no address of the other version."""
    frames = [ETHERNET / outer / UNKNOWN, ETHERNET / outer / UDP(sport=4500, dport=4500) / UNKNOWN]
    seen = boxes.run([f"addr add {address} dev black\n"], {"box0.black": frames}, ["box0.red"], tmp_path, ready())
    assert seen.named == [{"outer.drop_martian": 2}]


# --- policers ---


OF_RED = ("mtu", "ttl")
REFUSED = {"ttl": "drop_ttl_expired"}


def of_group(group: str, number: int) -> Packet:
    """A frame of a trap group that tells which it is."""
    kinds = RED if group in OF_RED else BLACK
    frame = next(frame for _, name, frame in kinds if name == group).copy()
    frame.src = f"02:00:00:00:01:{number:02x}"
    return frame


def test_a_scan_hides_no_question_for_the_box(tmp_path: Path) -> None:
    """Hosts of the link are asked for one after the other, by ARP and by neighbour discovery, more
    often than a burst; then one asks for the box."""

    def asks(own: str, own_v6: str, near: str, near_v6: str) -> list[Packet]:
        group = f"ff02::1:ff00:{own_v6.rsplit(':', 1)[1]}"
        scan = [
            frame
            for n in range(1100)
            for frame in (
                EVERYBODY / ARP(op=1, psrc=near, pdst=f"{own.rsplit('.', 2)[0]}.{3 + n // 200}.{n % 200}"),
                EVERYBODY / IPv6(src=near_v6, dst=f"ff02::1:ff01:{n:x}", hlim=255) / NS,
            )
        ]
        return [
            *scan,
            EVERYBODY / ARP(op=1, psrc=near, pdst=own),
            EVERYBODY / IPv6(src=near_v6, dst=group, hlim=255) / ICMPv6ND_NS(tgt=own_v6),
        ]

    frames = {
        "box0.red": asks("198.18.0.1", "2001:db8:a0::1", "198.18.0.2", "2001:db8:a0::2"),
        "box0.black": asks(NEAR, NEAR_V6, FAR, "2001:db8:c0::2"),
    }
    red = "addr add 198.18.0.1/24 dev red\naddr add 2001:db8:a0::1/64 dev red\n"
    seen = boxes.run([ROUTER + red], frames, ["box0.inner.punt", "box0.outer.punt"], tmp_path, ready())
    for chip in ("inner", "outer"):
        found = [p.reason for p in punted(tmp_path, chip)]
        assert sorted(set(found)) == ["arp", "nd", "resolution"]
        assert (found.count("arp"), found.count("nd")) == (1, 1)
        # The scan has a policer of its own, with the burst that it has after reset.
        assert found.count("resolution") == 256
        assert seen.named[0][f"{chip}.drop_punt_resolution"] == 2200 - 256


@pytest.mark.parametrize("group", ["other", "ike", "arp", "nd", "icmp", "unknown_spi", "mtu", "reasm", "ttl"])
def test_policer_lets_its_burst_pass(tmp_path: Path, group: str) -> None:
    """Below, at and above the burst, to the frame; the other groups' frames pass beside it."""
    port, chip, kinds = ("red", "inner", RED) if group in OF_RED else ("black", "outer", BLACK)
    others = [kind for kind in kinds if kind[1] != group]
    counter = REFUSED.get(group, f"drop_punt_{group}")
    for burst, count in ((7, 6), (7, 7), (7, 20), (0, 3)):
        folder = tmp_path / f"{burst}-{count}"
        folder.mkdir()
        mine = [of_group(group, number) for number in range(count)]
        frames = mine[:2] + [frame for *_, frame in others] + mine[2:]
        limit = f"{group} rate 5 burst {burst}"
        seen = boxes.run([ROUTER], {f"box0.{port}": frames}, [f"box0.{chip}.punt"], folder, ready(limit))
        found = punted(folder, chip)
        assert [p.frame for p in found if p.group == group] == [padded(frame) for frame in mine[:burst]]
        assert len([p for p in found if p.group != group]) == len(others)
        refused = seen.named[0].get(f"{chip}.{counter}", 0)
        assert refused == max(count - burst, 0)
        assert not [name for name in seen.named[0] if "drop" in name and not name.endswith(counter)]


def test_policer_refills_at_its_rate(tmp_path: Path) -> None:
    """Frames a microsecond apart, tokens every 1024 cycles: which frames pass is worked out to
    the turn."""
    count, burst, rate = 200, 3, 65535
    frames = [of_group("icmp", number) for number in range(count)]
    before = ready(f"icmp rate 292965 burst {burst}")
    boxes.run([ROUTER], {"box0.black": frames}, ["box0.outer.punt"], tmp_path, before, pacing="original")
    found = punted(tmp_path, "outer")
    assert [p.frame for p in found[:burst]] == [padded(frame) for frame in frames[:burst]]
    # Between any two of them: no more than the burst and what came meanwhile; from first to last,
    # all that came.
    for i, first in enumerate(found):
        for j, last in enumerate(found[i:], start=i):
            assert j - i + 1 <= burst + (last.cycle - first.cycle) * rate / INTERVAL + 1
    last = count * CYCLES_PER_S // 1_000_000  # in cycles after the first
    assert abs(len(found) - burst - last * rate // INTERVAL) <= 1
    gaps = [b.cycle - a.cycle for a, b in zip(found[burst:], found[burst + 1 :], strict=False)]
    assert all(abs(gap - INTERVAL / rate) <= 300 + TURNS for gap in gaps)


def test_no_limit_is_none(tmp_path: Path) -> None:
    frames = [of_group("arp", number % 256) for number in range(1300)]
    seen = boxes.run([ROUTER], {"box0.black": frames}, ["box0.red"], tmp_path, ready("all rate unlimited"))
    assert seen.named == [{"outer.punt_arp": 1300}]


def test_limit_after_reset(tmp_path: Path) -> None:
    frames = [of_group("arp", number % 256) for number in range(1300)]
    seen = boxes.run([ROUTER], {"box0.black": frames}, ["box0.red"], tmp_path, ready())
    assert seen.named == [{"outer.punt_arp": 1024, "outer.drop_punt_arp": 276}]


# --- a bump in the wire and neighbour discovery (RFC 4861 6.1, 7.1) ---


@pytest.mark.parametrize(("into", "out"), [("red", "black"), ("black", "red")])
def test_neighbour_discovery_comes_from_this_link(tmp_path: Path, into: str, out: str) -> None:
    """With a hop limit of 255 it crosses a bridge; with another one no policy lets it pass."""
    messages = [NS, ICMPv6ND_NA(tgt="2001:db8::9")]
    good = [TO_BLACK / IPv6(src="2001:db8::1", dst="2001:db8::9", hlim=255) / message for message in messages]
    bad = [
        TO_BLACK / IPv6(src="2001:db8::1", dst="2001:db8::9", hlim=hops) / message
        for hops in (254, 64, 1, 0)
        for message in messages
    ]
    port = f"box0.{out}"
    seen = boxes.run([BRIDGE], {f"box0.{into}": [*bad[:4], *good, *bad[4:]]}, [port], tmp_path)
    assert seen.out[port] == [padded(frame) for frame in good]
    assert seen.named == [{f"{'inner' if into == 'red' else 'outer'}.drop_policy": len(bad)}]
    # And by a policy as any other packet.
    folder = tmp_path / "allowed"
    folder.mkdir()
    policies = "".join(f"xfrm policy add src ::/0 dst ::/0 dir {way} action allow\n" for way in ("out", "in"))
    seen = boxes.run([BRIDGE + policies], {f"box0.{into}": bad}, [port], folder)
    assert seen.out[port] == [padded(frame) for frame in bad]


# --- injection ---


def ours(count: int) -> list[Packet]:
    """Frames of the management CPU of many lengths: ARP, IKE, and long ones."""
    frames: list[Packet] = []
    for number in range(count):
        length = (0, 1, 46, 200, 1400, 9000)[number % 6]
        kind = (ARP(psrc=NEAR, pdst=FAR), IP(src=NEAR, dst=FAR) / UDP(sport=500, dport=500))[number % 2]
        frames.append(Ether(src="02:62:c0:00:02:01", dst="02:00:00:00:00:77") / kind / Raw(bytes([number]) * length))
    return frames


def is_ours(frame: bytes) -> bool:
    return frame.startswith(b"\x02\0\0\0\0\x77")


def test_injected_frames_leave_by_both_ports_beside_traffic(tmp_path: Path) -> None:
    """All of them, in order, whole; and the traffic as if they were not there."""
    red = [IP(src="198.18.0.1", dst="198.19.0.1", id=n) / UDP() / Raw(bytes([n % 256]) * (n % 900)) for n in range(150)]
    black = [
        IP(src="198.19.0.1", dst="198.18.0.1", id=n) / UDP() / Raw(bytes([n % 256]) * (n % 900)) for n in range(150)
    ]
    peer = TUNNEL.peer_sender()
    frames = {
        "box0.red": [ETHERNET / packet for packet in red],
        "box0.black": [ETHERNET / peer.encrypt(packet, seq_num=n + 1) for n, packet in enumerate(black)],
        "box0.inner.inject": ours(40),
        "box0.outer.inject": ours(50),
    }
    seen = boxes.run([ROUTER], frames, ["box0.red", "box0.black"], tmp_path, ready("inject rate unlimited"))
    for port, count in (("red", 40), ("black", 50)):
        out = seen.out[f"box0.{port}"]
        assert [frame for frame in out if is_ours(frame)] == [padded(frame) for frame in ours(count)]
        places = [n for n, frame in enumerate(out) if is_ours(frame)]
        assert places[0] < 60 and len(out) == 150 + count
    clear = [frame[14:] for frame in seen.out["box0.red"] if not is_ours(frame)]
    assert [frame[: len(packet)] for frame, packet in zip(clear, black, strict=True)] == [
        forwarded(bytes(packet)) for packet in black
    ]
    receiver = TUNNEL.peer_receiver()
    secret = [frame for frame in seen.out["box0.black"] if not is_ours(frame)]
    assert [bytes(receiver.decrypt(esp_payload(frame))) for frame in secret] == [forwarded(bytes(p)) for p in red]
    assert seen.named == [{"inner.inject_frames": 40, "outer.inject_frames": 50}]


def test_injected_ike_keeps_its_marker(tmp_path: Path) -> None:
    """RFC 3948 2.2: where ESP has its SPI, IKE has four zero bytes. It leaves as IKE wrote it, with
    ESP of the same two ports beside it."""
    tunnel = Tunnel(far_port=33000)
    batch = tunnel.batch(src="198.18.0.0/16", dst="198.19.0.0/16", back="198.19.0.0/16")
    header = Ether(src="02:62:c0:00:02:01", dst="02:00:00:00:00:77") / IP(src=NEAR, dst=FAR, id=7, flags="DF")
    messages = [ISAKMP(init_cookie=bytes(8), exch_type=34) / Raw(bytes([n % 256]) * n) for n in (0, 1, 3, 200, 1300)]
    ike = [header / UDP(sport=4500, dport=33000) / Raw(bytes(4) + bytes(message)) for message in messages]
    ike.append(header / UDP(sport=500, dport=500) / messages[0])  # to port 500 it has none
    red = [IP(src="198.18.0.1", dst="198.19.0.1", id=n) / UDP() / Raw(bytes(n)) for n in range(30)]
    frames = {"box0.red": [ETHERNET / packet for packet in red], "box0.outer.inject": ike}
    seen = boxes.run([batch], frames, ["box0.black"], tmp_path, ready("inject rate unlimited"))
    out = seen.out["box0.black"]
    assert [frame for frame in out if is_ours(frame)] == [padded(frame) for frame in ike]
    secret = [frame for frame in out if not is_ours(frame)]
    assert {frame[34:38] + frame[42:46] for frame in secret} == {struct.pack("!HHI", 4500, 33000, tunnel.spi_out)}
    receiver = tunnel.peer_receiver()
    assert [bytes(receiver.decrypt(esp_payload(frame))) for frame in secret] == [forwarded(bytes(p)) for p in red]
    assert seen.named == [{"outer.inject_frames": len(ike)}]


def test_injected_frames_wait_for_their_tokens(tmp_path: Path) -> None:
    """A burst, then one every 1024 cycles, while traffic goes on without loss."""
    count, burst = 30, 4
    traffic = [ETHERNET / IP(src="198.18.0.1", dst="198.19.0.1", id=n) / UDP() / Raw(bytes(600)) for n in range(150)]
    before = ready(f"inject rate 292965 burst {burst} dev black")
    frames = {"box0.red": traffic, "box0.outer.inject": ours(count)}
    seen = boxes.run([ROUTER], frames, ["box0.black"], tmp_path, before, pacing="original")
    assert len(seen.out["box0.black"]) == count + len(traffic)
    with RawPcapReader(str(tmp_path / "box0.black.pcapng")) as reader:
        times = [(meta.tshigh << 32 | meta.tslow) * 1e9 / meta.tsresol for frame, meta in reader if is_ours(frame)]
    assert len(times) == count
    # The first tokens, and those that come meanwhile; a frame waits for the line besides, a long
    # one of traffic or two.
    for n in range(burst, count):
        assert times[n] - times[0] >= (n - burst) * INTERVAL / 65535 / 0.3 - 1500
    assert times[-1] - times[0] <= (count - burst + 1) * INTERVAL / 65535 / 0.3 + 1500
    assert seen.named == [{"outer.inject_frames": count}]


@pytest.mark.parametrize(("chip", "device"), [("inner", "red"), ("outer", "black")])
def test_injected_frames_that_cannot_leave_are_counted(tmp_path: Path, chip: str, device: str) -> None:
    shortest, longest = bytes(ours(1)[0])[:14], bytes(ours(6)[5]).ljust(9596, b"\x05")
    frames = [shortest[:13], shortest, longest, longest + b"\x05", longest + bytes(4000), shortest]
    stream, port = f"box0.{chip}.inject", f"box0.{device}"
    seen = boxes.run([ROUTER], {stream: frames}, [port], tmp_path)
    assert seen.out[port] == [padded(frame) for frame in (shortest, longest, shortest)]
    assert seen.named == [{f"{chip}.inject_frames": 6, f"{chip}.drop_inject_length": 3}]
    folder = tmp_path / "down"
    folder.mkdir()
    seen = boxes.run([f"{ROUTER}link set {device} down\n"], {stream: frames}, [], folder)
    dropped = {f"{chip}.drop_inject_length": 3, f"{chip}.drop_inject_disabled": 3}
    assert seen.named == [{f"{chip}.inject_frames": 6, **dropped}]


def test_replay_injects(tmp_path: Path) -> None:
    """The command line: injected frames alone, and beside a port's."""
    batch, file, red = tmp_path / "box.xfrm", tmp_path / "ours.pcap", tmp_path / "red.pcap"
    batch.write_text(ROUTER)
    write_frames(file, ours(12))
    write_frames(red, [ETHERNET / IP(src="198.18.0.1", dst="198.19.0.1") / UDP()])
    out = tmp_path / "alone"
    sallyport("replay", "--xfrm", batch, "--inject-inner", file, "--inject-outer", file, "--out", out)
    for port in ("red", "black"):
        assert read(out / f"{port}.pcapng") == [padded(frame) for frame in ours(12)]
    out = tmp_path / "beside"
    sallyport("replay", "--xfrm", batch, "--red", red, "--inject-inner", file, "--out", out)
    assert read(out / "red.pcapng") == [padded(frame) for frame in ours(12)]
    assert len(read(out / "black.pcapng")) == 1


def read(path: Path) -> list[bytes]:
    with RawPcapReader(str(path)) as reader:
        return [frame for frame, _ in reader]


# --- bad input ---


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--inject-inner", "/nonexistent.pcap"], "/nonexistent.pcap: No such file"),
        ([], "give at least one of these"),
        (["--red", "FILE", "--black", "FILE"], "replay takes one capture"),
        (["--inject-outer", "BATCH"], "not a pcap or pcapng capture"),
        (
            ["--inject-outer", "FILE", "--fault", "bad-fcs:1"],
            "--fault names frame 1, but no capture into a port holds 0",
        ),
        (["--red", "FILE", "--fault", "upset:box0.inner.flows:0"], "upset MEMORY:ROW:BIT"),
        (["--red", "FILE", "--fault", "upset:box0.inner.flows:0:0"], "no memory 'box0.inner.flows'; there are box0."),
        (
            ["--red", "FILE", "--fault", "upset:box0.inner.paths.encrypt.rules.results:64:0"],
            '"row" must be a whole number from 0 to 63, not 64',
        ),
    ],
)
def test_replay_refuses(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    batch, file = tmp_path / "box.xfrm", tmp_path / "in.pcap"
    batch.write_text(ROUTER)
    write_frames(file, ours(1))
    names = {"FILE": str(file), "BATCH": str(batch)}
    out = tmp_path / "out"
    words = [names.get(word, word) for word in arguments]
    done = sallyport("replay", "--xfrm", batch, "--out", out, *words, check=False)
    assert done.exit_code == 2 and sentence in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not out.exists()


def test_punt_refuses_and_changes_nothing() -> None:
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        before = sim.sallyctl(0, "punt", "show")
        for words, sentence in (
            ("set ike rate 4", "the rate must be 5 to 292965 packets/s"),
            ("set ike burst 65536", "the burst must be 0 to 65535 packets"),
            ("set cats rate 10", "unknown trap group"),
            ("set mtu rate 10 dev black", "black has no trap group mtu"),
            ("set ike", "write what is to change"),
        ):
            with pytest.raises(InputError, match=re.escape(sentence)):
                sim.sallyctl(0, "punt", *words.split())
        assert sim.sallyctl(0, "punt", "show") == before
        for line in before.splitlines():
            sim.sallyctl(0, *line.split())
        assert sim.sallyctl(0, "punt", "show") == before
