# SPDX-License-Identifier: Apache-2.0
"""ICMP errors to both sides of the inner chip (RFC 4301 6.2). Policies, SAs and flows stand in
InnerSetup.scala."""

from collections.abc import Iterator

from tests.vectors.inner_frames.decrypt import around_the_ports
from tests.vectors.inner_frames.encrypt import HOST, PORT

ROUTER, ROUTER_V6 = "203.0.113.9", "2001:db8:f::9"
UDP = "UDP(sport=8, dport=7)"
SCTP = "SCTP(sport=200, dport=100)"


def error(dst: str, about_src: str, about_dst: str, upper: str, held: int = 28, kind: str = "type=3, code=1") -> str:
    """An error to `dst` that holds so many bytes of a packet."""
    about = f'raw(IP(src="{about_src}", dst="{about_dst}", id=7) / {upper} / Raw(bytes(40)))[:{held}]'
    return f'IP(src="{ROUTER}", dst="{dst}", id=1) / ICMP({kind}) / Raw({about})'


def error_v6(dst: str, about_src: str, about_dst: str, upper: str, held: int = 48) -> str:
    about = f'raw(IPv6(src="{about_src}", dst="{about_dst}") / {upper} / Raw(bytes(40)))[:{held}]'
    return f'IPv6(src="{ROUTER_V6}", dst="{dst}") / Unreachable(code=1) / Raw({about})'


def encrypt_cases_errors() -> Iterator[tuple[str, int, str]]:
    """Counter, SA or next hop, expression."""
    tags = ("", "Dot1Q(vlan=5) / ", "Dot1AD(vlan=5) / Dot1Q(vlan=6) / ")
    frames = [f'Ether(dst="{PORT}", src="{HOST}") / {tag}' for tag in tags]
    # No policy takes the error itself; a flow takes the return traffic.
    for frame in frames:
        for held in (27, 28, 29, 60):
            counter, sa = ("tx_protect", 704) if held >= 28 else ("drop_policy", 0)
            yield counter, sa, frame + error("10.6.0.1", "10.6.0.1", "10.6.0.2", SCTP, held)
        for held in (47, 48, 49, 80):
            counter, sa = ("tx_protect", 708) if held >= 48 else ("drop_policy", 0)
            yield counter, sa, frame + error_v6("::10.6.0.1", "::10.6.0.1", "::10.6.0.2", SCTP, held)
    frame = frames[0]
    yield "drop_policy", 0, frame + error("10.6.0.1", "10.6.0.1", "10.6.0.2", "SCTP(sport=100, dport=200)")
    yield "drop_policy", 0, frame + error("10.6.0.1", "10.6.0.1", "10.6.0.2", "TCP(sport=200, dport=100)")
    yield "drop_policy", 0, frame + error("10.6.0.1", "10.6.0.1", "10.6.0.3", SCTP)
    yield "drop_policy", 0, frame + error("10.6.0.3", "10.6.0.1", "10.6.0.2", SCTP)
    for kind in ("type=4", "type=11", "type=12"):
        yield "tx_protect", 704, frame + error("10.6.0.1", "10.6.0.1", "10.6.0.2", SCTP, kind=kind)
    for kind in ("type=0", "type=2", "type=5", "type=8"):
        yield "drop_policy", 0, frame + error("10.6.0.1", "10.6.0.1", "10.6.0.2", SCTP, kind=kind)
    # BYPASS, PUNT and PROTECT of the error itself come first.
    yield "tx_bypass", 1, frame + error("10.5.0.9", "10.5.0.9", "10.0.0.1", "UDP(sport=5000, dport=7)")
    yield "punt_policy", 0, frame + error("10.3.0.9", "10.3.0.9", "10.0.0.1", UDP)
    yield "tx_protect", 5, frame + error("10.1.0.77", "10.1.0.77", "10.0.0.1", UDP)
    yield "tx_bypass", 1, frame + error_v6("2001:db8:5::1", "2001:db8:5::1", "2001:db8::1", "UDP(sport=5000, dport=7)")
    # DISCARD of the error itself, behind, beside and in front of the policy of the return traffic.
    yield "tx_protect", 710, frame + error("10.4.0.7", "10.4.0.7", "10.0.0.1", UDP)
    yield "tx_protect", 711, frame + error_v6("2001:db8:4::7", "2001:db8:4::7", "2001:db8::1", UDP)
    yield "drop_policy", 0, frame + error("10.4.0.8", "10.4.0.8", "10.0.0.1", UDP)
    yield "drop_policy", 0, frame + error("10.1.9.9", "10.1.9.9", "10.0.0.1", UDP)
    yield "drop_policy", 0, frame + error("10.1.9.12", "10.1.9.12", "10.0.0.1", UDP)
    # The return traffic may leave in clear: its flow is not to a tunnel, and the error has none.
    yield "drop_policy", 0, frame + error("10.7.0.9", "10.7.0.9", "10.0.0.1", "ICMP(type=8, code=0)")
    yield "tx_protect", 8, frame + error("10.7.0.9", "10.7.0.9", "10.0.0.1", "ICMP(type=0, code=0)")


