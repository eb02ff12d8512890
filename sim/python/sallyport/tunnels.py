# SPDX-License-Identifier: Apache-2.0
"""The SAs of an RFC 2544 run: the commands for both boxes, as `ip -batch` files, and the flows that
use them.

Flow k of box b goes from host k behind b to host k behind the other box. Addresses come from the
ranges that RFC 2544 appendix C and RFC 5180 8 set aside. Hosts are counted from 0, so 65,536 hosts
have an address. Each flow has an SA of its own in each direction, so N SAs are N flows. They are
tunnels between the boxes, or, in transport mode, SAs between the hosts, with the boxes as bumps in
the wire.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from sallyport.backend import Setup
from sallyport.errors import InputError
from sallyport.suite import Suite

Address = IPv4Address | IPv6Address
# By IP version, of box 0 and 1.
RED_NET = {
    4: (ip_address("198.18.0.0"), ip_address("198.19.0.0")),
    6: (ip_address("2001:2:0:100::"), ip_address("2001:2:0:101::")),
}
BLACK = {
    4: (ip_address("192.0.2.1"), ip_address("192.0.2.2")),
    6: (ip_address("2001:db8::1"), ip_address("2001:db8::2")),
}
BLACK_PREFIX = {4: 24, 6: 64}
BRIDGE = ["link add br0 type bridge", "link set red master br0", "link set black master br0"]
UDP_PORTS = (4096, 4097)
NAT_T_PORT = 4500
MAX_TUNNELS = (
    # addresses of a /16; a packet finds its SA by its five-tuple alone, so the ends of the range
    # are as good
    65_536
)
FIRST_SPI = 0x1000
GENERATION_SPIS = 1 << 20  # apart of SAs that replace others after a reset
ANY = {4: "0.0.0.0", 6: "::"}


@dataclass(frozen=True)
class Flow:
    """One UDP five-tuple that a red tester port sends."""

    src: Address
    dst: Address
    src_port: int
    dst_port: int


def flow(way: int, number: int, ip: int) -> Flow:
    """Flow `number` of those that enter the red port of box `way` (0 or 1) over that IP version."""
    red = RED_NET[ip]
    return Flow(red[way] + number, red[1 - way] + number, *UDP_PORTS)


def check_count(setup: Setup) -> None:
    """[InputError] if there are no flows for so many SAs."""
    if not 1 <= setup.sas <= MAX_TUNNELS:
        raise InputError(f"--sas {setup.sas}: choose 1 to {MAX_TUNNELS}")


class Tunnels:
    """The SAs of a setup and the lines that configure them. Flows and SAs are counted from 0 in
    each direction.

    A direction, `way`, is the number of the box whose red port its flows enter. SAs take the
    setup's suites in turn.
    """

    def __init__(self, setup: Setup, secret: str = "") -> None:
        """`secret`, if there is one, gives keys that the seed alone does not: a real box takes a
        key to send with once. [InputError] as of `check_count`."""
        check_count(setup)
        self._setup, self._secret = setup, secret

    def flow(self, way: int, number: int) -> Flow:
        """The five-tuple that uses SA `number` of a direction."""
        return flow(way, number, self._setup.ip)

    def ends(self, way: int, number: int) -> str:
        """Between whom SA `number` of a direction is."""
        if self._setup.mode == "transport":
            flow = self.flow(way, number)
            return f"src {flow.src} dst {flow.dst} proto esp"
        black = BLACK[self._setup.ip]
        return f"src {black[way]} dst {black[1 - way]} proto esp"

    def state(self, way: int, number: int, spi: int, keys: random.Random) -> str:
        """The line that adds SA `number` of a direction, with the next keys of `keys`."""
        suite = self._setup.suites[number % len(self._setup.suites)]
        encap = f" encap espinudp {NAT_T_PORT} {NAT_T_PORT} {ANY[self._setup.ip]}" if self._setup.nat_t else ""
        return (
            f"xfrm state add {self.ends(way, number)} spi {spi:#x} reqid {number + 1} mode {self._setup.mode} "
            f"replay-window 1024 flag esn {suite.xfrm(keys)}{encap}"
        )

    def policy(self, box: int, way: int, number: int) -> str:
        """The line that adds the policy of SA `number` of a direction at a box."""
        flow, host = self.flow(way, number), 8 * len(self.flow(way, number).src.packed)
        return (
            f"xfrm policy add src {flow.src}/{host} dst {flow.dst}/{host} proto udp sport {flow.src_port} dport {flow.dst_port} "
            f"dir {'out' if way == box else 'in'} tmpl {self.ends(way, number)} reqid {number + 1} mode {self._setup.mode}"
        )

    def batch(self, box: int, mtu: int) -> str:
        """The `sallyctl -batch` text of a box that knows nothing yet."""
        return "".join(f"{line}\n" for line in [*self.network(box, mtu), *self.associations(box)])

    def network(self, box: int, mtu: int) -> list[str]:
        """The lines that give `box` its MTU, and its address or its bridge."""
        ip = self._setup.ip
        place = [f"addr add {BLACK[ip][box]}/{BLACK_PREFIX[ip]} dev black"]
        return [f"link set dev black mtu {mtu}", *(BRIDGE if self._setup.mode == "transport" else place)]

    def associations(self, box: int, generation: int = 0) -> Iterator[str]:
        """The lines that add the SAs and policies of both directions to `box`.

        Keys come from the setup's seed, the secret and `generation` alone, so both boxes agree and,
        without a secret, a run can be repeated. They are test keys only. Each generation has its
        own SPIs.
        """
        for way in (box, 1 - box):
            for number, state in enumerate(self.states(way, generation)):
                yield state
                yield self.policy(box, way, number)

    def states(self, way: int, generation: int = 0) -> Iterator[str]:
        """The lines that add the SAs of a direction."""
        keys = self._source(way, generation)
        first = FIRST_SPI + generation * GENERATION_SPIS
        for number in range(self._setup.sas):
            yield self.state(way, number, first + number, keys)

    def keys(self, way: int) -> Iterator[tuple[Suite, int, bytes, bytes]]:
        """Suite, SPI, key (with its salt) and authentication key of each SA that `states` adds."""
        keys = self._source(way, 0)
        for number in range(self._setup.sas):
            suite = self._setup.suites[number % len(self._setup.suites)]
            yield suite, FIRST_SPI + number, keys.randbytes(suite.key), keys.randbytes(suite.auth_key)

    def _source(self, way: int, generation: int) -> random.Random:
        names = " ".join(suite.name for suite in self._setup.suites)
        last = (f" {generation}" if generation else "") + self._secret
        return random.Random(f"{self._setup.seed} {way} {names}{last}")
