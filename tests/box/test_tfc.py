# SPDX-License-Identifier: Apache-2.0
"""Traffic flow confidentiality of the sender (RFC 4303 2.6, 2.7): TFC padding and dummy packets by
SA, judged by scapy's ESP."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapNgReader

from sallyport.errors import InputError
from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.reference import ANY, Tunnel, esp_payload, forwarded, open_esp

NEAR = Tunnel()
FAR = Tunnel(spi_out=NEAR.spi_in, spi_in=NEAR.spi_out, near=NEAR.far, far=NEAR.near)
DUMMIES = Tunnel(spi_out=0x3001, spi_in=0x3002)
FAR_DUMMIES = Tunnel(spi_out=DUMMIES.spi_in, spi_in=DUMMIES.spi_out, near=NEAR.far, far=NEAR.near)
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
DUMMY = 59
# An interval of 16 µs is 300 turns of 16 cycles. On its way to the wire a packet waits for words of
# two links and the port.
EVERY_NS, JITTER_NS = 16_000, 100


def with_words(tunnel: Tunnel, words: str, dst: str = ANY) -> str:
    """The tunnel's batch with these words in its outbound state."""
    spi = f"spi {tunnel.spi_out:#x} "
    text = tunnel.batch(dst=dst)
    assert text.count(spi) == 1
    return text.replace(spi, f"{spi}dir out {words} ")


def neighbour(tunnel: Tunnel) -> str:
    return f"{boxes.TAKE_ALL}neigh add {tunnel.far} lladdr 02:00:00:00:00:22 dev black\n"


def v4(length: int, ident: int = 1, flags: str = "") -> bytes:
    body = random.Random(length).randbytes(length - 28)
    return bytes(IP(src="198.18.0.1", dst="198.19.0.1", id=ident, flags=flags) / UDP(sport=7, dport=9) / Raw(body))


def v6(length: int) -> bytes:
    body = random.Random(length).randbytes(length - 48)
    return bytes(IPv6(src="2001:db8::1", dst="2001:db8:1::1") / UDP(sport=7, dport=9) / Raw(body))


def framed(packets: list[bytes]) -> list[bytes | Packet]:
    return [
        Ether(dst=ETHERNET.dst, src=ETHERNET.src, type=0x86DD if p[0] >> 4 == 6 else 0x0800) / Raw(p) for p in packets
    ]


def opened(tunnel: Tunnel, frames: list[bytes]) -> list[Packet]:
    """The plain ESP of black frames, in their order."""
    peer = tunnel.peer_receiver()
    return [open_esp(peer, esp_payload(frame)) for frame in frames]


SHORT = [v4(28), v6(48), v4(60), *(v4(length) for length in range(61, 68)), v4(500), v6(501), v4(996, flags="DF")]


