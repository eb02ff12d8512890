# SPDX-License-Identifier: Apache-2.0
"""What can be known of a test of IKE in a lab before the first packet."""

from __future__ import annotations

from sallyport.backend import Setup
from sallyport.errors import InputError
from sallyport.ike import check_setup
from sallyport.ike.connections import connections
from sallyport.trex import boxes
from sallyport.trex import ssh as far
from sallyport.trex.lab import Lab
from sallyport.trex.remote import reason, remote

PAGE = "docs/how-to/lab-ike.md"
PLUGIN = "kernel-sallyport"


def check(lab: Lab, setup: Setup, test: str) -> None:
    """[InputError] if the lab has not two boxes whose charons take the connections."""
    check_setup(setup)
    if lab.alone or lab.pairs != 1:
        raise InputError(f"--test {test}: IKE is between two gateways; list two boxes in {lab.file}")
    for number, box in enumerate(lab.boxes):
        if not box.ssh:
            raise InputError(
                f"{lab.file}: boxes[{number}].ssh: is missing; charon of {box.name} gets its connections over ssh ({PAGE})"
            )
    try:
        for number, box, ssh in boxes.reached(lab):
            command = f"{ssh.swanctl} --stats"
            said = far.ask(box, ssh, command)
            if said.returncode:
                raise InputError(
                    f"{lab.file}: {box.name}: '{command}' failed ({reason(said.stderr)}); start charon there, or correct "
                    f"boxes[{number}].ssh.swanctl"
                )
            plugins = said.stdout.partition("loaded plugins:")[2].split()
            if PLUGIN not in plugins:
                raise InputError(
                    f"{lab.file}: charon of {box.name} has no plugin {PLUGIN}; install it there (docs/how-to/ike.md)"
                )
        _try(lab, setup)
    except far.Unanswered as error:
        raise InputError(f"{lab.file}: {error}; see {PAGE}") from None


def _try(lab: Lab, setup: Setup) -> None:
    """Have both charons load the connections, without a set-up."""
    with remote(lab) as both:
        for each in reversed(both):
            each.load(connections(setup, each.side))
