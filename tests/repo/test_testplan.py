# SPDX-License-Identifier: Apache-2.0
"""Every row of the test plans in docs/testplan says what it shows and names a test that exists.

The plans of RFCs (rfc*.yaml) go through sections clause by clause. So a row there may instead name
the missing part (`open`) or say why a clause is not this box's (`not_applicable`). A clause may be
for the management daemon too: the row then names the test of what the chips and sallyctl do for it,
and `daemon` says what the daemon must add. The box may do otherwise than a SHOULD asks, or leave
out an option: `departs` says why it may, and the test shows what it does instead.
"""

from __future__ import annotations

import re

import pytest
import yaml

from tests.support.evidence import exists
from tests.support.paths import ROOT

PLANS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "docs/testplan").glob("*.yaml"))}
ROWS = [(plan, row) for plan, rows in PLANS.items() for row in rows]
# The sections that the plans of RFCs go through: those that ask for something.
SECTIONS = {
    "rfc1812": "5.2.1.1 5.2.1.2 5.2.1.3 5.2.2 5.2.3 5.2.4.1 5.2.4.2 5.2.4.3 5.2.4.4 5.2.4.5 5.2.5 5.2.6 5.2.7.1 5.2.7.2 5.2.7.3 "
    "5.2.8 5.3.1 5.3.2 5.3.3 5.3.4 5.3.5.1 5.3.5.2 5.3.5.3 5.3.5.4 5.3.6 5.3.7 5.3.8 5.3.9 5.3.10 5.3.11 5.3.12 5.3.13.1 "
    "5.3.13.2 5.3.13.3 5.3.13.4 5.3.13.5 5.3.13.6",
    "rfc3948": "2 2.1 2.2 2.3 3.1.1 3.1.2 3.2 3.3 3.4 3.5 4 5.1 5.2",
    "rfc4301": "4.4 4.4.1 4.4.1.1 4.4.1.2 4.4.1.3 4.4.2 4.4.2.1 4.4.2.2 4.4.3 5 5.1 5.1.1 5.1.2 5.1.2.1 5.1.2.2 5.2 "
    "6 6.1.1 6.1.2 6.2 7 7.1 7.2 7.3 7.4 8.1 8.2 8.2.1 8.2.2",
    "rfc4303": "2 2.1 2.2 2.2.1 2.3 2.4 2.5 2.6 2.7 2.8 3.1.1 3.1.2 3.2 3.2.1 3.2.2 3.2.3 3.3.1 3.3.2.1 3.3.2.2 3.3.3 3.3.4 "
    "3.4.1 3.4.2 3.4.3 3.4.4.1 3.4.4.2 A2.1 A2.2 A2.3 A3.1 A3.2",
    "rfc5722": "4",
    "rfc6040": "4.1 4.2 4.3 4.4",
    "rfc8200": "4.5",
}
STATES = ("test", "open", "not_applicable")
BESIDE = {"daemon", "departs"}
CLAUSE = re.compile(r"RFC (\d+) (A?\d+(?:\.\d+)*)(?: (?:step|note|case) (\d+)([a-z]?))?")


def test_there_are_plans() -> None:
    assert ROWS
    assert set(SECTIONS) == {plan for plan in PLANS if plan.startswith("rfc")}


@pytest.mark.parametrize(("plan", "row"), ROWS, ids=[f"{plan}-{i}" for i, (plan, _) in enumerate(ROWS)])
def test_row_names_a_test(plan: str, row: dict[str, str]) -> None:
    states = [key for key in STATES if key in row]
    assert len(states) == 1, f"{plan}: {row}"
    assert states == ["test"] or plan in SECTIONS, f"{plan}: {row}"
    beside = BESIDE if states == ["test"] and plan in SECTIONS else set()
    assert set(row) - beside == {"clause", "feature", *states}, f"{plan}: {row}"
    assert all(isinstance(value, str) and value for value in row.values()), f"{plan}: {row}"
    if "test" in row:
        assert exists(row["test"]), f"{plan}: no test {row['test']!r}"


@pytest.mark.parametrize("plan", SECTIONS)
def test_clauses_are_in_order_and_none_is_left_out(plan: str) -> None:
    places: dict[str, list[tuple[int, str]]] = {}
    last = None
    for row in PLANS[plan]:
        match = CLAUSE.fullmatch(row["clause"])
        assert match and f"rfc{match[1]}" == plan, f"{plan}: the clause of {row}"
        assert match[2] == last or match[2] not in places, f"{plan}: {row['clause']} is in two places"
        last = match[2]
        places.setdefault(last, []).append((int(match[3] or 0), match[4] or ""))
    assert list(places) == SECTIONS[plan].split()
    for section, numbers in places.items():
        assert numbers == sorted(numbers), f"{plan}: steps, notes or cases of {section}"


def test_status_counts_the_rows() -> None:
    words = (
        r"(\d+) rows have a test. (\d+) of these wait for the management daemon too, (\d+) depart from the clause. "
        r"(\d+) rows are open, (\d+) do not apply"
    )
    said = re.search(words, " ".join((ROOT / "docs/status.md").read_text().split()))
    keys = ("test", "daemon", "departs", "open", "not_applicable")
    counted = [str(sum(key in row for plan in SECTIONS for row in PLANS[plan])) for key in keys]
    assert said, f"docs/status.md has no sentence of these words on the rows of docs/testplan/rfc*.yaml: {words}"
    assert list(said.groups()) == counted


def test_no_row_is_twice() -> None:
    said = [(row["clause"], row["feature"]) for _, row in ROWS if row["clause"].startswith("RFC")]
    assert len(set(said)) == len(said)
