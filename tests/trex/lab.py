# SPDX-License-Identifier: Apache-2.0
"""A lab of the stand-in for TRex (tests/trex/stand_in): its file, its environment, and the log of
all calls."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from sallyport import suites
from sallyport.backend import Setup, Trial
from sallyport.trex import TrexBackend
from tests.support.paths import ROOT

STAND_IN = Path(__file__).resolve().parent / "stand_in"
MAC = ("02:00:00:00:01:00", "02:00:00:00:01:01")
BOX_MAC = ("02:00:00:00:02:00", "02:00:00:00:02:01")
GATEWAY = "198.19.255.254"


def fields(**changes: object) -> dict:
    """A lab file that fits the stand-in as it is when all is well; `changes` by dotted name with
    `__` for dots."""
    text = yaml.safe_load((ROOT / "docs/examples/lab.yaml").read_text())
    text["trex"] |= {"client": str(STAND_IN)}
    del text["trex"]["python"]
    text |= {"drain_ms": 0, "settle_ms": 0}
    for name, value in changes.items():
        node = text
        *path, last = name.split("__")
        for part in path:
            node = node[int(part) if part.isdigit() else part]
        if value is None:
            node.pop(last)
        else:
            node[last] = value
    return text


class Clock:
    """Time that passes when the backend sleeps, and no other: for it and for the stand-in."""

    def __init__(self, file: Path) -> None:
        self.file, self._now = file, 0.0
        self.sleep(1000.0)

    def monotonic(self) -> float:
        if self.file.exists():  # the stand-in lets time pass, too
            self._now = max(self._now, float(self.file.read_text()))
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now = self.monotonic() + seconds
        self.file.write_text(repr(self._now))


class Lab:
    """Makes backends of one test; `warnings` and `asked` are what they said."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file, self._log, self._patch = folder / "lab.yaml", folder / "log.jsonl", monkeypatch
        self.warnings: list[str] = []
        self.asked: list[str] = []
        self.backends: list[TrexBackend] = []
        monkeypatch.delenv("TREX_CLIENT", raising=False)
        self.clock: Clock | None = Clock(folder / "clock")
        self._pass(self.clock)
        self.world()

    def in_real_time(self) -> None:
        self.clock = None
        self._pass(time)
        self.world()

    def _pass(self, clock: object) -> None:
        for module in ("run", "start", "connections"):
            self._patch.setattr(f"sallyport.trex.{module}.time", clock)

    def world(self, **changes: object) -> None:
        """How the stand-in is to be, for backends from here on (stl/world.py)."""
        there = {"arp": {GATEWAY: BOX_MAC[1]}, "log": str(self._log), **changes}
        if self.clock:
            there["clock"] = str(self.clock.file)
        self._patch.setenv("TREX_STAND_IN", json.dumps(there))

    def backend(self, interactive: bool = False, text: str | None = None, **changes: object) -> TrexBackend:
        self.file.write_text(text if text is not None else yaml.safe_dump(fields(**changes)))
        made = TrexBackend(self.file, warn=self.warnings.append, ask=self.asked.append, interactive=lambda: interactive)
        self.backends.append(made)
        return made

    def calls(self) -> list[dict]:
        return [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []

    def streams(self) -> dict[int, list[dict]]:
        """The streams that were added last, by port."""
        return {call["ports"][0]: call["streams"] for call in self.calls() if call["call"] == "add_streams"}


def setup(mix: dict[int, int] | None = None, suite: str = "aes256gcm16", **changes: object) -> Setup:
    chosen = {"warmup_ns": 0, "measure_ns": 6_000_000_000} | changes
    return Setup(mix=mix or {64: 1}, suites=suites.parse(suite), **chosen)  # type: ignore[arg-type]


def trial(fps: int = 100_000, mix: dict[int, int] | None = None, of: dict | None = None, **changes: object) -> Trial:
    return Trial(setup=setup(mix, **(of or {})), fps=Fraction(fps), **changes)  # type: ignore[arg-type]
