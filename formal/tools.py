# SPDX-License-Identifier: Apache-2.0
"""The programs that proofs need, each in a version that reads what firtool writes."""

from __future__ import annotations

import re
import shutil
import subprocess

YOSYS_MINIMUM = (0, 23)


class MissingTool(Exception):
    """One sentence: which tool is missing or too old, and what to do."""


def require() -> None:
    """Raises a [MissingTool] unless yosys, yosys-smtbmc and z3 are here."""
    for name, advice in (
        ("yosys", "apt-get install yosys"),
        ("yosys-smtbmc", "apt-get install yosys"),
        ("z3", "run `make setup`"),
    ):
        if shutil.which(name) is None:
            raise MissingTool(f"{name} is not on PATH, and proofs need it: {advice}")
    done = subprocess.run(["yosys", "-V"], capture_output=True, text=True, check=False)
    require_version(done.stdout)


def require_version(answer: str) -> None:
    """Raises a [MissingTool] if `answer`, that of `yosys -V`, names a version that is too old."""
    found = re.match(r"Yosys (\d+)\.(\d+)", answer)
    if found is None or tuple(map(int, found.groups())) < YOSYS_MINIMUM:
        wanted = ".".join(map(str, YOSYS_MINIMUM))
        raise MissingTool(f"yosys says {answer.strip()!r}, and proofs need {wanted} or newer: install Debian 12's")
