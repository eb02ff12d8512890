# SPDX-License-Identifier: Apache-2.0
"""Clear packets that find no station at black (docs/explanation/forwarding.md), many of them: the
box does what the model says, and the comparison sees what it must."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from ipaddress import ip_network
from pathlib import Path

import pytest

from tests.differential import box, red_frames
from tests.differential.box import Observed
from tests.differential.comparison import compare
from tests.differential.configuration import Configuration
from tests.differential.network import BLACK_NEAR, DEFAULT_HOP, SPACE, Gateway, Paths, gateways
from tests.differential.outcome import Clear, Outcome
from tests.differential.policy import GROUPS, Policy, Selector
from tests.differential.reading import read
from tests.differential.run import Frames, complete, judge

SEED, PACKETS, MTU = 4304, 1_500, 1400
# Networks, and the part of each to which alone there is a route.
WIDER = {"172.16.0.0/16": "172.16.5.0/24", "2001:db8:9::/48": "2001:db8:9:5::/64"}
ROUTERS = ("192.0.2.248/29", "2001:db8:c0::f8/125")  # their own addresses
# Routers without a neighbour line: one of a long route, and one of a longer route inside another.
SILENT = ("192.0.2.253", "2001:db8:c0::fc")
Punts = list[tuple[str, bytes]]


def clear_box(defaults: tuple[str, ...]) -> Configuration:
    """All leaves in clear: to hosts with a row and without, by routers with a neighbour line and
    without, by no route, and to groups."""
    routers = [replace(g, mac="") if g.address in SILENT else g for g in gateways({})]
    silent = zip(SILENT, WIDER.values(), strict=True)
    routers += [Gateway("black", ip_network(part), address, "") for address, part in silent]
    to = [ip_network(net, strict=False) for net in (*BLACK_NEAR, *WIDER, *ROUTERS)]
    to += [g.prefix for g in routers if g.device == "black"]
    to += [SPACE["black", version] for version in (4, 6)]
    to += [*GROUPS, ip_network("0.0.0.0/0"), ip_network("::/0")]
    selectors = [Selector(SPACE["red", dst.version], dst) for dst in to]
    policies = [Policy(selector, "out", number, "allow") for number, selector in enumerate(selectors)]
    hops = {port: DEFAULT_HOP[port] for port in defaults}
    return Configuration([], policies, Paths(tuple(routers), MTU, 0, defaults=hops))


@cache
def case(defaults: tuple[str, ...] = ("red",)) -> tuple[Configuration, Frames, dict[str, list[Outcome]]]:
    config = clear_box(defaults)
    frames = {"red": complete(red_frames.make(random.Random(SEED), config, PACKETS), "red", config)}
    return config, frames, judge(config, frames)


def kinds(outcomes: list[Outcome]) -> Counter[str]:
    """Why the CPU gets packets of each IP version, those to groups apart, and pieces of packets."""
    found: Counter[str] = Counter()
    for outcome in outcomes:
        for reason, frame in outcome.delivered:
            packet = read(frame[14:], frame[14] >> 4)
            group = " to a group" if any(packet.dst in group for group in GROUPS) else ""
            found[f"{reason} IPv{packet.version}{group}"] += 1
            found[f"{reason} in pieces"] += len(outcome.delivered) > 1
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """What the box without a default next hop at black does."""
    config, frames, _ = case()
    return box.run(config, frames, tmp_path_factory.mktemp("lost"))


def test_the_cpu_gets_clear_packets_without_a_station(seen: Observed) -> None:
    _, frames, outcomes = case()
    made = kinds(outcomes["red"])
    wanted = [f"clear_{why} IPv{version}" for why in ("host", "route") for version in (4, 6)]
    wanted += [f"clear_route IPv{version} to a group" for version in (4, 6)]
    wanted += [f"clear_{why} in pieces" for why in ("host", "route")]
    assert min(made[kind] for kind in wanted) >= 2, made
    assert sum(isinstance(item, Clear) for outcome in outcomes["red"] for item in outcome.sent) > 50
    assert compare(frames, outcomes, seen) is None


def test_a_default_next_hop_stands_for_all_of_these(tmp_path: Path) -> None:
    config, frames, outcomes = case(("red", "black"))
    assert not kinds(outcomes["red"])
    assert compare(frames, outcomes, box.run(config, frames, tmp_path)) is None


def first(change: Callable[[str, bytes], Punts]) -> Callable[[Punts], Punts]:
    """Changes the first clear packet for the CPU."""

    def changed(punts: Punts) -> Punts:
        at = next(n for n, (reason, _) in enumerate(punts) if reason.startswith("punt: clear"))
        return [*punts[:at], *change(*punts[at]), *punts[at + 1 :]]

    return changed


def swapped(reason: str) -> str:
    host, route = "clear_host", "clear_route"
    return reason.replace(host, route) if host in reason else reason.replace(route, host)


def bit(frame: bytes, at: int) -> bytes:
    return bytes([*frame[:at], frame[at] ^ 1, *frame[at + 1 :]])


FAULTS: dict[str, Callable[[Punts], Punts]] = {
    **{f"bit in byte {at}": first(lambda reason, frame, at=at: [(reason, bit(frame, at))]) for at in (0, 5, 11, 13, 22)},
    "the other reason": first(lambda reason, frame: [(swapped(reason), frame)]),
    "in another network": first(lambda reason, frame: [(f"{reason}, network 1", frame)]),
    "padded": first(lambda reason, frame: [(reason, frame + bytes(1))]),
    "lost": first(lambda _reason, _frame: []),
    "twice": first(lambda reason, frame: 2 * [(reason, frame)]),
}  # fmt: skip


def test_the_comparison_sees_every_fault_of_such_a_packet(seen: Observed) -> None:
    _, frames, outcomes = case()
    changed = {name: seen.punted | {"outer": change(seen.punted["outer"])} for name, change in FAULTS.items()}
    changed["at the other chip"] = {
        chip: seen.punted[other] for chip, other in (("inner", "outer"), ("outer", "inner"))
    }
    unseen = [name for name, punted in changed.items() if not compare(frames, outcomes, replace(seen, punted=punted))]
    assert not unseen


@pytest.mark.parametrize("why", ["host", "route"])
def test_a_lost_packet_that_leaves_is_seen(seen: Observed, why: str) -> None:
    """A model whose default next hop takes it differs."""
    _, frames, outcomes = case()
    _, _, wrong = case(("red", "black"))
    blamed = [
        n
        for n, (right, other) in enumerate(zip(outcomes["red"], wrong["red"], strict=True))
        if right != other and right.delivered[0][0] == f"clear_{why}"
    ]
    some = [*outcomes["red"]]
    some[blamed[0]] = wrong["red"][blamed[0]]
    found = compare(frames, {"red": some}, seen)
    assert found and found.port == "red"
