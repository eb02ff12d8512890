# SPDX-License-Identifier: Apache-2.0
"""The pairs of charons that the tests of this folder share."""

import pytest

from tests.ike.charons import two_charons
from tests.ike.control_relay import nothing_lost, nothing_refused


@pytest.fixture(scope="session")
def charons(tmp_path_factory: pytest.TempPathFactory):
    """Two charons with the plugin of mgmt/strongswan and a simulated box each (charons.py)."""
    with two_charons(tmp_path_factory.mktemp("ike")) as both:
        yield both


@pytest.fixture
def fresh(charons):
    """The same without an IKE_SA, and nothing of one is left in the boxes behind the test."""
    for charon in charons:
        charon.mark()
    yield charons
    for charon in charons:
        charon.box.relay.refuse, charon.box.relay.lose = nothing_refused, nothing_lost
        charon.terminate()
        charon.load("")
    for charon in charons:
        charon.box.wait_until_empty()
