"""Every row of the test plans in docs/testplan says what it shows and names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PLANS = sorted((ROOT / "docs/testplan").glob("*.yaml"))
ROWS = [(plan.name, row) for plan in PLANS for row in yaml.safe_load(plan.read_text())]
SPECS = {
    path.stem: path
    for part in ("common", "interface_fpga", "crypto_fpga")
    for path in (ROOT / part / "test/src").rglob("*Spec.scala")
}


def titles(spec: str) -> list[str]:
    """Patterns of the titles of a ScalaTest spec; what a title interpolates matches anything."""
    literals = re.findall(r'test\(\s*s?"((?:\$\{[^}]*\}|[^"])*)"\s*\)', SPECS[spec].read_text())
    return [".+".join(re.escape(part) for part in re.split(r"\$\{[^}]*\}|\$\w+", literal)) for literal in literals]


def exists(test: str) -> bool:
    """True if `test` ("XSpec: title" or "tests/file.py::function") is in the tree."""
    if "::" in test:
        file, function = test.split("::")
        path = ROOT / file
        return path.is_file() and re.search(rf"^def {re.escape(function)}\(", path.read_text(), re.M) is not None
    spec, title = test.split(": ", 1)
    return spec in SPECS and any(re.fullmatch(pattern, title) for pattern in titles(spec))


def test_there_are_plans() -> None:
    assert ROWS


@pytest.mark.parametrize(("plan", "row"), ROWS, ids=[f"{plan}-{i}" for i, (plan, _) in enumerate(ROWS)])
def test_row_names_a_test(plan: str, row: dict[str, str]) -> None:
    assert set(row) == {"clause", "feature", "test"}, f"{plan}: {row}"
    assert all(isinstance(value, str) and value for value in row.values()), f"{plan}: {row}"
    assert exists(row["test"]), f"{plan}: no test {row['test']!r}"
