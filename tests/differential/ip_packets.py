# SPDX-License-Identifier: Apache-2.0
"""IP packets of every kind, as a host would send them or as an attacker would: right but for what
their header fields say."""

from __future__ import annotations

import random
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface

from . import headers
from .configuration import OTHER_PROTOCOLS, WELL_KNOWN_PORTS
from .headers import Address
from .network import LOCAL, NEAR, RED_LOCAL, SPACE
from .policy import Network, Number, Selector
from .reading import ICMP_OF, MOBILITY

TTLS = (0, 1, 2, 3, 64, 64, 64, 64, 64, 64, 128, 128, 255, 255)
NEIGHBOUR_DISCOVERY = (133, 134, 135, 136, 137)
ODD_SOURCES = tuple(map(IPv6Address, ("fe80::1", "febf:ffff::9", "fec0::1", "ff02::1", "::", "::1", "::ffff:10.1.0.1")))
ODD_DESTINATIONS = tuple(map(IPv6Address, ("fe80::2", "ff02::1", "ff0e::7", "ff05::2", "fe00::1", "::", "::1")))
ODD = (
    "0.0.0.0",
    "0.1.2.3",
    "1.0.0.1",
    "127.0.0.1",
    "169.254.0.9",
    "224.0.0.9",
    "239.1.2.3",
    "240.0.0.1",
    "255.255.255.255",
)
ODD_IPV4 = tuple(map(IPv4Address, ODD))
OF_THE_BOX: dict[int, tuple[str, ...]] = {
    version: (
        LOCAL[version],
        *(str(ip_interface(own).ip + n) for own in RED_LOCAL for n in (0, 1) if (":" in own) == (version == 6)),
    )
    for version in (4, 6)
}
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION = 0, 43, 44, 60


def payload_size(dice: random.Random) -> int:
    """Mostly small, some around what a link takes, few jumbo up to and just above what a
    frame holds."""
    chance = dice.random()
    if chance < 0.85:
        return dice.randrange(0, 90)
    if chance < 0.96:
        return dice.randrange(90, 500)
    if chance < 0.998:
        return dice.choice([dice.randrange(500, 1460), dice.randrange(1250, 1700)])
    return dice.choice([dice.randrange(1500, 9000), dice.randrange(9000, 9600), dice.randrange(9480, 9560)])


def inside(dice: random.Random, prefix: Network) -> Address:
    """An address of a prefix, often its first or last, sometimes one beside them."""
    size = 1 << (prefix.max_prefixlen - prefix.prefixlen)
    low = int(prefix.network_address)
    if size == 1 and dice.random() < 0.6:
        return prefix.network_address
    number = low + dice.choice([0, 1, 2, size - 1, dice.randrange(size), dice.randrange(size), -1, size])
    number = min(max(number, 0), (1 << prefix.max_prefixlen) - 1)
    return (IPv4Address if prefix.version == 4 else IPv6Address)(number)


def long_size(dice: random.Random) -> int:
    """Longer than most MTUs here, or than ESP may be."""
    return dice.choice([dice.randrange(1300, 1500), dice.randrange(9520, 9550)])


def around_mtu(dice: random.Random, mtu: int) -> int:
    """With headers in front about as long as an MTU, or twice that; 0 is any."""
    return min(dice.choice([1, 2]) * (mtu or 1500), 9300) - dice.randrange(60)


def make(dice: random.Random, source: str, selectors: list[Selector], size: int | None = None) -> bytes:
    """A packet from a host on the side `source`, mostly one that some of the selectors may take."""
    chosen = dice.choice(selectors) if selectors and dice.random() < 0.85 else None
    version = chosen.version if chosen else dice.choice([4, 6])
    far = "black" if source == "red" else "red"
    src, dst = (chosen.src, chosen.dst) if chosen else (SPACE[source, version], SPACE[far, version])
    ends = [
        inside(dice, end if end.prefixlen or dice.random() < 0.2 else SPACE[side, version])
        for end, side in ((src, source), (dst, far))
    ]
    hosts = [host for host in NEAR[far] if host in dst]
    if hosts and dice.random() < 0.2:
        ends[1] = dice.choice(hosts)
    protocol, first, second = _upper_values(dice, chosen, version)
    upper = _upper(dice, version, protocol, first, second, dice.randbytes(payload_size(dice) if size is None else size))
    return build(dice, ends[0], ends[1], protocol, upper)