def decrypt_cases_errors() -> Iterator[tuple[str, int, int, int, int, bool, str, int | None]]:
    """Counter, SA, sequence number, next header, outer TOS, bypass, expression, ECN of the
    result. Their numbers are above those of all other cases."""
    count = 5 << 31
    # SAs 8 and 11: below, at and above both ends of the ranges, in the packet's other direction.
    for counter, sport, dport in around_the_ports():
        upper = f"UDP(sport={dport}, dport={sport})"
        count += 1
        yield counter, 8, count, 4, 0, False, error("10.0.0.1", "10.0.0.1", "10.9.0.1", upper), None
        count += 1
        yield counter, 11, count, 41, 0, False, error_v6("2001:db8::1", "2001:db8::1", "2001:db8:9::1", upper), None
    right = "UDP(sport=80, dport=4100)"
    for counter, sa, next_header, expression in (
        ("drop_selector_mismatch", 8, 4, error("10.0.0.1", "10.0.0.1", "10.9.1.1", right)),
        ("drop_selector_mismatch", 8, 4, error("10.0.0.2", "10.0.0.2", "10.9.0.1", right)),
        ("drop_selector_mismatch", 8, 4, error("10.0.0.2", "10.0.0.1", "10.9.0.1", right)),
        ("drop_selector_mismatch", 8, 4, error("10.0.0.1", "10.0.0.1", "10.9.0.1", right, held=27)),
        ("drop_selector_mismatch", 8, 4, error("10.0.0.1", "10.0.0.1", "10.9.0.1", right, kind="type=5")),
        ("drop_selector_mismatch", 11, 41, error_v6("2001:db8::1", "2001:db8::1", "2001:db8:9::1", right, held=47)),
        ("drop_selector_mismatch", 11, 41, error_v6("2001:db8::1", "2001:db8::1", "2001:db8:10::1", right)),
    ):
        count += 1
        yield counter, sa, count, next_header, 0, False, expression, None
    # SA 1 is of group 77, SAs 2 and 3 of group 78. By itself an error to 10.0.1.5 is of group 78,
    # and one to 10.0.1.200 of group 77.
    for dst, upper, groups in (
        ("10.0.1.5", "UDP(sport=80)", {77, 78}),  # the return traffic is of the other group
        ("10.0.1.5", "UDP(sport=81)", {78}),  # it is discarded
        ("10.0.1.5", "TCP(sport=80)", {78}),  # of the same group
        ("10.0.1.200", "UDP(sport=80)", {77}),
        ("10.0.1.200", "UDP(sport=81)", {77}),
    ):
        for sa in (1, 2, 3):
            count += 1
            counter = "tx_frames" if (77 if sa == 1 else 78) in groups else "drop_selector_mismatch"
            yield counter, sa, count, 4, 0, False, error(dst, dst, "10.9.0.1", upper), None
    # In clear an error is a packet as any other: the first is of a group, the second no rule's.
    for dst in ("10.0.1.200", "10.9.9.9"):
        yield "drop_in_clear_denied", 0, 0, 0, 0, True, error(dst, dst, "10.9.0.1", "UDP(sport=80)"), None
