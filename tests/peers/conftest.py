# SPDX-License-Identifier: Apache-2.0
"""The pairs of charons that the tests of strongSwan 6 share."""

import pytest

from tests.ike.conftest import fresh
from tests.peers.debian_roots import RELEASES, debian_root
from tests.peers.root_charons import rooted_charons

__all__ = ["fresh"]  # of the charons below


@pytest.fixture(scope="session", params=RELEASES)
def charons(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Two charons of a release with the plugin, and a simulated box each."""
    root = debian_root(request.param)
    with rooted_charons(tmp_path_factory.mktemp(request.param), root, root) as both:
        yield both