def build(
    dice: random.Random, src: Address | str, dst: Address | str, protocol: int, upper: bytes, straight: bool = False
) -> bytes:
    """An IP header, with random options or extension headers, in front of an upper layer.

    `straight`: nothing in them makes it wait where fragments are put together
    (docs/explanation/fragments.md).
    """
    src, dst = ip_address(src), ip_address(dst)
    return (_ipv4 if dst.version == 4 else _ipv6)(dice, src, dst, protocol, upper, straight)


def _upper_values(dice: random.Random, selector: Selector | None, version: int) -> tuple[int, int, int]:
    """Protocol and the two numbers, mostly those of the selector."""
    common = [6, 17, 17, 132, ICMP_OF[version], ICMP_OF[version], *([MOBILITY] if version == 6 else [])]
    protocol = selector.protocol if selector and selector.protocol is not None else None
    if protocol is None or dice.random() < 0.1:
        protocol = dice.choice([*common, dice.choice(OTHER_PROTOCOLS), ICMP_OF[10 - version]])
    wanted = [_wanted(dice, number) for number in ((selector.first, selector.second) if selector else (None, None))]
    if protocol == ICMP_OF[version]:
        numbers = (dice.choice([0, 3, 8, 128, 129, dice.randrange(256)]), dice.choice([0, 0, 1, dice.randrange(256)]))
    elif protocol == MOBILITY:
        numbers = (dice.choice([0, 1, 2, 5, dice.choice(NEIGHBOUR_DISCOVERY), dice.randrange(256)]), 0)
    else:
        numbers = (_port(dice), _port(dice))
    first, second = (
        want if want is not None and dice.random() < 0.9 else number
        for want, number in zip(wanted, numbers, strict=True)
    )
    return protocol, first, second


def _wanted(dice: random.Random, number: Number | None) -> int | None:
    """The number; of a range any of it, often its ends and the numbers beside them."""
    if not isinstance(number, tuple):
        return number
    low, high = number
    return dice.choice([low - 1, low, high, high + 1, dice.randint(low, high)]) & 0xFFFF


def _port(dice: random.Random) -> int:
    return dice.choice(WELL_KNOWN_PORTS) if dice.random() < 0.6 else dice.randrange(65536)


def _upper(dice: random.Random, version: int, protocol: int, first: int, second: int, data: bytes) -> bytes:
    if protocol == 6:
        return _tcp(dice, first, second) + data
    if protocol == 17:
        return headers.udp(first, second, data, dice.randrange(65536) if dice.random() < 0.1 else None)
    if protocol == 132:
        return headers.sctp(first, second, dice.randrange(1 << 32)) + data
    if protocol == ICMP_OF[version]:
        if version == 6 and dice.random() < 0.04:
            first = dice.choice(NEIGHBOUR_DISCOVERY)
        return headers.icmp(first & 255, second & 255, dice.randbytes(4)) + data
    if protocol == MOBILITY:
        return headers.mobility(first & 255, dice.randrange(256), dice.randbytes(4)) + data
    return data


