# SPDX-License-Identifier: Apache-2.0
"""Limits on the paths of each clock, from the command line."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import click


class ClockLimits:
    """LUT levels and estimated ns that a path may have: `most_levels` and `most_ns`, or those of
    the first of `texts` that names its clock, such as links_*_clock=3/2.2."""

    def __init__(self, most_levels: int, most_ns: float, texts: tuple[str, ...]) -> None:
        self.limits = [_limit(text) for text in texts] + [("*", most_levels, most_ns)]

    def levels(self, clock: str) -> int:
        return next(levels for pattern, levels, _ in self.limits if fnmatchcase(clock, pattern))

    def ns(self, clock: str) -> float:
        return next(ns for pattern, _, ns in self.limits if fnmatchcase(clock, pattern))


def _limit(text: str) -> tuple[str, int, float]:
    match = re.fullmatch(r"(.+)=(\d+)/(\d+(?:\.\d+)?)", text)
    if not match:
        raise click.UsageError(
            f"--clock {text}: write a pattern of clock ports, the levels and the ns, such as links_*_clock=3/2.2"
        )
    return match[1], int(match[2]), float(match[3])
