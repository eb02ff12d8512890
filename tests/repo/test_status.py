# SPDX-License-Identifier: Apache-2.0
"""Every row of docs/status.md has a feature, a state and tests, and each test and make target that
it names exists."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT

ROWS = re.findall(r"^\| (?!feature \|)(.+) \|$", (ROOT / "docs/status.md").read_text(), re.M)
GO_TESTS = {
    name
    for path in (ROOT / "mgmt").rglob("*_test.go")
    for name in re.findall(r"^func (Test\w+)\(", path.read_text(), re.M)
}
SPECS = {
    path.stem
    for part in ("common", "interface_fpga", "crypto_fpga", "boards")
    for path in (ROOT / part / "test").rglob("*Spec.scala")
}
PYTHON_TESTS = {str(path.relative_to(ROOT / "tests")) for path in (ROOT / "tests").rglob("test_*.py")}
MAKE_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def exists(name: str) -> bool:
    """True if `name` is a ScalaTest spec, a file in tests/, a Go test or `make TARGET` of
    this tree."""
    if name.startswith("make "):
        return name.removeprefix("make ") in MAKE_TARGETS
    return name in SPECS | PYTHON_TESTS | GO_TESTS


def test_there_are_rows() -> None:
    assert len(ROWS) >= 50


@pytest.mark.parametrize("row", ROWS, ids=[row.split(" | ")[0] for row in ROWS])
def test_row_names_tests_that_exist(row: str) -> None:
    cells = row.split(" | ")
    assert len(cells) == 3 and all(cells), f"docs/status.md: a row is feature | state | test, not {row!r}"
    names = re.findall(r"`([^`]+)`", cells[2])
    assert names, f"docs/status.md: {cells[0]!r} names no test"
    missing = [name for name in names if not exists(name)]
    assert not missing, f"docs/status.md: {cells[0]!r} names {missing}, which this tree does not have"
