# SPDX-License-Identifier: Apache-2.0
"""`scripts/assurance.py`: writes docs/assurance.md, the table of docs/assurance.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "docs/assurance.yaml"
PAGE = ROOT / "docs/assurance.md"

HEAD = """# Security claims and their evidence

<!-- Made by scripts/assurance.py from docs/assurance.yaml. -->

Each row is an attack or a fault, the measure against it, and the tests or proofs that show it.
**Open** rows have no evidence. [The security argument](explanation/security.md) explains the
measures. `make test` and `make test-long` run the tests, `make formal` the proofs.
"""


class Claim(NamedTuple):
    """A row: evidence as in docs/testplan, or an open point."""

    against: str
    attack: str
    measure: str
    evidence: Sequence[str] = ()
    open: str = ""


def goals(source: Path = SOURCE) -> dict[str, list[Claim]]:
    """The claims of each goal; a TypeError names a key that does not belong there."""
    return {one["goal"]: [Claim(**claim) for claim in one["claims"]] for one in yaml.safe_load(source.read_text())}


def name(evidence: str) -> str:
    """What the page shows of a piece of evidence: the spec, the test's file and name, the proof."""
    if evidence.startswith("formal: "):
        return f"proof `{evidence.removeprefix('formal: ')}`"
    if "::" in evidence:
        file, test = evidence.split("::")
        return f"`{test}`" if file.endswith("_test.go") else f"`{file}`"
    return f"`{evidence.split(': ')[0]}`"


def page(claims: dict[str, list[Claim]]) -> str:
    """The page's text."""
    rows = [claim for one in claims.values() for claim in one]
    evidence = {item for claim in rows for item in claim.evidence}
    proofs = sum(item.startswith("formal: ") for item in evidence)
    lines = [
        HEAD,
        f"{len(rows)} rows: {len(evidence) - proofs} tests, {proofs} proofs, "
        f"{sum(bool(claim.open) for claim in rows)} open.",
    ]
    for goal, chosen in claims.items():
        lines += ["", f"## {goal}", "", "| against | attack or fault | measure | evidence |", "|---|---|---|---|"]
        for claim in chosen:
            shown = f"**open**: {claim.open}" if claim.open else ", ".join(dict.fromkeys(map(name, claim.evidence)))
            lines.append(f"| {claim.against} | {claim.attack} | {claim.measure} | {shown} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(goals()))
