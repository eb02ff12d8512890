# SPDX-License-Identifier: Apache-2.0
"""`scripts/failures.sh` names the failed tests of a part from its log, for each test program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

LOGS = {
    "pytest": (
        "....F [100%]\nFAILED tests/a.py::test_b - assert 1 == 2\nSKIPPED [1] c.py: none\n",
        "tests/a.py::test_b",
    ),
    "go": ("ok  \ta\t0.1s\n--- FAIL: TestX (0.01s)\n    x_test.go:9: got 1\nFAIL\tb\t0.2s\n", "TestX"),
    "scala": ("\x1b[32m- counts\x1b[0m\n\x1b[31m- wraps *** FAILED ***\x1b[0m\n", "- wraps *** FAILED ***"),
    "compiler": ("c++ -c x.cpp\nx.cpp:3:1: error: expected ';'\nmore\n", "x.cpp:3:1: error: expected ';'"),
    "lint": ("lint: a ok\nlint: prose           FAILED\nlint: b ok\nlint: c ok\n", "prose"),
    "make": ("cp a b\nmake: *** [Makefile:9: all] Error 1\n", "Makefile:9"),
}


def failures(*logs: Path) -> list[str]:
    command = [ROOT / "scripts" / "failures.sh", *logs]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("program", LOGS)
def test_each_program(tmp_path: Path, program: str) -> None:
    text, name = LOGS[program]
    log = tmp_path / "part.log"
    log.write_text(text)
    lines = failures(log)
    assert lines[0].startswith("part: ")
    assert "\x1b" not in lines[0]
    assert name in lines[0]
    assert all("SKIPPED" not in line and "ok" not in line for line in lines)


def test_no_known_line(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    log.write_text("".join(f"line {n}\n" for n in range(9)))
    assert failures(log) == [f"part: line {n}" for n in range(4, 9)]


def test_bounds(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    log.write_text(f"FAILED {'x' * 1000}\n" * 20)
    lines = failures(log)
    assert len(lines) == 8
    assert all(len(line) == 240 for line in lines)


def test_no_log(tmp_path: Path) -> None:
    assert failures(tmp_path / "part.log") == ["part: no log: its build failed, see above"]
