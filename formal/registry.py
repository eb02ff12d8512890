# SPDX-License-Identifier: Apache-2.0
"""The names of the properties, as formal/src/Registry.scala has them."""

from __future__ import annotations

import re
from pathlib import Path

REGISTRY = Path(__file__).parent / "src" / "Registry.scala"
ENTRY = re.compile(r'^ {4}Entry\("([a-z0-9-]+)"(, quick = true)?\)', re.MULTILINE)


class UnknownProperty(Exception):
    """One sentence: the name, and the names there are."""


def names(quick: bool = False) -> list[str]:
    """All names, or those of the properties that take seconds."""
    return [name for name, mark in ENTRY.findall(REGISTRY.read_text()) if mark or not quick]


def chosen(wanted: tuple[str, ...], quick: bool = False) -> list[str]:
    """The names to prove; raises an [UnknownProperty] for one that is not there."""
    for name in wanted:
        if name not in names():
            raise UnknownProperty(f"PROPERTY={name}: choose one of {', '.join(names())}")
    return list(wanted) or names(quick)
