# SPDX-License-Identifier: Apache-2.0
"""The return traffic of the packet in an ICMP error (RFC 4301 6.2), by scapy's dissection and the
limits that docs/explanation/icmp-errors.md sets to it."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6Unknown, IPv6

from .policy import Hosts, Policy, decide
from .reading import EXTENSIONS, ICMP_OF, PORTS, Reading, numbers

ERRORS = {4: (3, 4, 11, 12), 6: (1, 2, 3, 4)}
ABOUT_WHICH_NOBODY_ERRS = {4: (3, 4, 5, 11, 12), 6: range(128)}
FIXED = {4: 20, 6: 40}
ICMP_BYTES, LEAST_BEHIND = 8, 8


def returning(error: Reading) -> Reading | None:
    """What would come back for the packet in an error; None if this is no error, or one with its
    own selectors alone."""
    version = error.version
    fixed = FIXED.get(version)
    if error.state != "whole" or error.fragment or error.header != fixed or error.protocol != ICMP_OF[version]:
        return None
    held = error.payload[ICMP_BYTES:]
    if error.numbers[0] not in ERRORS[version] or len(held) < fixed + LEAST_BEHIND or held[0] >> 4 != version:
        return None
    return (_ipv4 if version == 4 else _ipv6)(error, held)


def _ipv4(error: Reading, held: bytes) -> Reading | None:
    about = IP(held[:20])
    if about.ihl != 5 or about.len < 20 + LEAST_BEHIND or about.flags.MF or about.frag:
        return None
    if about.proto == ICMP_OF[4] and ICMP(held[20:24] + bytes(60)).type in ABOUT_WHICH_NOBODY_ERRS[4]:
        return None
    return _turned(error, IPv4Address(about.src), IPv4Address(about.dst), about.proto, held[20:])


def _ipv6(error: Reading, held: bytes) -> Reading | None:
    about = IPv6(held[:40])
    if about.plen < LEAST_BEHIND or about.nh in EXTENSIONS:
        return None
    if about.nh == ICMP_OF[6] and ICMPv6Unknown(held[40:44] + bytes(60)).type in ABOUT_WHICH_NOBODY_ERRS[6]:
        return None
    return _turned(error, IPv6Address(about.src), IPv6Address(about.dst), about.nh, held[40:])


def _turned(
    error: Reading, src: IPv4Address | IPv6Address, dst: IPv4Address | IPv6Address, protocol: int, upper: bytes
) -> Reading | None:
    if src != error.dst:
        return None
    kind, found = numbers(error.version, protocol, upper, later=False)
    found = found[::-1] if protocol in PORTS else found
    return Reading("whole", error.version, src=dst, dst=src, protocol=protocol, upper=kind, numbers=found)


def outgoing(policies: list[Policy], packet: Reading) -> tuple[Policy | None, Reading]:
    """The policy that decides over a packet from red, and what meets it: the packet, or the return
    traffic of the packet in it."""
    own = decide(policies, packet)
    back = returning(packet)
    if back is None or (own is not None and own.action != "block"):
        return own, packet
    policy = decide(policies, back)
    if policy is None or isinstance(policy.action, str) or (own is not None and own.priority <= policy.priority):
        return own, packet
    if isinstance(policy.action, Hosts) and policy.action.between(back) is None:
        return own, packet
    return policy, back
