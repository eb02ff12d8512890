# SPDX-License-Identifier: Apache-2.0
"""From a property's Verilog to a transition system in SMT-LIB."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# yosys reads an immediate assertion, but not its message.
ELSE_ERROR = re.compile(r"\s*else \$(?:error|fatal)\([^;]*;")


class ProofFailed(Exception):
    """A sentence: the property does not hold, its bug is not seen, or it fits no more."""


@dataclass(frozen=True)
class Claim:
    """What `claim.json` says; the fields are those of `Claim` in formal/src/harness."""

    proves: str
    clause: str
    assumes: list[str]
    depth: int
    reach: int
    spies: list[str]
    cuts: list[str]
    bug: dict[str, str]


def planted(text: str, bug: dict[str, str]) -> str:
    """The Verilog `text` with its planted mistake; raises a [ProofFailed] if it has no place."""
    changed, places = re.subn(bug["find"], lambda match: match.expand(bug["replace"]), text)
    if places != 1:
        raise ProofFailed(f"the planted bug has {places} places in {bug['module']}.sv: /{bug['find']}/ must match once")
    return changed


def build(folder: Path, claim: Claim, name: str, bug: bool = False) -> Path:
    """Writes `folder/name.smt2`, of the design as it is or with its planted bug."""
    sources = []
    for source in sorted(folder.glob("*.sv")):
        text = ELSE_ERROR.sub(";", source.read_text())
        if bug and source.stem == claim.bug["module"]:
            text = planted(text, claim.bug)
        sources.append(folder / f"{name}.{source.stem}.v")
        sources[-1].write_text(text)
    if bug and not (folder / f"{claim.bug['module']}.sv").exists():
        raise ProofFailed(f"the planted bug is in {claim.bug['module']}.sv, which the property has not")
    smt2 = folder / f"{name}.smt2"
    yosys(script(sources, claim.spies, claim.cuts, smt2), folder / f"{name}.log")
    return smt2


def script(sources: list[Path], spies: list[str], cuts: list[str], smt2: Path) -> list[str]:
    """Commands of yosys. SYNTHESIS takes clocks past their gates, as they are on a device. Memories
    stay memories unless a property looks into one. The outputs of modules in `cuts` are free."""
    cut = "".join(f"cutpoint {module}; " for module in cuts)
    memories = "memory_map" if any(".Memory[" in path for path in spies) else "memory_collect"
    # Ports `spy_N` become the registers that they stand for.
    ties = [f"delete -input spy_{n}; connect -nomap -nounset -set spy_{n} {path}" for n, path in enumerate(spies)]
    return [
        f"read_verilog -sv -formal -DSYNTHESIS {' '.join(map(str, sources))}",
        f"hierarchy -check -top Property; proc -norom; {cut}flatten; memory_collect; {memories}",
        "cd Property",
        *ties,
        "cd ..",
        "opt_clean; chformal -early; opt -fast; setundef -undriven -anyseq; setundef -anyseq; dffunmap; opt_clean; check -assert",
        f"write_smt2 -wires {smt2}",
    ]


def yosys(commands: list[str], log: Path) -> None:
    """Runs commands; raises a [ProofFailed] with yosys's error."""
    done = subprocess.run(
        ["yosys", "-q", "-l", str(log), "-p", "; ".join(commands)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise ProofFailed(f"yosys: {errors[0] if errors else f'see {log}'}")
