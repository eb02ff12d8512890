# SPDX-License-Identifier: Apache-2.0
"""The report and the gate on a chip's estimated delays."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import yaml
from netlist_delays import Delays, Late

T = TypeVar("T")
WORST = 20
# Of each top and clock, the modules that hold the ends of paths above the goal, each with the most
# ns that it may have: figures may only fall.
KNOWN = Path(__file__).with_name("late_paths.yaml")


class LatePaths:
    """The latest paths of a design, by their ends, and by module and clock of their ends."""

    def __init__(self, delays: Delays) -> None:
        self.delays = delays
        self.ends: dict[tuple[str, str], Late] = {}
        self.modules: dict[tuple[str, str], float] = {}
        for end in delays.ends():
            if end.clock:
                of_end, of_module = (end.clock, end.name), (end.clock, end.module)
                if of_end not in self.ends or end.ns > self.ends[of_end].ns:
                    self.ends[of_end] = end
                self.modules[of_module] = max(end.ns, self.modules.get(of_module, 0.0))

    def by_clock(self) -> dict[str, float]:
        """Of each clock the ns of its latest path."""
        found: dict[str, float] = {}
        for (clock, _), ns in self.modules.items():
            found[clock] = max(round(ns, 2), found.get(clock, 0.0))
        return found

    def beyond(self, goal: Callable[[str], float]) -> dict[str, dict[str, float]]:
        """Of each clock the modules above its goal, the worst first."""
        found: dict[str, dict[str, float]] = {}
        for (clock, module), ns in sorted(self.modules.items(), key=lambda item: -item[1]):
            if ns > goal(clock):
                found.setdefault(clock, {})[module] = round(ns, 2)
        return found

    def report(self) -> dict[str, list]:
        """The WORST paths, each with its nets from start to end, and the WORST nets."""
        delays = self.delays
        late = _of_each(self.ends.values(), lambda end: end.ns, lambda end: end.name)
        paths = [delays.nets_before(end.net) for end in late]
        many = heapq.nlargest(WORST * WORST, range(len(delays.wire)), key=delays.wire.__getitem__)
        names = delays.names({net for path in paths for net in path} | set(many))
        widest = _of_each(many, delays.wire.__getitem__, names.__getitem__)

        def line(net: int) -> str:
            return f"{delays.kind(net)} {names[net]}, fan-out {delays.fan_out[net]}, {delays.wire_ns(net):.2f} ns"

        return {
            "late_paths": [
                {"ns": round(end.ns, 2), "end": end.name, "module": end.module, "clock": end.clock}
                | {"nets": [line(net) for net in path]}
                for end, path in zip(late, paths, strict=True)
            ],
            "late_nets": [line(net) for net in widest],
        }


def _of_each(items: Iterable[T], size: Callable[[T], float], name: Callable[[T], str]) -> list[T]:
    """The WORST largest, of those whose names differ in numbers alone the largest."""
    found: dict[str, T] = {}
    for item in items:
        kind = re.sub(r"\d+", "", name(item))
        if kind not in found or size(item) > size(found[kind]):
            found[kind] = item
    return heapq.nlargest(WORST, found.values(), key=size)


def failures(top: str, beyond: dict[str, dict[str, float]], goal: Callable[[str], float]) -> list[str]:
    """A sentence for each module above its goal that is not in KNOWN, or above its figure there."""
    known = (yaml.safe_load(KNOWN.read_text()) or {}).get(top, {})
    found = []
    for clock, modules in beyond.items():
        for module, ns in modules.items():
            most = known.get(clock, {}).get(module, goal(clock))
            if ns > most:
                found.append(f"{module}: {ns:.2f} ns of {clock} exceed {most:.2f}")
    return found
