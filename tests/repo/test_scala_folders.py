# SPDX-License-Identifier: Apache-2.0
"""A package of Scala is a folder, and no two folders of sources refer to each other, neither
directly nor in a circle."""

from __future__ import annotations

import re
import shutil
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Each tree of sources with the package of its root.
TREES = {
    "common": "sallyport.common",
    "interface_fpga": "sallyport.iface",
    "crypto_fpga": "sallyport.crypto",
    "boards": "sallyport.boards",
    "formal": "sallyport.formal",
}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PACKAGE = re.compile(r"^package ([\w.]+)$", re.M)
REFERENCE = re.compile(r"\bsallyport(?:\.[a-z_]+)+")


def folders(root: Path, sources: str = "src") -> dict[Path, str]:
    """The files under `sources` of every tree, each with the package that its folder asks for."""
    found = {}
    for tree, package in TREES.items():
        base = root / tree / sources
        for file in sorted(base.rglob("*.scala")):
            found[file] = ".".join([package, *file.relative_to(base).parent.parts])
    return found


def references(root: Path) -> dict[str, set[str]]:
    """Each package of sources with the other packages that its code names; comments do
    not count."""
    files = folders(root)
    packages = set(files.values())
    graph: dict[str, set[str]] = {package: set() for package in packages}
    for file, package in files.items():
        code = PACKAGE.sub("", COMMENT.sub("", file.read_text()))
        graph[package] |= set(REFERENCE.findall(code)) & packages - {package}
    return graph


def order(root: Path) -> list[str]:
    """The packages, each after those that it refers to; raises a `CycleError` that names
    a circle."""
    return list(TopologicalSorter(references(root)).static_order())


@pytest.mark.parametrize("sources", ["src", "test/src"])
def test_a_package_is_a_folder(sources: str) -> None:
    files = folders(ROOT, sources)
    assert files
    declared = {file: PACKAGE.findall(COMMENT.sub("", file.read_text())) for file in files}
    assert declared == {file: [package] for file, package in files.items()}


def test_references_of_folders_go_one_way() -> None:
    assert set(order(ROOT)) == set(folders(ROOT).values())


def test_the_graph_has_the_arrows_of_the_paths() -> None:
    """The graph is not empty by mistake: these arrows follow a packet."""
    graph = references(ROOT)
    assert {"sallyport.common.link", "sallyport.crypto.keys"} <= graph["sallyport.crypto.path"]
    assert "sallyport.iface.receive" in graph["sallyport.iface.inner"]


def test_a_circle_is_found(tmp_path: Path) -> None:
    for tree in TREES:
        shutil.copytree(ROOT / tree / "src", tmp_path / tree / "src")
    assert order(tmp_path)
    file = tmp_path / "interface_fpga/src/headers/Ecn.scala"
    file.write_text(file.read_text() + "\nimport sallyport.iface.parse.HeaderFields\n")
    with pytest.raises(CycleError, match=r"sallyport\.iface\.headers"):
        order(tmp_path)
