# SPDX-License-Identifier: Apache-2.0
"""Stateful tests in a lab: what they ask of it and of TRex's ports, and one trial.

TRex's ASTF mode has clients at its ports of even numbers and their servers at the ports behind
these. Its frames have no tags here, and go to one next hop a port.
"""

from __future__ import annotations

from collections.abc import Callable

from sallyport.backend import Setup, Trial, TrialResult
from sallyport.errors import InputError
from sallyport.stateful import TESTS, Wire
from sallyport.trex import served
from sallyport.trex.connections import Connections
from sallyport.trex.lab import Lab
from sallyport.trex.process import Client
from sallyport.trex.streams import Way

PORT_PAIR = 2


def check(lab: Lab, setup: Setup, tests: list[str]) -> None:
    """[InputError] before the first packet, if the lab or the setup is not one of these tests."""
    if lab.alone or lab.pairs != 1:
        raise InputError(f"--test {tests[0]}: connections go through two boxes; list two in {lab.file}")
    here = clients(lab)
    if lab.ends[here ^ 1].port != lab.ends[here].port + 1:
        numbers = " and ".join(str(end.port) for end in lab.ends)
        raise InputError(
            f"{lab.file}: boxes: TRex's clients are at an even port and their servers at the next one, not at ports {numbers}; "
            "connect the boxes to ports 0 and 1, or 2 and 3"
        )
    for end in lab.ends:
        if end.vlan:
            raise InputError(f"{lab.file}: vlan of {end.what}: a stateful test has no tags; leave it out")
    if setup.rekeys:
        raise InputError(f"--rekeys with --test {tests[0]}: the trials of connections have none; leave it out")
    for test in tests:
        _ = Wire(TESTS[test], setup).frame


def clients(lab: Lab) -> int:
    """The box behind which the clients are."""
    return next((way for way, end in enumerate(lab.ends) if end.port % PORT_PAIR == 0), 0)


def prepare(client: Client, ways: list[Way]) -> None:
    """Have frames of each port go to its next hop."""
    ports = [way.tx_port for way in ways]
    client.call("set_service_mode", ports=ports, enabled=True)
    try:
        for way in ways:
            client.call("set_l2_mode", port=way.tx_port, dst_mac=way.dst_mac)
    finally:
        client.call("set_service_mode", ports=ports, enabled=False)


def traffic(lab: Lab, client: Client, on_progress: Callable[[float, float], None] | None) -> Connections:
    """That of one trial."""
    return Connections(lab, client, clients(lab), on_progress)


def trial(lab: Lab, made: Connections, asked: Trial, about: dict) -> TrialResult:
    """Begin connections, measure, and judge."""
    assert asked.stateful
    wire = Wire(TESTS[asked.stateful], asked.setup)
    made.run(asked, wire)
    return served.of(lab, asked, wire, made, about)
