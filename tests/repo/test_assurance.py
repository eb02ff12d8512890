# SPDX-License-Identifier: Apache-2.0
"""docs/assurance.md is the table of docs/assurance.yaml, whose evidence exists."""

from __future__ import annotations

import pytest

from scripts.assurance import PAGE, Claim, goals, page
from tests.support.evidence import exists

CLAIMS = [(goal, claim) for goal, claims in goals().items() for claim in claims]


@pytest.mark.parametrize(("goal", "claim"), CLAIMS, ids=[f"{goal}: {claim.attack}"[:60] for goal, claim in CLAIMS])
def test_claim_has_evidence_or_says_what_is_missing(goal: str, claim: Claim) -> None:
    assert all((claim.against, claim.attack, claim.measure)), goal
    assert bool(claim.evidence) != bool(claim.open), claim.attack
    for evidence in claim.evidence:
        assert exists(evidence), f"{claim.attack}: {evidence}"


def test_page_is_of_its_source() -> None:
    assert PAGE.read_text() == page(goals()), "docs/assurance.yaml has changed: run python scripts/assurance.py"


def test_page_names_specs_tests_and_proofs() -> None:
    evidence = ["ASpec: one", "ASpec: two", "mgmt/a_test.go::TestB", "tests/c.py::test_d", "formal: e"]
    text = page({"Goal": [Claim("x", "y", "z", evidence), Claim("u", "v", "w", open="not done")]})
    assert "| x | y | z | `ASpec`, `TestB`, `tests/c.py`, proof `e` |" in text
    assert "| u | v | w | **open**: not done |" in text
    assert "2 rows: 4 tests, 1 proofs, 1 open." in text
