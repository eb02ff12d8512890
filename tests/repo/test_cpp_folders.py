# SPDX-License-Identifier: Apache-2.0
"""Folders of the engine's C++ refer to each other one way, and an include names its folder."""

from __future__ import annotations

import re
import shutil
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.paths import ROOT

ENGINE = ROOT / "sim" / "engine"
INCLUDE = re.compile(r'^#include "(.+)"$', re.M)


def folders(engine: Path) -> dict[str, set[str]]:
    """The folders that each folder of `engine` includes from: `wire`, `test/wire`; "" for files
    beside them.

    An include is looked up in `src`, then in `engine` itself, as the Makefile does. One that names
    no folder, or no file of the engine, fails with a sentence.
    """
    arrows: dict[str, set[str]] = {}
    for path in sorted(engine.rglob("*.h")) + sorted(engine.rglob("*.cpp")):
        place = path.relative_to(engine)
        own = arrows.setdefault(place.parent.as_posix().removeprefix("src").removeprefix("/"), set())
        for name in INCLUDE.findall(path.read_text()):
            assert "/" in name, f'{place}: #include "{name}" names no folder'
            assert (engine / "src" / name).exists() or (engine / name).exists(), f'{place}: no "{name}" in the engine'
            own.add(Path(name).parent.as_posix())
    return {folder: others - {folder} for folder, others in arrows.items()}


def in_order(arrows: dict[str, set[str]]) -> list[str]:
    """The folders, each behind those that it includes from. Throws CycleError when there is no
    such order."""
    return list(TopologicalSorter(arrows).static_order())


def test_no_folders_refer_to_each_other() -> None:
    order = in_order(folders(ENGINE))
    assert len(order) > 10
    assert order.index("wire") < order.index("world") < order.index("tester") < order.index("control")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the engine's sources to spoil."""
    return Path(shutil.copytree(ENGINE, tmp_path / "engine"))


def plant(path: Path, include: str) -> None:
    path.write_text(path.read_text().replace("#pragma once\n", f'#pragma once\n#include "{include}"\n', 1))


def test_a_planted_circle_is_seen(copy: Path) -> None:
    plant(copy / "src/wire/mac_model.h", "tester/trial.h")
    with pytest.raises(CycleError) as seen:
        in_order(folders(copy))
    assert {"wire", "tester"} <= set(seen.value.args[1])


@pytest.mark.parametrize(
    ("include", "sentence"), [("mac_model.h", "names no folder"), ("wire/mack_model.h", "no .* in the engine")]
)
def test_an_include_without_its_folder_is_seen(copy: Path, include: str, sentence: str) -> None:
    plant(copy / "src/world/node.h", include)
    with pytest.raises(AssertionError, match=sentence):
        folders(copy)
