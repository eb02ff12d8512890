# SPDX-License-Identifier: Apache-2.0
"""Options of `./sallyport rfc2544` that exclude each other."""

from __future__ import annotations

from sallyport import suites
from sallyport.errors import InputError
from sallyport.rfc2544.asked import Asked


def check(asked: Asked) -> None:
    """[InputError] for the first option that does not go with another one."""
    if asked.boxes == 1 and len({each.fast for each in suites.parse(asked.suite)}) > 1:
        raise InputError(
            f"--suite {asked.suite} with --boxes 1: the tester pairs frames by their order, and suites with GHASH overtake "
            "the others: choose suites of one kind, or two boxes"
        )
    if asked.rekeys and asked.boxes == 1:
        raise InputError("--rekeys with --boxes 1: a rekey is between two boxes")
    if asked.nat_t and asked.mode == "transport":
        raise InputError(
            "--nat-t with --mode transport: boxes encapsulate tunnels alone (docs/explanation/encrypt-path.md); choose --mode tunnel"
        )
    if asked.of_ike:
        _of_ike(asked)
    elif asked.ike_tunnels or asked.ike_flood:
        name = "--ike-tunnels" if asked.ike_tunnels else "--ike-flood"
        raise InputError(f"{name} is of the tests of IKE: choose --test ike, or leave it out")
    if asked.of_connections:
        _of_connections(asked)
    elif asked.object_size:
        raise InputError("--object-size is of the tests of connections: choose --test stateful, or leave it out")


def _of_ike(asked: Asked) -> None:
    """Options that have no meaning in a test of IKE."""
    _refuse(
        asked,
        {
            "--sas": (asked.sas, "--ike-tunnels says how many tunnels"),
            "--rekeys": (asked.rekeys, "ike-rekeys rekeys each tunnel once"),
            "--goal": (asked.goal != "rfc2544", "nothing is searched"),
            "--direction": (asked.direction != "both", "the traffic goes both ways"),
        },
    )


def _of_connections(asked: Asked) -> None:
    """Options that have no meaning in a test of connections."""
    _refuse(
        asked,
        {
            "--sas": (asked.sas, "the hosts share the boxes' policies"),
            "--rekeys": (asked.rekeys, "its trials have none"),
            "--direction": (asked.direction != "both", "connections go both ways"),
            "--goal pdr": (asked.goal == "pdr", "TCP sends lost frames again"),
            "--loss-tolerance": (asked.loss_tolerance is not None, "TCP sends lost frames again"),
            "--repeat": (asked.repeat > 1, "a command searches once"),
        },
    )


def _refuse(asked: Asked, options: dict[str, tuple[object, str]]) -> None:
    """The first of some options that was given."""
    for option, (there, instead) in options.items():
        if there:
            raise InputError(f"{option} with --test {asked.test}: {instead}; leave it out")
