# SPDX-License-Identifier: Apache-2.0
"""What a run found, as lines on a terminal and as rows of docs/explanation/formal.md."""

from __future__ import annotations

from pathlib import Path

from formal.proof import Result

HEADING = f"{'property':<18} {'module with bug':<18} {'k':>2} {'s':>6}  events reached, cycle of the bug"


def line(result: Result) -> str:
    """For a terminal."""
    end = f"FAILED: {result.failure}" if result.failure else f"{result.covers} reached, bug at cycle {result.bug_step}"
    return f"{result.name:<18} {result.claim.bug['module']:<18} {result.claim.depth:>2} {result.seconds:>6.1f}  {end}"


def write(results: list[Result], path: Path) -> None:
    """The table of the page, of properties that were all proved."""
    heading = ["| property | proves | clause | k | s | bug |", "|---|---|---|---|---|---|"]
    rows = [
        f"| `{r.name}` | {r.claim.proves} | {r.claim.clause} | {r.claim.depth} | {r.seconds:.0f} | {r.bug_step} |"
        for r in results
    ]
    path.write_text("\n".join(heading + rows) + "\n")
