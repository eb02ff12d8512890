# SPDX-License-Identifier: Apache-2.0
"""Circles among the folders of a source tree, for any language whose references a test can list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import PurePath


def circle(
    references: Mapping[PurePath, Iterable[PurePath]], folder: Callable[[PurePath], PurePath] = lambda file: file.parent
) -> list[str]:
    """The steps of one circle, each with the first file that makes it; nothing if folders depend
    one way.

    `references` has the files that each file refers to. `folder` says what a file belongs to: its
    folder, or the file itself to find circles of files.
    """
    needs: dict[PurePath, set[PurePath]] = defaultdict(set)
    ties: dict[tuple[PurePath, PurePath], set[str]] = defaultdict(set)
    for file, targets in references.items():
        for target in targets:
            here, there = folder(file), folder(target)
            if here != there:
                needs[here].add(there)
                ties[here, there].add(f"{file} refers to {target}")
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # graphlib names a file before those that need it.
        return [f"{here} -> {there}: {min(ties[here, there])}" for there, here in pairwise(error.args[1])][::-1]
    return []
