# SPDX-License-Identifier: Apache-2.0
"""Runs that are compared with each other: their files' bytes, and the rows of short RFC
2544 runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.support.replay import sallyport

# What a row says of the machine that ran it.
WALL = {"wall_s", "cycles_per_s"}


def digest(folder: Path) -> str:
    """One hash over every file of a run, names and bytes."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def rows(file: Path, *arguments: object) -> list[dict]:
    """The rows of a short RFC 2544 run, without what wall-clock time is in."""
    sallyport("rfc2544", "--warmup-us", 20, "--measure-us", 40, *arguments, "--json", file)
    return [{key: value for key, value in row.items() if key not in WALL} for row in json.loads(file.read_text())]
