# SPDX-License-Identifier: Apache-2.0
"""What a packet in an ICMP error must be for the error to go by its return traffic (RFC 4301 6.2):
below, at and above each limit of docs/explanation/icmp-errors.md, out and in."""

from __future__ import annotations

import pytest
from scapy.layers.inet import ICMP, IP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6Unknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.packet import Packet, Raw

from tests.support.icmp_errors import V4, V6, Net, framed, opened, through
from tests.support.reference import Tunnel, forwarded

TUNNEL = Tunnel()
both_versions = pytest.mark.parametrize("net", [V4, V6], ids=["IPv4", "IPv6"])
Case = tuple[Packet, bool]  # an error, and whether it passes


def put(packet: bytes, at: int, value: bytes) -> bytes:
    return packet[:at] + value + packet[at + len(value) :]


def cases_v4(near: str, far: str) -> list[Case]:
    """Errors about UDP from `far` to `near`."""
    upper = UDP(sport=7, dport=9) / Raw(bytes(600))
    about = bytes(IP(src=far, dst=near, flags="DF") / upper)
    short = about[:28]

    def error(held: bytes, **fields) -> Packet:
        return V4.error(held, far, kind=ICMP(type=3, code=1, **fields))

    cases = [(error(about[:size]), size >= 28) for size in (0, 1, 19, 20, 21, 24, 27, 28, 29, 32, 548)]
    cases += [(error(put(short, 2, total.to_bytes(2, "big"))), total >= 28) for total in (0, 20, 27, 28, 29, 65535)]
    cases.append((error(bytes(IP(src=far, dst=near, options=[IPOption_NOP()] * 4) / upper)[:60]), False))
    cases += [(error(put(short, 0, bytes([first]))), first == 0x45) for first in (0x44, 0x45, 0x46, 0x55, 0x65)]
    flags = ((0x0000, True), (0x4000, True), (0x8000, True), (0x2000, False), (0x0001, False), (0x1000, False))
    cases += [(error(put(short, 6, bits.to_bytes(2, "big"))), passes) for bits, passes in flags]
    # Its checksum is another one at each router; that of ICMP is for the receiver to check.
    cases += [(error(put(short, 10, b"\1\2")), True), (error(short, chksum=0x1234), True)]
    with_options = error(short)
    with_options.options = [IPOption_NOP()] * 4
    cases.append((with_options, False))
    errors = (3, 4, 11, 12)
    for kind in (0, 2, *errors, 5, 8, 10, 13, 14, 17, 30):
        cases.append((V4.error(short, far, kind=ICMP(type=kind, code=1)), kind in errors))
    return cases


def cases_v6(near: str, far: str) -> list[Case]:
    upper = UDP(sport=7, dport=9) / Raw(bytes(600))
    about = bytes(IPv6(src=far, dst=near) / upper)
    short = about[:48]

    def error(held: bytes) -> Packet:
        return V6.error(held, far, kind=ICMPv6DestUnreach(code=1))

    cases = [(error(about[:size]), size >= 48) for size in (0, 1, 39, 40, 41, 44, 47, 48, 49, 56, 1200)]
    cases += [(error(put(short, 4, length.to_bytes(2, "big"))), length >= 8) for length in (0, 7, 8, 9, 65535)]
    cases += [(error(put(short, 0, bytes([first]))), first >> 4 == 6) for first in (0x40, 0x45, 0x60, 0x6F, 0x70)]
    options = [PadN(optdata=bytes(4))]
    for extension in (
        IPv6ExtHdrHopByHop(options=options),
        IPv6ExtHdrDestOpt(options=options),
        IPv6ExtHdrRouting(addresses=["2001:db8::7"]),
        IPv6ExtHdrFragment(m=0, offset=0),
        IPv6ExtHdrFragment(m=1, offset=0),
        IPv6ExtHdrFragment(m=0, offset=1),
    ):
        cases.append((error(bytes(IPv6(src=far, dst=near) / extension / upper)[:80]), False))
    behind = IPv6(src=V6.router, dst=far) / IPv6ExtHdrDestOpt(options=options) / ICMPv6DestUnreach(code=1) / Raw(short)
    cases.append((behind, False))
    for kind in (0, 1, 2, 3, 4, 5, 100, 127, 128, 129, 255):
        cases.append((V6.error(bytes(4) + short, far, kind=ICMPv6Unknown(type=kind, code=1)), 1 <= kind <= 4))
    return cases


def check(make_box, batch: str, outgoing: list[Case], incoming: list[Case]) -> None:
    """Outgoing errors pass into the tunnel, incoming ones out of it."""
    passing = [forwarded(bytes(error)) for error, passes in outgoing if passes]
    assert 0 < len(passing) < len(outgoing)
    outcome = make_box(batch).red(framed([error for error, _ in outgoing]))
    assert opened(outcome, TUNNEL) == passing
    assert outcome.named() == {"inner.drop_policy": len(outgoing) - len(passing)}
    passing = [forwarded(bytes(error)) for error, passes in incoming if passes]
    outcome = make_box(batch).black(through(TUNNEL, [error for error, _ in incoming]))
    assert [frame[14 : 14 + len(want)] for frame, want in zip(outcome.out, passing, strict=True)] == passing
    assert outcome.named() == {"inner.drop_selector_mismatch": len(incoming) - len(passing)}


@both_versions
def test_errors_below_at_and_above_each_limit(make_box, net: Net) -> None:
    cases = cases_v4 if net is V4 else cases_v6
    check(make_box, net.batch(TUNNEL, "proto udp"), cases(net.here, net.there), cases(net.there, net.here))


@both_versions
def test_an_error_in_an_error_is_no_way_in_or_out(make_box, net: Net) -> None:
    """The tunnel takes every type of ICMP with code 7. The errors have code 1, the messages in them
    code 7: those about a query pass, those about an error do not."""
    name, last = ("icmp", 18) if net is V4 else ("ipv6-icmp", 255)
    batch = net.batch(TUNNEL, f"proto {name} type 0-{last} code 7")
    errors = (3, 4, 5, 11, 12) if net is V4 else range(128)

    def cases(near: str, far: str) -> list[Case]:
        about = [
            (
                kind,
                net.ip(src=far, dst=near) / (ICMP if net is V4 else ICMPv6Unknown)(type=kind, code=7) / Raw(bytes(8)),
            )
            for kind in ((0, 3, 4, 5, 8, 11, 12, 13, 17) if net is V4 else (0, 1, 4, 5, 100, 127, 128, 129, 160, 255))
        ]
        kind_of = ICMP(type=3, code=1) if net is V4 else ICMPv6DestUnreach(code=1)
        return [
            (net.error(bytes(packet)[: net.least], far, kind=kind_of), kind not in errors) for kind, packet in about
        ]

    check(make_box, batch, cases(net.here, net.there), cases(net.there, net.here))


def test_a_fragment_of_an_error_has_its_own_selectors_alone(make_box) -> None:
    """In the tunnel, where nothing puts it together; from red it is whole before it is judged."""
    error = V4.error(bytes(IP(src=V4.here, dst=V4.there) / UDP(sport=7, dport=9))[:28], V4.here, kind=ICMP(type=3))
    error.flags = "MF"
    outcome = make_box(V4.batch(TUNNEL, "proto udp")).black(through(TUNNEL, [error]))
    assert (outcome.out, outcome.named()) == ([], {"inner.drop_selector_mismatch": 1})
