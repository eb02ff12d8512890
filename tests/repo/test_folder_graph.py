# SPDX-License-Identifier: Apache-2.0
"""The search for circles of folders finds planted ones, and names the files that tie them."""

from pathlib import PurePath

from tests.support.folder_graph import circle


def graph(*references: str) -> dict[PurePath, list[PurePath]]:
    made: dict[PurePath, list[PurePath]] = {}
    for file, target in (reference.split() for reference in references):
        made.setdefault(PurePath(file), []).append(PurePath(target))
    return made


def test_folders_that_depend_one_way_have_no_circle() -> None:
    assert circle(graph("a/x b/y", "b/y c/z", "a/x c/z", "a/x a/w", "a/w a/x")) == []


def test_a_circle_of_two_folders_names_both_files() -> None:
    steps = circle(graph("a/x b/y", "b/q a/w"))
    assert sorted(steps) == ["a -> b: a/x refers to b/y", "b -> a: b/q refers to a/w"]


def test_a_circle_of_three_folders_is_found_beside_what_is_in_order() -> None:
    steps = circle(graph("a/x b/y", "b/y c/z", "c/z a/x", "d/e a/x", "c/z f/g"))
    assert [step.split(":")[0] for step in steps] in (
        ["a -> b", "b -> c", "c -> a"],
        ["b -> c", "c -> a", "a -> b"],
        ["c -> a", "a -> b", "b -> c"],
    )


def test_files_of_one_folder_can_be_asked_too() -> None:
    assert circle(graph("a/x a/y", "a/y a/x"), folder=lambda file: file)
