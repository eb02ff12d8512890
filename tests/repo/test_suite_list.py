# SPDX-License-Identifier: Apache-2.0
"""Every suite of the list has a judge that is not ours, and a row with the facts that a
reader wants."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sallyport.suites import SUITES
from tests.support.scapy_suites import SCAPY

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted({suite.built for suite in SUITES.values()})


def test_scapy_judges_every_suite_and_length_of_icv() -> None:
    assert set(SCAPY) == set(SUITES)


@pytest.mark.parametrize("name", SUITES)
def test_keys_are_as_long_as_scapy_s(name: str) -> None:
    _, auth, key_bytes, auth_bytes = SCAPY[name]
    assert (SUITES[name].key, SUITES[name].auth_key) == (key_bytes, auth_bytes)
    assert bool(SUITES[name].auth) == (auth is not None)


@pytest.mark.parametrize("page", ["reference/suites.md", "explanation/performance.md"])
def test_every_suite_has_a_row(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    named = {word for row in re.findall(r"^\|.*\|$", text, re.M) for word in re.findall(r"[a-z0-9-]+", row)}
    assert not [name for name in NAMES if name not in named], f"docs/{page} lacks these"
