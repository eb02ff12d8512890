# SPDX-License-Identifier: Apache-2.0
"""CHILD_SAs of XFRM interfaces: charon's `if_id_in` and `if_id_out` reach the box's SAs and
policies, and routes choose the tunnel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ike.charons import Charon, agree, child
from tests.ike.test_traffic import stream, trial

IF_IDS = {"seven": 7, "eight": 8}
# By XFRM interface the network behind box 1; all traffic between it and any address of box 0.
BEHIND = {"seven": "10.2.0.0/16", "eight": "10.4.0.0/16"}


@pytest.fixture
def interfaces(charons: tuple[Charon, Charon]) -> Iterator[None]:
    """An XFRM interface in each box for each of IF_IDS, with a route to the other box's network."""
    links = [f"link add {name} type xfrm dev black if_id {number}" for name, number in IF_IDS.items()]
    routes = (
        [f"route add {network} dev {name}" for name, network in BEHIND.items()],
        ["route add 10.1.0.0/16 dev seven"],
    )
    for charon, there in zip(charons, routes, strict=True):
        charon.box.ask("batch", lines=links + there)
    yield
    for charon, there in zip(charons, routes, strict=True):
        charon.box.wait_until_empty()
        gone = [route.replace(" add ", " delete ") for route in there] + [f"link delete {name}" for name in IF_IDS]
        charon.box.ask("batch", lines=gone)


def interface_children(charon: Charon, near: bool, more: str = "") -> None:
    """Its children, one for each XFRM interface."""
    words = ""
    for name, number in IF_IDS.items():
        ends = ("0.0.0.0/0", BEHIND[name]) if near else (BEHIND[name], "0.0.0.0/0")
        ends = f"local_ts = {ends[0]}\n remote_ts = {ends[1]}\n"
        words += (
            f"{name} {{ {ends} if_id_in = {number}\n if_id_out = {number}\n esp_proposals = aes256gcm16\n {more} }}\n"
        )
    charon.load(words)


def packets(charon: Charon, way: str) -> dict[str, int]:
    return {sa["name"]: int(sa[f"packets-{way}"]) for sa in charon.children()}


@pytest.mark.usefixtures("interfaces")
def test_routes_choose_the_child_sa(fresh: tuple[Charon, Charon]) -> None:
    """Two CHILD_SAs take everything of red; the route of a packet chooses one, before and behind a
    rekey, and no SA nor policy stays behind their end."""
    a, b = fresh
    both = a.box, b.box
    for charon in fresh:
        interface_children(charon, near=charon is a)
    for name in IF_IDS:
        a.initiate(name)
    b.box.wait(lambda: len(b.box.states) == 4 and len(b.box.policies) == 4)
    agree(*both)
    for box in both:
        assert sorted((s.if_id, s.dir) for s in box.states) == [(n, way) for n in (7, 8) for way in ("in", "out")]
        assert sorted((p.if_id, p.dir) for p in box.policies) == [(n, way) for n in (7, 8) for way in ("in", "out")]
    # Box 0 to the two networks; back by the one interface that box 1 has a route to.
    ends = {"seven": "10.2.0.9", "eight": "10.4.0.9"}
    frames = {"seven": 5, "eight": 8}

    def carry() -> None:
        streams = [
            stream(0, id=n, frames=frames[name], flows={"src_ip": "10.1.0.9", "dst_ip": ends[name]})
            for n, name in enumerate(ends)
        ]
        streams.append(stream(1, id=2, frames=3, flows={"src_ip": ends["seven"], "dst_ip": "10.1.0.9"}))
        assert trial(both, *streams) == [5, 8, 3]

    carry()
    assert packets(a, "out") == packets(b, "in") == frames
    assert packets(b, "out") == packets(a, "in") == {"seven": 3, "eight": 0}
    old = a.box.spis()
    for name in IF_IDS:
        b.swanctl("--rekey", "--child", name)
    for box in both:
        box.wait(lambda box=box: len(box.spis()) == 4 and not box.spis() & old)
    carry()
    assert packets(a, "out") == frames
    a.swanctl("--terminate", "--child", "eight")
    for box in both:
        box.wait(lambda box=box: len(box.states) == 2 and len(box.policies) == 2)
    assert {s.if_id for box in both for s in box.states} == {p.if_id for box in both for p in box.policies} == {7}


@pytest.mark.usefixtures("interfaces")
def test_an_acquire_makes_the_sa_of_its_interface(fresh: tuple[Charon, Charon]) -> None:
    """Traps of both interfaces take everything; what the daemon tells of a packet that one caught
    makes the CHILD_SA of that interface alone, and the next packets go by it."""
    a, b = fresh
    interface_children(a, near=True, more="start_action = trap")
    interface_children(b, near=False)
    a.box.wait(lambda: len(a.box.policies) == 4)
    assert not a.box.states
    (trap,) = [p for p in a.box.policies if p.if_id == IF_IDS["eight"] and p.dir == "out"]
    ends = {"src": "10.1.0.9", "dst": "10.4.0.9"}
    a.box.emit(event="acquire", **ends, proto=17, policy=trap.selector, reqid=int(trap.tmpl.split()[7]))
    for box in (a.box, b.box):
        box.wait(lambda box=box: len(box.states) == 2)
        assert {s.if_id for s in box.states} == {IF_IDS["eight"]}
    flows = {"src_ip": ends["src"], "dst_ip": ends["dst"]}
    assert trial((a.box, b.box), stream(0, frames=4, flows=flows)) == [4]
    assert packets(a, "out") == {"eight": 4}


def test_network_interfaces_are_refused(fresh: tuple[Charon, Charon]) -> None:
    """charon names a child's `interface` for outbound packets alone: the CHILD_SA fails, the log
    says why, and nothing stays in the box."""
    a, b = fresh
    a.load(child("net", 1, 2, "esp_proposals = aes256gcm16\n interface = blue"))
    b.load(child("net", 2, 1, "esp_proposals = aes256gcm16"))
    a.mark()
    assert "failed" in a.initiate("net", check=False)
    a.wait_for_log(r"unable to add outbound SA .*: SAs of one network interface are not supported")
    for charon in fresh:
        charon.box.wait_until_empty()