@pytest.mark.parametrize("suite", ["aes256gcm16", "aes128-sha256"])
@pytest.mark.parametrize("least", [20, 64, 1000, 1001, 1003])
def test_padded_packets_have_one_length(make_box, built_suites: list[str], suite: str, least: int) -> None:
    """Each is scapy's packet, zeros behind it, and as long as ESP of the length asked for; longer
    ones are as they were."""
    if suite not in built_suites:
        pytest.skip(f"the simulated crypto chip was built without {suite}")
    tunnel = Tunnel(suite=suite)
    long = [v4(1005), v4(1400), v6(1280)]
    outcome = make_box(with_words(tunnel, f"tfcpad {least}")).red(framed(SHORT + long))
    assert outcome.named() == {}
    plains = opened(tunnel, outcome.out)
    inner = [forwarded(packet) for packet in SHORT + long]
    units = (least + 1) // 4 * 4
    for plain, packet in zip(plains, inner, strict=True):
        assert plain.data == packet.ljust(units, b"\0")
        assert plain.nh == (41 if packet[0] >> 4 == 6 else 4)
    align = 16 if suite == "aes128-sha256" else 4
    bodies = [len(plain.data) + plain.padlen + 2 for plain in plains]
    asked = -(-(least + 2) // align) * align
    assert all(body == asked for body, packet in zip(bodies, inner, strict=True) if len(packet) <= least)
    if least >= 1000:
        assert len({len(frame) for frame, packet in zip(outcome.out, inner, strict=True) if len(packet) <= least}) == 1


def test_padding_stops_at_the_mtu(make_box) -> None:
    """A length above what fits pads to what fits, and nothing is cut or punted for it; fragments
    made before ESP are padded too."""
    mtu, fits = 1400, 1346
    batch = f"link set dev black mtu {mtu}\n" + with_words(NEAR, "tfcpad 9582")
    outcome = make_box(batch.replace("dir out tmpl", "dir out flag fragment-first tmpl")).red(
        framed([v4(60), v4(fits), v6(1280), v4(3000, ident=7)])
    )
    assert outcome.named() == {}
    assert outcome.counters["outer"]["frag_packets"] == 0
    assert outcome.counters["inner"]["frag_split"] == 2
    assert {len(frame) for frame in outcome.out} == {14 + mtu - mtu % 4}
    assert len(outcome.out) == 6


def test_bypassed_packets_are_not_padded(make_box) -> None:
    batch = with_words(NEAR, "tfcpad 1000", dst="198.19.0.0/24") + (
        "xfrm policy add src 0.0.0.0/0 dst 198.19.1.0/24 dir out action allow\n"
    )
    clear = bytes(IP(src="198.18.0.1", dst="198.19.1.1") / UDP(sport=7, dport=9) / Raw(bytes(40)))
    outcome = make_box(batch).red(framed([v4(60), clear, v4(70)]))
    assert [len(frame) for frame in outcome.out][1] == 14 + len(clear)
    assert outcome.out[1][14:] == forwarded(clear)
    assert [plain.data for plain in opened(NEAR, [outcome.out[0], outcome.out[2]])] == [
        forwarded(packet).ljust(1000, b"\0") for packet in (v4(60), v4(70))
    ]


def test_a_second_box_gives_the_packets_back(tmp_path: Path) -> None:
    """Byte for byte, of both versions and every length, beside another SA's dummies, which it drops
    under their own counter."""
    packets, dummies = [*SHORT, v4(1400), v6(1300)], 8
    # An SA that no policy names, and whose last packets the dummies are.
    (sends,) = [
        line
        for line in with_words(DUMMIES, f"dummy 1000 every 16us limit packet-hard {dummies}").splitlines()
        if "dummy" in line
    ]
    (takes,) = [line for line in FAR_DUMMIES.batch().splitlines() if f"state add src {NEAR.near} " in line]
    seen = boxes.run(
        [
            f"{FAR.batch()}{neighbour(FAR)}{takes} dir in\n",
            f"{with_words(NEAR, 'tfcpad 1000')}{neighbour(NEAR)}{sends}\n",
        ],
        {"box1.red": framed(packets)},
        ["box0.red"],
        tmp_path,
        boxes.next_hops,
        quiet=32768,
    )
    received = [frame[14:] for frame in seen.out["box0.red"]]
    wanted = [forwarded(forwarded(packet)) for packet in packets]
    assert [packet[: len(want)] for packet, want in zip(received, wanted, strict=True)] == wanted
    # Frames of 60 bytes and more have the packet alone.
    assert all(len(packet) == max(46, len(want)) for packet, want in zip(received, wanted, strict=True))
    assert seen.named == [{"crypto.drop_dec_dummy": dummies}, {}]


@pytest.mark.parametrize("core_mhz", [300, 250])
def test_dummies_have_their_length_and_interval(tmp_path: Path, core_mhz: float) -> None:
    """What scapy decrypts: next header 59, zeros, numbers in order; on the wire one every 16 µs of
    any core clock, as many as the SA's limit lets."""
    count, length = 12, 1400
    batch, capture = tmp_path / "box.xfrm", tmp_path / "black.pcapng"
    batch.write_text(
        neighbour(NEAR) + with_words(NEAR, f"df set dscp EF dummy {length} every 16us limit packet-hard {count}")
    )
    with Simulator(boxes=1, threads=None, seed=1, core_mhz=core_mhz) as sim:
        sim.command("capture", port="box0.black", direction="out", file=str(capture))
        sim.sallyctl(0, "-batch", batch)
        listed = sim.sallyctl(0, "xfrm", "state", "list")
        assert sim.command("replay", inputs=[])["quiescent"]
        counters = sim.counters(0)
        used = sim.sallyctl(0, "-s", "xfrm", "state", "list")
        sim.command("quit")
    assert f" dummy {length} every 16us " in listed
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    assert counters["inner"]["dummy_packets"] == counters["inner"]["tx_dummy"] == count
    assert counters["inner"]["tx_protect"] == counters["inner"]["rx_frames"] == 0
    assert f"{count * length}(bytes), {count}(packets)" in used

    times, frames = [], []
    with RawPcapNgReader(str(capture)) as reader:
        for data, meta in reader:
            assert meta.tsresol == 10**9
            times.append(meta.tshigh << 32 | meta.tslow)
            frames.append(data)
    for number, (frame, plain) in enumerate(zip(frames, opened(NEAR, frames), strict=True), start=1):
        outer = esp_payload(frame)
        assert (outer[ESP].spi, outer[ESP].seq) == (NEAR.spi_out, number)
        assert (outer.tos, outer.flags) == (46 << 2, "DF")
        assert (plain.nh, plain.data) == (DUMMY, bytes(length))
    assert len(times) == count
    assert all(abs(time - times[0] - n * EVERY_NS) <= JITTER_NS for n, time in enumerate(times))


def test_dummies_end_with_their_sa_and_with_the_port(tmp_path: Path) -> None:
    """None while red is down, none once the SA is deleted; its row is free for another SA's."""
    batch = tmp_path / "box.xfrm"
    batch.write_text(neighbour(NEAR) + with_words(NEAR, "dummy 200 every 1us"))
    with Simulator(boxes=1, threads=None, seed=1) as sim:

        def sent() -> int:
            return sim.counters(0)["inner"]["tx_dummy"]

        sim.sallyctl(0, "-batch", batch)
        first = sent()
        second = sent()
        assert second > first
        sim.sallyctl(0, "link", "set", "red", "down")
        resting = sent()
        assert sim.command("replay", inputs=[])["quiescent"]
        assert sent() == resting
        sim.sallyctl(0, "link", "set", "red", "up")
        assert sent() > resting
        with pytest.raises(InputError, match="dummy packets must have 20 to 9582 bytes"):
            sim.batch(
                0,
                [f"xfrm state update src {NEAR.near} dst {NEAR.far} proto esp spi 5 mode tunnel dummy 9583 every 1us"],
            )
        sim.sallyctl(0, "xfrm", "state", "delete", "dst", NEAR.far, "proto", "esp", "spi", f"{NEAR.spi_out:#x}")
        ended = sent()
        assert sim.command("replay", inputs=[])["quiescent"]
        assert sent() == ended
        counters = sim.counters(0)
        sim.command("quit")
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    # Between runs a chip has time for register accesses alone, so the last dummies come to the
    # crypto chip after the key has gone.
    drops = {
        name for chip in boxes.CHIPS for name, count in counters[chip].items() if count and name.startswith("drop_")
    }
    assert drops <= {"drop_enc_no_key"}
