# SPDX-License-Identifier: Apache-2.0
"""Reads nodes of a YAML tree as what they have to be; each mistake is one sentence that says where
it is."""

from __future__ import annotations

from typing import Any


class ListError(Exception):
    """The list of suites is wrong; the message says where and what to do."""


def mapping(node: object, where: str) -> dict[Any, Any]:
    """Any keys with their values."""
    if not isinstance(node, dict):
        raise ListError(f"{where}: write keys with their values, not {node!r}")
    return node


def record(node: object, where: str, keys: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """All of `keys`, and nothing else but some of `optional`."""
    found = mapping(node, where)
    for key in keys:
        if key not in found:
            raise ListError(f"{where}: {key} is missing")
    for key in found:
        if key not in keys and key not in optional:
            raise ListError(f"{where}: {key} is unknown; the keys are {', '.join(keys + optional)}")
    return found


def text(node: object, where: str) -> str:
    """Words that are not empty."""
    if not isinstance(node, str) or not node:
        raise ListError(f"{where}: write text, not {node!r}")
    return node


def whole(node: object, where: str) -> int:
    """A number from 0 up."""
    if not isinstance(node, int) or isinstance(node, bool) or node < 0:
        raise ListError(f"{where}: write a number from 0 up, not {node!r}")
    return node


def wholes(node: object, where: str) -> list[int]:
    """At least one number from 0 up."""
    if not isinstance(node, list) or not node:
        raise ListError(f"{where}: write a list of numbers, not {node!r}")
    return [whole(each, where) for each in node]
