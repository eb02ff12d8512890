# SPDX-License-Identifier: Apache-2.0
"""Twenty fragmented ESP datagrams of a peer beside each flood that fills a reassembler: they are
decrypted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.frames import read_frames, write_frames
from tests.support.reference import FAR_V6, NEAR_V6, Tunnel, forwarded

GOOD = 20
# Frames of a flood in front of each good fragment. A datagram outlives 63 new ones in the simulated
# table (docs/explanation/fragments.md).
BETWEEN = 12
PLACES = 64
# Longer than the timeout after reset, in cycles: no datagram is held at the end.
QUIET = 100_000
TUNNEL, V6_TUNNEL = Tunnel(), Tunnel(near=NEAR_V6, far=FAR_V6)
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")


def cut(source: str, destination: str, number: int, size: int = 2400) -> list[Packet]:
    """The fragments of junk that looks like ESP: two of them, so large that the chip judges each at
    line rate while the oldest datagram gives way to it."""
    payload = Raw(bytes([number & 255]) * size)
    if ":" in source:
        head = IPv6(src=source, dst=destination) / IPv6ExtHdrFragment(id=number, nh=50)
        first = head.copy()
        first[IPv6ExtHdrFragment].m = 1
        last = head.copy()
        last[IPv6ExtHdrFragment].offset = size // 16
        return [first / Raw(bytes(size // 2)), last / Raw(bytes(size // 2))]
    return fragment(IP(src=source, dst=destination, id=number & 0xFFFF, proto=50) / payload, size // 2)


def lost_last(tunnel: Tunnel) -> Iterator[Packet]:
    """First fragments from the peer's own address."""
    return (cut(tunnel.far, tunnel.near, number)[0] for number in count(1000))


def lost_first(tunnel: Tunnel) -> Iterator[Packet]:
    return (cut(tunnel.far, tunnel.near, number)[1] for number in count(1000))


def many_sources(tunnel: Tunnel) -> Iterator[Packet]:
    v6 = ":" in tunnel.near
    source = "2001:db8:{0:x}::1" if v6 else "203.0.{1}.{2}"
    return (cut(source.format(n, n >> 8, n & 255), tunnel.near, n)[0] for n in count(1000))


def one_prefix(_: Tunnel) -> Iterator[Packet]:
    """Each from another address of one /64."""
    return (cut(f"2001:db8:bad::{number:x}", NEAR_V6, number)[0] for number in count(1000))


def other_destinations(_: Tunnel) -> Iterator[Packet]:
    """What a switch floods, or a neighbour sends elsewhere."""
    return (cut("192.0.2.77", f"198.51.{n >> 8}.{n & 255}", n)[0] for n in count(1000))


def overlaps(tunnel: Tunnel) -> Iterator[Packet]:
    """Datagrams with the same bytes in two fragments."""
    for number in count(1000):
        first, last = cut(tunnel.far, tunnel.near, number)
        yield first
        if ":" in tunnel.near:
            last[IPv6ExtHdrFragment].offset -= 1
        else:
            last.frag -= 1
            del last.chksum
        yield last


def memory(tunnel: Tunnel) -> Iterator[Packet]:
    """Fragments that take three cells of memory each, four a datagram."""
    for number in count(1000):
        for at in range(896, 8192 + 896, 2048):
            if ":" in tunnel.near:
                more = IPv6ExtHdrFragment(id=number, nh=50, m=1, offset=at // 8 - 1)
                head: Packet = IPv6(src=tunnel.far, dst=tunnel.near) / more
            else:
                head = IP(src=tunnel.far, dst=tunnel.near, id=number & 0xFFFF, flags="MF", frag=at // 8 - 1, proto=50)
            yield head / Raw(bytes(1200))


FLOODS: dict[str, Callable[[Tunnel], Iterator[Packet]]] = {
    "lost last fragments": lost_last,
    "lost first fragments": lost_first,
    "many sources": many_sources,
    "one IPv6 prefix": one_prefix,
    "other destinations": other_destinations,
    "overlaps": overlaps,
    "memory": memory,
}


def good(tunnel: Tunnel) -> tuple[list[bytes], list[list[Packet]]]:
    """The packets that must leave red, and the fragments that carry them to black."""
    peer = tunnel.peer_sender()
    inner = [
        IP(src="198.19.0.1", dst="198.18.0.1", id=number) / UDP(sport=7, dport=9) / Raw(bytes([number]) * 1400)
        for number in range(GOOD)
    ]
    pieces = []
    for number, packet in enumerate(inner):
        outer = peer.encrypt(packet)
        if ":" in tunnel.near:
            whole = IPv6(src=outer.src, dst=outer.dst) / IPv6ExtHdrFragment(id=number) / outer.payload
            pieces.append(fragment6(whole, 1280))
        else:
            outer.id = number
            pieces.append(fragment(outer, 800))
    assert all(len(each) == 2 for each in pieces)
    return [forwarded(bytes(packet)) for packet in inner], pieces


def play(tunnel: Tunnel, packets: list[Packet], folder: Path) -> tuple[list[bytes], dict[str, int]]:
    """Packets out of the red port, and the outer chip's counters of drops."""
    batch, frames, capture = folder / "box.xfrm", folder / "in.pcap", folder / "out.pcapng"
    batch.write_text(tunnel.batch())
    write_frames(frames, [ETHERNET / packet for packet in packets])
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        sim.sallyctl(0, "-batch", batch)
        boxes.next_hops(sim)
        sim.command("capture", port="box0.red", direction="out", file=str(capture))
        inputs = [{"port": "box0.black", "file": str(frames), "pacing": "line-rate"}]
        assert sim.command("replay", inputs=inputs, quiet_cycles=QUIET)["quiescent"]
        counters = sim.counters(0)
        sim.command("quit")
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    drops = {name: count for name, count in counters["outer"].items() if count and name.startswith("drop_")}
    return [frame[14:] for frame in read_frames(capture)], drops


@pytest.mark.parametrize("tunnel", [TUNNEL, V6_TUNNEL], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_starves_no_peer(tmp_path: Path, name: str, tunnel: Tunnel) -> None:
    """One may be missing: where all four places of a new datagram's hashes are taken, one of the
    four gives way, young or old."""
    expected, pieces = good(tunnel)
    flood = FLOODS[name](tunnel)
    packets = list(islice(flood, 2 * PLACES))
    for piece in (piece for each in pieces for piece in each):
        packets += [*islice(flood, BETWEEN), piece]
    out, drops = play(tunnel, packets, tmp_path)
    assert out == [packet for packet in expected if packet in out]
    assert len(out) >= GOOD - 1
    assert sum(drops.values()) == len(packets) - 2 * len(out)
    # Of others' datagrams no fragment gets in.
    strays = {"drop_unknown_spi"} if name in ("one IPv6 prefix", "other destinations") else set()
    assert drops.keys() <= {"drop_reasm_full", "drop_reasm_timeout", "drop_reasm_overlap"} | strays


@pytest.mark.parametrize("tunnel", [TUNNEL, V6_TUNNEL], ids=["IPv4", "IPv6"])
def test_exact_duplicates_are_dropped_alone(tmp_path: Path, tunnel: Tunnel) -> None:
    """Each fragment comes three times. Copies of the first are dropped by name; those of the last
    come behind their datagram and wait for another first one in vain."""
    expected, pieces = good(tunnel)
    out, drops = play(tunnel, [piece for each in pieces for piece in each for _ in range(3)], tmp_path)
    assert out == expected
    assert drops == {"drop_reasm_duplicate": 3 * GOOD, "drop_reasm_timeout": GOOD}