def _tcp(dice: random.Random, first: int, second: int) -> bytes:
    """Half of them open a connection, with options in any order, some of them broken."""
    flags, options = dice.randrange(256), b""
    if dice.random() < 0.5:
        flags = dice.choice([0x02, 0x12, 0xC2, 0x02 | dice.randrange(256) & 0xFB])
        mss = bytes((2, 4)) + dice.choice(
            [0, 536, 1200, 1218, 1240, 1340, 1360, 1460, 8960, dice.randrange(65536)]
        ).to_bytes(2, "big")
        others = [
            b"\x01",
            b"\x01",
            b"\x03\x03\x07",
            b"\x04\x02",
            b"\x08\x0a" + dice.randbytes(8),
            b"\x00",
            bytes((254, dice.randrange(6))),
        ]
        parts = dice.sample(others[:5], dice.randrange(5)) + [mss] * dice.choice([0, 1, 1, 1, 2])
        if dice.random() < 0.15:
            parts.append(dice.choice(others))
        dice.shuffle(parts)
        options = b"".join(parts)[:40]
        options += bytes(-len(options) % 4)
    return headers.tcp(first, second, dice.randrange(1 << 32), flags, options, dice.randrange(65536))


def _ipv4(dice: random.Random, src: Address, dst: Address, protocol: int, upper: bytes, straight: bool) -> bytes:
    if dice.random() < 0.03:
        src = dice.choice([*ODD_IPV4, *map(IPv4Address, OF_THE_BOX[4])])
    if dice.random() < 0.02:
        dst = dice.choice([*ODD_IPV4, *map(IPv4Address, OF_THE_BOX[4])])
    options = b""
    if dice.random() < 0.15:
        size = 4 * dice.randrange(1, 11)
        options = bytes([0x94, size]) + dice.randbytes(size - 2)
    fragment = dice.choice([0, 0x4000])
    if dice.random() < 0.04 and not straight:
        fragment = dice.choice([0x2000, 0x6000, dice.randrange(1, 8192), 0x2000 | 185, 0x8000, 1])
    values = {"ttl": dice.choice(TTLS), "tos": dice.randrange(256), "ident": dice.randrange(65536)}
    return headers.ipv4(src, dst, protocol, upper, **values, fragment=fragment, options=options)


def _ipv6(dice: random.Random, src: Address, dst: Address, protocol: int, upper: bytes, straight: bool) -> bytes:
    if dice.random() < 0.03:
        src = dice.choice([*ODD_SOURCES, *map(IPv6Address, OF_THE_BOX[6])])
    if dice.random() < 0.03:
        dst = dice.choice([*ODD_DESTINATIONS, *map(IPv6Address, OF_THE_BOX[6])])
    payload, next_header = upper, protocol
    kinds = [_extension(dice, first=number == 0) for number in range(_how_many(dice))]
    if straight:
        kinds = [kind for kind in kinds[:1] if kind != FRAGMENT]
    for kind in reversed(kinds):
        payload, next_header = _extension_header(dice, kind, next_header) + payload, kind
    values = {"hop_limit": dice.choice(TTLS), "traffic_class": dice.randrange(256), "label": dice.randrange(1 << 20)}
    return headers.ipv6(src, dst, next_header, payload, **values)


def _how_many(dice: random.Random) -> int:
    return dice.choice([1, 1, 1, 1, 2, 2, 3, 4, 4, 5]) if dice.random() < 0.3 else 0


def _extension(dice: random.Random, first: bool) -> int:
    """Hop-by-hop options where they belong, and one time in 30 where they do not."""
    kind = dice.random()
    if kind < (0.35 if first else 0.03):
        return HOP_BY_HOP
    return ROUTING if kind < 0.55 else FRAGMENT if kind < 0.70 else DESTINATION


def _extension_header(dice: random.Random, kind: int, next_header: int) -> bytes:
    """Options of 8 to 72 bytes, up to three addresses; fragment headers are mostly those of whole
    packets (RFC 6946)."""
    if kind == ROUTING:
        return headers.routing_header(next_header, dice.choice([0, 1, 1, 2, 3]), dice.randrange(3))
    if kind == FRAGMENT:
        more, offset = dice.choice([(True, 0), (False, 5), (True, 5)]) if dice.random() < 0.4 else (False, 0)
        return headers.fragment_header(next_header, dice.randrange(256), offset, more, dice.randrange(1 << 32))
    size = 8 * dice.choice([1, 1, 1, 1, 2, 2, 3, 5, 8, 9])
    return headers.options_header(next_header, dice.randbytes(size - 4))
