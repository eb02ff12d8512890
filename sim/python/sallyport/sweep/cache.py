# SPDX-License-Identifier: Apache-2.0
"""Results of trials on disk. A result's key holds all that the result depends on. So a killed sweep
continues where it was, and a repeated one costs no time."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

from sallyport.backend import Latency, Trial, TrialResult
from sallyport.sweep import design


def key(trial: Trial) -> str:
    """What a simulated trial is known by: its arguments, but for those that cannot change it, and
    the design."""
    plain = asdict(replace(trial, setup=replace(trial.setup, threads=None)))
    text = json.dumps(
        [plain, design.digest(trial.setup.tables, trial.setup.crypto, trial.setup.chips)], sort_keys=True, default=str
    )
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    """A folder with a JSON file for each trial."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> TrialResult | None:
        """The result that was put under `name`, or None. A file that cannot be read counts
        as absent."""
        try:
            return _decode((self._folder / name).with_suffix(".json").read_text())
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put(self, name: str, result: TrialResult) -> None:
        """Remember a result. A reader sees all of it or none."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=self._folder, suffix=".part", delete=False) as part:
            part.write(json.dumps(asdict(result), default=str))
        Path(part.name).replace((self._folder / name).with_suffix(".json"))


def _decode(text: str) -> TrialResult:
    fields = json.loads(text)
    for name in ("intended_fps", "offered_fps"):
        fields[name] = Fraction(fields[name])
    for name in ("lifo_ns", "fifo_ns"):
        fields[name] = fields[name] and Latency(**fields[name])
    fields["histogram"] = [(end, count) for end, count in fields["histogram"]]
    return TrialResult(**fields)
