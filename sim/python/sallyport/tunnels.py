"""The SAs of an RFC 2544 run: what both boxes are told, as `ip -batch` files, and the flows that use them.

Flow k of box b goes from host k behind b to host k behind the other box, in the address range that RFC 2544 appendix C sets
aside; hosts are counted from 0, so that 65,536 have an address. Each flow has an SA of its own in each direction, so N SAs are
N flows: tunnels between the boxes, or, in transport mode, SAs between the hosts, with the boxes as bumps in the wire.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from sallyport.errors import InputError
from sallyport.suites import Suite

RED_NET = (IPv4Address("198.18.0.0"), IPv4Address("198.19.0.0"))
BLACK = (IPv4Address("192.0.2.1"), IPv4Address("192.0.2.2"))
BRIDGE = ["link add br0 type bridge", "link set red master br0", "link set black master br0"]
UDP_PORTS = (4096, 4097)
MAX_TUNNELS = (
    65_536  # addresses of a /16; a packet finds its SA by its five-tuple alone, so the ends of the range are as good
)
FIRST_SPI = 0x1000


@dataclass(frozen=True)
class Flow:
    """One UDP five-tuple that a red tester port sends."""

    src: IPv4Address
    dst: IPv4Address
    src_port: int
    dst_port: int


def flow(box: int, number: int) -> Flow:
    """Flow `number` of those that enter the red port of `box` (0 or 1)."""
    return Flow(RED_NET[box] + number, RED_NET[1 - box] + number, *UDP_PORTS)


def flows(box: int, count: int) -> list[Flow]:
    """The flows that enter the red port of `box` (0 or 1), each another five-tuple."""
    if not 1 <= count <= MAX_TUNNELS:
        raise InputError(f"--sas {count}: choose 1 to {MAX_TUNNELS}")
    return [flow(box, number) for number in range(count)]


def ends(way: int, number: int, mode: str) -> str:
    """Between whom SA `number` is by which the boxes protect what enters the red port of box `way`."""
    src, dst = (BLACK[way], BLACK[1 - way]) if mode == "tunnel" else (RED_NET[way] + number, RED_NET[1 - way] + number)
    return f"src {src} dst {dst} proto esp"


def state(way: int, number: int, spi: int, suite: Suite, keys: random.Random, mode: str) -> str:
    """The line that adds SA `number`, with the next keys of `keys`."""
    end = ends(way, number, mode)
    return f"xfrm state add {end} spi {spi:#x} reqid {number + 1} mode {mode} replay-window 1024 flag esn {suite.xfrm(keys)}"


def batch(box: int, count: int, suites: Sequence[Suite], mtu: int, seed: int, mode: str = "tunnel") -> str:
    """The `sallyctl -batch` text of `box`: its addresses or its bridge, SAs of both directions, policies of both directions.

    The SAs take `suites` in turn.

    Keys come from `seed` alone, so both boxes agree and a run can be repeated; they are test keys and nothing else.
    """
    lines = [f"link set dev black mtu {mtu}"]
    lines += BRIDGE if mode == "transport" else [f"addr add {BLACK[box]}/24 dev black"]
    for way in (box, 1 - box):
        keys = random.Random(f"{seed} {way} {' '.join(suite.name for suite in suites)}")
        direction = "out" if way == box else "in"
        for number, flow in enumerate(flows(way, count)):
            lines += [
                state(way, number, FIRST_SPI + number, suites[number % len(suites)], keys, mode),
                f"xfrm policy add src {flow.src}/32 dst {flow.dst}/32 proto udp sport {flow.src_port} dport {flow.dst_port} "
                f"dir {direction} tmpl {ends(way, number, mode)} reqid {number + 1} mode {mode}",
            ]
    return "\n".join(lines) + "\n"
