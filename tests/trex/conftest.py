# SPDX-License-Identifier: Apache-2.0
"""The lab that the tests of this folder measure in."""

from pathlib import Path

import pytest

from tests.trex.lab import Lab


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A lab of the stand-in for TRex (lab.py), whose backends are closed behind the test."""
    made = Lab(tmp_path, monkeypatch)
    yield made
    for backend in made.backends:
        backend.close()
