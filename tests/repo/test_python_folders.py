# SPDX-License-Identifier: Apache-2.0
"""No folders of Python refer to each other in a circle; a module that lies in a package's root
stands for itself."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import PurePath

import pytest

from tests.support.folder_graph import circle
from tests.support.paths import ROOT

# Each package's name, and the folder that Python looks for it in.
PACKAGES = {"sallyport": "sim/python", "boards": ".", "formal": ".", "peakrdl_sallyport": "regs", "tests": "."}
PACKAGE_ROOTS = {PurePath(place) / name for name, place in PACKAGES.items()}


def sources() -> list[PurePath]:
    """Every Python file of the packages that git knows."""
    listed = subprocess.run(["git", "ls-files", "*.py"], capture_output=True, text=True, check=True, cwd=ROOT)
    files = [PurePath(line) for line in listed.stdout.splitlines()]
    return [
        file for file in files if any(file.is_relative_to(root) for root in PACKAGE_ROOTS) and (ROOT / file).exists()
    ]


def module_file(module: str) -> PurePath | None:
    """The file of one of our modules; None for other modules and for names inside a module."""
    package = module.split(".")[0]
    if package not in PACKAGES:
        return None
    path = PurePath(PACKAGES[package], *module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if (ROOT / file).is_file()), None)


def imported(file: PurePath) -> Iterator[PurePath]:
    """The files that a file imports, at its top or inside its functions."""
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = file.parents[node.level - 1]
            place = next(
                PurePath(place) for name, place in PACKAGES.items() if file.is_relative_to(PurePath(place) / name)
            )
            parent = ".".join([*base.relative_to(place).parts, *([node.module] if node.module else [])])
            names = [
                f"{parent}.{alias.name}" if module_file(f"{parent}.{alias.name}") else parent for alias in node.names
            ]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = (f"{node.module}.{alias.name}" for alias in node.names)
            names = [name if module_file(name) else node.module for name in named]
        else:
            continue
        yield from (target for name in names if (target := module_file(name)) and target != file)


REFERENCES = {file: list(imported(file)) for file in sources()}


def unit(file: PurePath) -> PurePath:
    return file if file.parent in PACKAGE_ROOTS else file.parent


def test_the_packages_are_read() -> None:
    """The search finds one import of each way to write it."""
    options = REFERENCES[PurePath("sim/python/sallyport/options.py")]
    assert PurePath("sim/python/sallyport/suites.py") in options  # from sallyport import suites
    # from .sa import
    assert PurePath("tests/differential/sa.py") in REFERENCES[PurePath("tests/differential/esp.py")]
    # from . import
    assert PurePath("tests/differential/box.py") in REFERENCES[PurePath("tests/differential/run.py")]


def test_no_folders_refer_to_each_other_in_a_circle() -> None:
    steps = circle(REFERENCES, unit)
    assert not steps, "folders of Python refer to each other in a circle:\n" + "\n".join(steps)


@pytest.mark.parametrize("package", sorted(set(PACKAGES) - {"tests"}))
def test_no_modules_of_a_package_import_each_other_in_a_circle(package: str) -> None:
    root = PurePath(PACKAGES[package]) / package
    steps = circle({file: to for file, to in REFERENCES.items() if file.is_relative_to(root)}, lambda file: file)
    assert not steps, f"modules of {package} import each other in a circle:\n" + "\n".join(steps)
