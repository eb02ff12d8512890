# SPDX-License-Identifier: Apache-2.0
"""The setups that tests of IKE have, simulated or in a lab."""

from __future__ import annotations

from sallyport.backend import Setup
from sallyport.errors import InputError
from sallyport.ike.suites import check_suites


def check_setup(setup: Setup) -> None:
    """[InputError] if IKE cannot make the tunnels of a setup."""
    if setup.boxes == 1:
        raise InputError("--boxes 1 with a test of IKE: it is between two gateways; choose two boxes")
    if setup.mode != "tunnel" or setup.ip != 4:
        raise InputError("a test of IKE is of tunnels over IPv4: choose --mode tunnel and --ip 4")
    check_suites(setup.suites)
