# SPDX-License-Identifier: Apache-2.0
"""ICMP errors about flows of a tunnel (RFC 4301 6.2), in whole boxes: by their own selectors, or by
those of the return traffic of the packet in them."""

from __future__ import annotations

import pytest
from scapy.layers.inet import TCP, UDP
from scapy.packet import Packet, Raw

from tests.support.icmp_errors import V4, V6, Net, framed, opened, through
from tests.support.reference import Tunnel, forwarded

TUNNEL = Tunnel()
both_versions = pytest.mark.parametrize("net", [V4, V6], ids=["IPv4", "IPv6"])


def flow(net: Net, src: str, dst: str, upper: Packet | None = None) -> Packet:
    """A packet about which an error may be."""
    return net.ip(src=src, dst=dst) / (upper or UDP(sport=7, dport=9)) / Raw(bytes(100))


def out(box, packets: list[Packet]) -> tuple[list[bytes], dict[str, int]]:
    """What leaves the tunnel for packets from red, and the drops and punts."""
    outcome = box.red(framed(packets))
    return opened(outcome, TUNNEL), outcome.named()


def back(box, packets: list[Packet]) -> tuple[list[bytes], dict[str, int]]:
    """What leaves at red for packets in the tunnel."""
    outcome = box.black(through(TUNNEL, packets))
    return [frame[14 : 14 + length(frame[14:])] for frame in outcome.out], outcome.named()


def length(packet: bytes) -> int:
    at, header = (4, 40) if packet[0] >> 4 == 6 else (2, 0)
    return header + int.from_bytes(packet[at : at + 2], "big")


def after(packets: list[Packet]) -> list[bytes]:
    return [forwarded(bytes(packet)) for packet in packets]


@both_versions
def test_an_sa_of_all_protocols_carries_errors_both_ways(make_box, net: Net) -> None:
    """Also those about flows that are not the tunnel's: a policy takes the errors themselves."""
    batch = net.batch(TUNNEL, "")
    errors = [
        net.error(bytes(flow(net, net.there, end))[: net.least], net.there, net.here) for end in (net.here, net.other)
    ]
    assert out(make_box(batch), errors) == (after(errors), {})
    errors = [
        net.error(bytes(flow(net, net.here, end))[: net.least], net.here, net.there) for end in (net.there, net.other)
    ]
    assert back(make_box(batch), errors) == (after(errors), {})


@both_versions
def test_errors_go_by_the_sa_of_the_return_traffic(make_box, net: Net) -> None:
    """Of every type, from a router that no policy names; the SA is for UDP with two ports alone, as
    a rule and, outbound, as a flow."""
    batch = net.batch(TUNNEL, "proto udp sport 9 dport 7").replace("sport 9 dport 7 dir in", "sport 7 dport 9 dir in")
    exact = net.batch(TUNNEL, "proto udp sport 9 dport 7").replace(f"{net.here_net} dst", f"{net.here} dst")
    exact = exact.replace(f"dst {net.there_net}", f"dst {net.there}")
    errors = net.errors(flow(net, net.there, net.here))
    for policies in (batch, exact):
        assert out(make_box(policies), errors) == (after(errors), {})
    errors = net.errors(flow(net, net.here, net.there, UDP(sport=9, dport=7)))
    assert back(make_box(batch), errors) == (after(errors), {})


@both_versions
def test_errors_about_what_is_not_the_return_traffic_end_here(make_box, net: Net) -> None:
    """Other ports, the same ones not turned round, another protocol, another network, another host
    than the one to which the error goes: each is dropped by name."""
    kind = "proto udp sport 9 dport 7"
    batch = net.batch(TUNNEL, kind).replace(f"{kind} dir in", "proto udp sport 7 dport 9 dir in")
    uppers = [UDP(sport=7, dport=8), UDP(sport=9, dport=7), TCP(sport=7, dport=9)]
    for port, near, far, sends, drop in (
        ("red", net.here, net.there, out, "inner.drop_policy"),
        ("black", net.there, net.here, back, "inner.drop_selector_mismatch"),
    ):
        right = UDP(sport=7, dport=9) if port == "red" else UDP(sport=9, dport=7)
        wrong = [*uppers[:1], uppers[1] if port == "red" else UDP(sport=7, dport=9), uppers[2]]
        errors = [net.errors(flow(net, far, near, upper))[0] for upper in wrong]
        errors.append(net.errors(flow(net, far, net.other, right))[0])
        errors.append(net.error(bytes(flow(net, far, near, right))[: net.least], net.other))
        errors.append(net.error(bytes(flow(net, net.other, near, right))[: net.least], far))
        assert sends(make_box(batch), errors) == ([], {drop: len(errors)}), port


