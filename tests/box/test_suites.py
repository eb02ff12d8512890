# SPDX-License-Identifier: Apache-2.0
"""Every ESP suite through a whole box, both ways, judged by scapy and `cryptography`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport import limits, suites
from tests.support.frames import read_frames
from tests.support.reference import FAR, NEAR, Tunnel, classify_red, esp_payload, forwarded, open_esp

MINIMUM, FCS = 60, 4
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
ESP_AT = 14 + 20  # bytes of a black frame before its ESP header

every_suite = pytest.mark.parametrize("name", suites.SUITES)


def both_numbers(short: bool) -> pytest.MarkDecorator:
    """Without and with ESN; the short form has one of both."""
    numbers = {False: "32-bit", True: "esn"}
    return pytest.mark.parametrize(
        "esn",
        [pytest.param(esn, id=name, marks=[] if esn == short else pytest.mark.long) for esn, name in numbers.items()],
    )


# UDP payloads whose ESP payloads end at every place in a cipher's and in a hash's block, then
# long ones.
SIZES = [*range(0, 68), 99, 100, 101, 247, 248, 511, 1000, 1400, 1472, 4000, 9000]


@pytest.fixture
def tunnel_of(built_suites: list[str]):
    """`tunnel_of(suite, …)` is a tunnel of that suite, or a skip if the simulated chip says that it
    lacks it."""

    def make(name: str, **fields) -> Tunnel:
        built = suites.find(name).built
        if built not in built_suites:
            pytest.skip(f"the simulated crypto chip was built without {built}")
        return Tunnel(suite=name, **fields)

    return make


def inner_packet(size: int, src: str = "198.19.0.1", dst: str = "198.18.0.1") -> Packet:
    return IP(src=src, dst=dst, id=size) / UDP(sport=7, dport=9) / Raw(random.Random(size).randbytes(size))


def assert_forwarded(frames: list[bytes], packets: list[Packet]) -> None:
    """The red frames carry these packets, a hop further, and nothing but zeros behind them."""
    for frame, packet in zip(frames, packets, strict=True):
        want = forwarded(bytes(packet))
        assert frame[14 : 14 + len(want)] == want
        assert not any(frame[14 + len(want) :])


@every_suite
@both_numbers(short=True)
def test_real_frames_decrypt_with_scapy(make_box, tunnel_of, office_lan: Path, name: str, esn: bool) -> None:
    """What policy protects comes out as ESP of the suite's exact size, in order, padded as RFC
    4303 2.4 says; the rest is named."""
    tunnel = tunnel_of(name, esn=esn)
    outcome = make_box(tunnel.batch()).red(office_lan)
    frames = [frame.ljust(MINIMUM, b"\0") for frame in read_frames(office_lan)]
    protected = [forwarded(frame[14:]) for frame in frames if classify_red(frame) == "protect"]
    peer = tunnel.peer_receiver()
    ivs = set()
    for number, (frame, packet) in enumerate(zip(outcome.out, protected, strict=True), start=1):
        outer = esp_payload(frame)
        assert (outer.src, outer.dst, outer[ESP].spi, outer[ESP].seq) == (NEAR, FAR, tunnel.spi_out, number)
        plain = open_esp(peer, outer)
        assert (plain.data, plain.nh) == (packet, 41 if packet[0] >> 4 == 6 else 4)
        assert plain.padding == bytes(range(1, plain.padlen + 1))
        red = len(packet) + limits.ETHERNET_BYTES
        assert len(frame) + FCS == limits.esp_frame_bytes(red, suites.find(name))
        ivs.add(plain.iv)
    assert len(ivs) == (len(protected) if suites.find(name).iv else 1)
    assert set(outcome.named()) == {f"inner.{name}" for name in map(classify_red, frames) if name != "protect"}


@every_suite
@both_numbers(short=False)
def test_scapy_esp_of_every_length_is_decrypted(make_box, tunnel_of, name: str, esn: bool) -> None:
    tunnel = tunnel_of(name, esn=esn)
    peer = tunnel.peer_sender()
    packets = [inner_packet(size) for size in SIZES]
    outcome = make_box(tunnel.batch()).black([ETHERNET / peer.encrypt(packet) for packet in packets])
    assert_forwarded(outcome.out, packets)
    assert outcome.named() == {}


def flips(frame: bytes, name: str) -> dict[str, int]:
    """A byte of each region of a black frame of this suite."""
    suite = suites.find(name)
    text, icv = ESP_AT + 8 + suite.iv, len(frame) - suite.icv
    regions = {
        "sequence number": ESP_AT + 7,
        "first byte of the text": text,
        "middle of the text": (text + icv) // 2,
        "last byte of the text": icv - 1,
        "first byte of the ICV": icv,
        "last byte of the ICV": len(frame) - 1,
    }
    if suite.iv:
        regions |= {"first byte of the IV": ESP_AT + 8, "last byte of the IV": text - 1}
    return regions


@every_suite
@both_numbers(short=True)
def test_one_wrong_bit_anywhere_is_dropped(make_box, tunnel_of, name: str, esn: bool) -> None:
    """A flipped bit in any region, and with ESN a wrong high half, fails the ICV; good packets
    between them pass."""
    tunnel = tunnel_of(name, esn=esn)
    peer = tunnel.peer_sender()
    frames, good, bad = [], [], 0
    for size in (0, 100, 700):
        for position in flips(bytes(ETHERNET / peer.encrypt(inner_packet(size), seq_num=1)), name).values():
            good.append(inner_packet(size + len(good)))
            frames.append(bytes(ETHERNET / peer.encrypt(good[-1])))
            damaged = bytearray(bytes(ETHERNET / peer.encrypt(inner_packet(size))))
            damaged[position] ^= 1 << bad % 8
            frames.append(bytes(damaged))
            bad += 1
    if esn:
        frames.append(bytes(ETHERNET / peer.encrypt(inner_packet(1), esn=1)))
        bad += 1
    outcome = make_box(tunnel.batch()).black(frames)
    assert_forwarded(outcome.out, good)
    assert outcome.named() == {"crypto.drop_dec_icv": bad}


@every_suite
def test_authentic_packet_with_wrong_padding_is_dropped(make_box, tunnel_of, name: str) -> None:
    tunnel = tunnel_of(name)
    peer = tunnel.peer_sender()
    good = [inner_packet(size) for size in (3, 4)]
    before, after = (ETHERNET / peer.encrypt(packet) for packet in good)
    pad = peer.crypt_algo.pad

    def wrong(esp: Packet) -> Packet:
        esp = pad(esp)
        esp.padding = esp.padding[:-1] + b"\xff"
        return esp

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peer.crypt_algo, "pad", wrong)
        bad = ETHERNET / peer.encrypt(inner_packet(3), seq_num=100)
    outcome = make_box(tunnel.batch()).black([before, bad, after])
    assert_forwarded(outcome.out, good)
    assert outcome.named() == {"crypto.drop_dec_padding": 1}


def test_all_suites_side_by_side(make_box, built_suites: list[str]) -> None:
    """An SA of each suite, packets of all of them mixed: each is its own suite's, and every SA
    keeps its order."""
    names = [name for name, suite in suites.SUITES.items() if suite.built in built_suites]
    tunnels = [
        Tunnel(suite=name, spi_out=0x1000 + n, spi_in=0x2000 + n, esn=bool(n % 2)) for n, name in enumerate(names)
    ]
    batch = f"addr add {NEAR}/24 dev black\n" + "".join(
        tunnel.lines(src="0.0.0.0/0", dst=f"198.20.{n}.0/24", back=f"198.20.{n}.0/24")
        for n, tunnel in enumerate(tunnels)
    )
    choice = random.Random(1)
    picks = [(choice.randrange(len(names)), choice.choice(SIZES[:-2])) for _ in range(400)]
    box = make_box(batch)

    red = [inner_packet(size, dst=f"198.20.{n}.9") for n, size in picks]
    outcome = box.red([ETHERNET / packet for packet in red])
    receivers = [tunnel.peer_receiver() for tunnel in tunnels]
    assert len(outcome.out) == len(red)
    for n, receiver in enumerate(receivers):
        mine = [esp for esp in map(esp_payload, outcome.out) if esp[ESP].spi == tunnels[n].spi_out]
        opened = [open_esp(receiver, esp).data for esp in mine]
        assert opened == [forwarded(bytes(packet)) for packet, (k, _) in zip(red, picks, strict=True) if k == n], names[
            n
        ]
    assert outcome.named() == {}

    black = [inner_packet(size, src=f"198.20.{n}.9") for n, size in picks]
    senders = [tunnel.peer_sender() for tunnel in tunnels]
    outcome = box.black([ETHERNET / senders[n].encrypt(packet) for packet, (n, _) in zip(black, picks, strict=True)])
    assert len(outcome.out) == len(black)
    for n in range(len(names)):
        mine = [frame for frame in outcome.out if IP(frame[14:]).src == f"198.20.{n}.9"]
        assert_forwarded(mine, [packet for packet, (k, _) in zip(black, picks, strict=True) if k == n])
    assert outcome.named() == {}
