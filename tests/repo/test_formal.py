# SPDX-License-Identifier: Apache-2.0
"""The runner of proofs refuses bad input in one sentence, and its page lists every property."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from formal.model import ProofFailed, planted, script
from formal.registry import names
from formal.tools import MissingTool, require, require_version
from tests.support.paths import ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "formal", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_an_unknown_property_is_refused() -> None:
    done = run("nonsense")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("PROPERTY=nonsense: choose one of register-slice, ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("answer", ["Yosys 0.9 (git sha1 1979e0b)\n", "something else\n"])
def test_an_old_yosys_is_refused(answer: str) -> None:
    with pytest.raises(MissingTool, match=r"proofs need 0\.23 or newer"):
        require_version(answer)


def test_a_newer_yosys_serves() -> None:
    require_version("Yosys 0.52 (git sha1 fee39a328)\n")


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MissingTool, match="yosys is not on PATH"):
        require()


@pytest.mark.parametrize("text", ["a <= b;", "a <= c; a <= c;"])
def test_a_planted_bug_has_one_place(text: str) -> None:
    bug = {"module": "M", "find": "a <= c", "replace": "a <= d"}
    with pytest.raises(ProofFailed, match=r"M\.sv: /a <= c/ must match once"):
        planted(text, bug)


def test_memories_become_registers_where_a_property_looks_into_them(tmp_path) -> None:
    looks = "; ".join(script([], ["dut.ring_ext.Memory[0]"], [], tmp_path / "a.smt2"))
    others = "; ".join(script([], ["dut.count"], [], tmp_path / "a.smt2"))
    assert "memory_map" in looks and "memory_map" not in others


def test_a_module_that_is_cut_away_has_free_outputs(tmp_path) -> None:
    commands = "; ".join(script([], [], ["FrameFifo"], tmp_path / "a.smt2"))
    assert commands.index("cutpoint FrameFifo") < commands.index("flatten")


def test_the_page_lists_every_property() -> None:
    page = (ROOT / "docs/explanation/formal.md").read_text()
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE) == names()


def test_some_properties_are_quick() -> None:
    assert 1 <= len(names(quick=True)) <= 3
