# SPDX-License-Identifier: Apache-2.0
"""The committed drawings are those of their text sources: `scripts/draw.sh` makes
docs/drawings/*.svg of *.dot."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.support.paths import ROOT

DRAWINGS = ROOT / "docs/drawings"
SOURCES = sorted(DRAWINGS.glob("*.dot"))


def test_there_are_sources() -> None:
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=[source.stem for source in SOURCES])
def test_drawing_is_of_its_source(source: Path) -> None:
    drawing = source.with_suffix(".svg").read_text().splitlines()
    checksum = hashlib.sha256(source.read_bytes()).hexdigest()
    assert drawing[-1] == f"<!-- {source.name} {checksum} -->", f"{source.name} has changed: run scripts/draw.sh"
