# SPDX-License-Identifier: Apache-2.0
"""What tests of several folders are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from sallyport.simulator import Simulator
from tests.support import captures
from tests.support.browsers import headless_chromium
from tests.support.replay import Box


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the long forms, unless they are asked for."""
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session")
def built_suites() -> list[str]:
    """The suites that the simulated crypto chip says it has."""
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        return sim.suites(0)


@pytest.fixture(scope="session")
def office_lan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of an office's traffic, with a real one behind it where that is beside
    this clone."""
    return captures.lan(tmp_path_factory.mktemp("captures") / "office-lan.pcap")


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium, or a skip that names the missing part."""
    with headless_chromium() as chromium:
        yield chromium


@pytest.fixture
def make_box(tmp_path: Path):
    """`make_box(batch_text)` gives a [Box] in this test's folder."""
    return lambda batch: Box(tmp_path, batch)
