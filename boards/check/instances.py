# SPDX-License-Identifier: Apache-2.0
"""Which modules of a core have a place in the floorplan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from boards.places import OUTSIDE, Place


class Instances:
    """Those below the core, by their paths."""

    def __init__(self, modules: dict[str, Any], top: str, places: list[Place]) -> None:
        self.modules = modules
        self.types = dict(self._below(top, ""))
        self.places = [place for place in places if place.name not in OUTSIDE]
        self.placed = {
            path: place for path, kind in self.types.items() for place in self.places if place.has(path, kind)
        }

    def _below(self, name: str, path: str) -> Iterator[tuple[str, str]]:
        for cell, it in self.modules[name]["cells"].items():
            if it["type"] in self.modules:
                yield f"{path}{cell}", it["type"]
                yield from self._below(it["type"], f"{path}{cell}/")

    def absent(self) -> list[str]:
        """Kinds of places without a cell in the core."""
        found = {place.kind for place in self.placed.values()}
        return list(dict.fromkeys(place.kind for place in self.places if place.kind not in found))
