# SPDX-License-Identifier: Apache-2.0
"""Every spec that a document has a reader run exists. mill runs no test for a wrong name, and says
nothing."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.paths import ROOT

COMMAND = re.compile(r"mill (\w+)\.test\.testOnly '?([\w.*]+)")


def classes(module: str) -> set[str]:
    """The full names of a module's specs."""
    found = set()
    for path in (ROOT / module / "test/src").rglob("*Spec.scala"):
        package = re.search(r"^package ([\w.]+)", path.read_text(), re.M)
        assert package, path
        found.add(f"{package[1]}.{path.stem}")
    return found


def commands() -> list[tuple[Path, str, str]]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    return [(page, module, name) for page in pages for module, name in COMMAND.findall(page.read_text())]


def test_specs_of_documents_exist() -> None:
    assert commands()
    wrong = [
        f"{page.relative_to(ROOT)}: {name}"
        for page, module, name in commands()
        if not any(re.fullmatch(name.replace(".", r"\.").replace("*", ".*"), each) for each in classes(module))
    ]
    assert wrong == []
