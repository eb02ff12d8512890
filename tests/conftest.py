"""What tests of several folders are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from sallyport.simulator import Simulator
from tests.support.browsers import headless_chromium
from tests.support.paths import SHARED
from tests.support.replay import Box


@pytest.fixture(scope="session")
def built_suites() -> list[str]:
    """The suites that the simulated crypto chip says it has."""
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        return sim.suites(0)


@pytest.fixture(scope="session")
def office_lan() -> Path:
    """The real capture, or a skip that says what is missing."""
    path = SHARED / "pcaps" / "office-lan.pcap"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this clone (../shared/pcaps)")
    return path


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium, or a skip that says what is missing."""
    with headless_chromium() as chromium:
        yield chromium


@pytest.fixture
def make_box(tmp_path: Path):
    """`make_box(batch_text)` gives a [Box] in this test's folder."""
    return lambda batch: Box(tmp_path, batch)
