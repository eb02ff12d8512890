# SPDX-License-Identifier: Apache-2.0
"""One property: proved by induction, its events reached, its planted bug seen."""

from __future__ import annotations

import json
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from formal.model import Claim, ProofFailed, build

# Seconds that one run of the solver may take: a property that needs more wants smaller parameters.
PATIENCE = 900


@dataclass(frozen=True)
class Result:
    """A row of the table. `bug_step` is the cycle after reset in which the bug was seen."""

    name: str
    claim: Claim
    covers: int = 0
    bug_step: int = 0
    seconds: float = 0.0
    failure: str = ""


def smtbmc(folder: Path, model: Path, name: str, *options: str) -> tuple[bool, str]:
    """Runs the solver; whether it said PASSED, and all that it printed. A counterexample is in
    `folder/name.vcd`."""
    trace = folder / f"{name}.vcd"
    solver = ["yosys-smtbmc", "-s", "z3", "--unroll", "--noprogress"]
    command = [*solver, "--dump-vcd", str(trace), *options, str(model)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise ProofFailed(f"{name}: z3 has no answer after {PATIENCE} s") from None
    (folder / f"{name}.txt").write_text(done.stdout + done.stderr)
    if "Status:" not in done.stdout:
        raise ProofFailed(f"{name}: yosys-smtbmc stopped, see {folder / name}.txt")
    return re.search(r"Status: passed", done.stdout, re.IGNORECASE) is not None, done.stdout


def assertion(output: str) -> str:
    """The assertion that failed, as the solver names it."""
    found = re.search(r"Assert failed in .*", output)
    return found[0] if found else "no assertion named"


def judge(folder: Path) -> tuple[Claim, int, int]:
    """Proves the property in `folder`: its claim, covers that were reached, and the step at which
    the planted bug was seen; raises a [ProofFailed]."""
    claim = Claim(**json.loads((folder / "claim.json").read_text()))
    model = build(folder, claim, "model")
    steps = max(claim.depth + 1, claim.reach)
    passed, output = smtbmc(folder, model, "base", "-t", str(steps))
    if not passed:
        raise ProofFailed(f"does not hold, see {folder}/base.vcd: {assertion(output)}")
    passed, output = smtbmc(folder, model, "induction", "-i", "-t", str(claim.depth))
    if not passed:
        raise ProofFailed(f"no induction over {claim.depth} cycles, see {folder}/induction.vcd: {assertion(output)}")
    passed, output = smtbmc(folder, model, "cover", "-c", "-t", str(claim.reach))
    covers = len(re.findall(r"Reached cover statement", output))
    if not passed or covers == 0:
        raise ProofFailed(f"an event that must be possible is not reached within {claim.reach} cycles")
    passed, output = smtbmc(folder, build(folder, claim, "bug", bug=True), "bug", "-t", str(claim.reach))
    if passed:
        raise ProofFailed(f"the planted bug is not seen within {claim.reach} cycles")
    return claim, covers, max(map(int, re.findall(r"Checking assertions in step (\d+)", output)))


def prove(folder: Path) -> Result:
    """The row of the property in `folder`."""
    start = time.monotonic()
    try:
        claim, covers, step = judge(folder)
    except ProofFailed as error:
        claim = Claim(**json.loads((folder / "claim.json").read_text()))
        return Result(folder.name, claim, seconds=time.monotonic() - start, failure=str(error))
    return Result(folder.name, claim, covers, step, time.monotonic() - start)