@both_versions
def test_a_policy_for_the_error_itself_comes_first(make_box, net: Net) -> None:
    """PROTECT, BYPASS and PUNT of the error itself decide whatever their priority; DISCARD does if
    it stands first in the SPD, or beside the policy of the return traffic."""
    icmp = "icmp" if net is V4 else "ipv6-icmp"
    errors = net.errors(flow(net, net.there, net.here))
    own = f"xfrm policy add src {net.anything} dst {net.there_net} proto {icmp} dir out "
    count = len(errors)
    batch = net.batch(TUNNEL, "proto udp").replace("proto udp dir out", "proto udp dir out priority 10")
    for action, priority, drops in (
        ("block", 9, {"inner.drop_policy": count}),
        ("block", 10, {"inner.drop_policy": count}),
        ("block", 11, {}),
        ("punt", 11, {"inner.punt_policy": count}),
    ):
        sent = after(errors) if not drops else []
        policies = f"{batch}{own}priority {priority} action {action}\n"
        assert out(make_box(policies), errors) == (sent, drops), (action, priority)
    other = Tunnel(spi_out=0x3003, spi_in=0x4004)
    lines = other.lines(net.anything, f"{net.there_net} proto {icmp}", net.other).replace(
        "dir out", "dir out priority 11"
    )
    outcome = make_box(batch + lines).red(framed(errors))
    assert (opened(outcome, other), outcome.named()) == (after(errors), {})
    clear = f"{batch}{own}priority 11 action allow\nroute add {net.there_net} via {far(net)} dev black\n"
    outcome = make_box(clear).red(framed(errors))
    assert ([frame[14 : 14 + length(frame[14:])] for frame in outcome.out], outcome.named()) == (after(errors), {})


def far(net: Net) -> str:
    return "192.0.2.2" if net is V4 else "2001:db8:c0::2"


@both_versions
@pytest.mark.parametrize("action", ["action allow", "action punt", "tmpl proto esp reqid 77 mode tunnel"])
def test_the_packet_in_an_error_opens_no_way_but_an_sa(make_box, net: Net, action: str) -> None:
    """A policy that lets the return traffic pass in clear, gives it to the CPU, or has no SA yet,
    takes no error about it (RFC 4301 6.2: an active SA, and no SA is created)."""
    if action.startswith("tmpl"):
        action = action.replace("tmpl", "tmpl src 192.0.2.1 dst 192.0.2.2")
    batch = TUNNEL.batch("198.51.100.0/24", "198.51.100.0/24", "198.51.100.0/24")
    udp = f"src {net.here_net} dst {net.there_net} proto udp"
    batch += f"xfrm policy add {udp} dir out {action}\n"
    errors = net.errors(flow(net, net.there, net.here))
    assert out(make_box(batch), errors) == ([], {"inner.drop_policy": len(errors)})


def test_no_error_comes_in_clear_by_the_packet_in_it(make_box) -> None:
    """The policy lets UDP in clear; an error about UDP is another packet."""
    batch = TUNNEL.batch("198.51.100.0/24", "198.51.100.0/24", "198.51.100.0/24")
    batch += "xfrm policy add src 198.19.0.0/16 dst 198.18.0.0/16 proto udp dir in action allow\n"
    errors = V4.errors(flow(V4, V4.here, V4.there))
    outcome = make_box(batch).black(framed(errors))
    assert (outcome.out, outcome.named()) == ([], {"outer.drop_policy": len(errors)})


@both_versions
def test_neighbours_carry_no_errors_about_each_other(make_box, net: Net) -> None:
    """Two customers, each with a tunnel for its own UDP ports, the second with two policies, so
    that rules judge it: an error passes only by the SA of the flow that it is about."""
    second = Tunnel(spi_out=0x3003, spi_in=0x4004)
    batch = net.batch(TUNNEL, "proto udp sport 9 dport 7").replace("sport 9 dport 7 dir in", "sport 7 dport 9 dir in")
    lines = second.lines(net.here_net, f"{net.there_net} proto udp sport 19 dport 17", net.there_net)
    lines = lines.replace(" dir in", " proto udp sport 17 dport 19 dir in")
    [wanted] = [line for line in lines.splitlines() if "dir in" in line]
    batch += lines + wanted.replace("sport 17 dport 19", "sport 27 dport 29") + "\n"
    first_error, second_error, third_error = (
        net.errors(flow(net, net.there, net.here, UDP(sport=n, dport=n + 2)))[0] for n in (7, 17, 27)
    )
    outcome = make_box(batch).red(framed([first_error]))
    assert (opened(outcome, TUNNEL), outcome.named()) == (after([first_error]), {})
    outcome = make_box(batch).red(framed([second_error]))
    assert (opened(outcome, second), outcome.named()) == (after([second_error]), {})
    assert make_box(batch).red(framed([third_error])).named() == {"inner.drop_policy": 1}
    errors = [net.errors(flow(net, net.here, net.there, UDP(sport=n + 2, dport=n)))[0] for n in (7, 17, 27, 37)]
    for tunnel, passing in ((TUNNEL, errors[:1]), (second, errors[1:3])):
        outcome = make_box(batch).black(through(tunnel, errors))
        assert [frame[14 : 14 + length(frame[14:])] for frame in outcome.out] == after(passing)
        assert outcome.named() == {"inner.drop_selector_mismatch": len(errors) - len(passing)}
