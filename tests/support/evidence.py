# SPDX-License-Identifier: Apache-2.0
"""Names of tests and proofs as docs/testplan and docs/assurance.yaml have them."""

from __future__ import annotations

import re

from formal.registry import names
from tests.support.paths import ROOT

SPECS = {
    path.stem: path
    for part in ("common", "interface_fpga", "crypto_fpga")
    for path in (ROOT / part / "test/src").rglob("*Spec.scala")
}

PROOFS = names()


def titles(spec: str) -> list[str]:
    """Patterns of the titles of a ScalaTest spec; what a title interpolates matches anything."""
    literals = re.findall(r'test\(\s*s?"((?:\$\{[^}]*\}|[^"])*)"\s*\)', SPECS[spec].read_text())
    return [".+".join(re.escape(part) for part in re.split(r"\$\{[^}]*\}|\$\w+", literal)) for literal in literals]


def exists(test: str) -> bool:
    """True if `test` ("XSpec: title", "tests/file.py::function", "mgmt/path_test.go::TestName" or
    "formal: name", a proof) is in the tree."""
    if test.startswith("formal: "):
        return test.removeprefix("formal: ") in PROOFS
    if "::" in test:
        file, function = test.split("::")
        path = ROOT / file
        word = "func" if path.name.endswith("_test.go") else "(?:async )?def"
        return path.is_file() and re.search(rf"^{word} {re.escape(function)}\(", path.read_text(), re.M) is not None
    spec, title = test.split(": ", 1)
    return spec in SPECS and any(re.fullmatch(pattern, title) for pattern in titles(spec))
