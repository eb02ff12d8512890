# SPDX-License-Identifier: Apache-2.0
"""`scripts/comment_columns.py` refuses planted comments beyond column 100, and takes strings, URLs
and code for what they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

# Wider than the limit at any indentation.
LONG = "x " * 60
PLANTED = {
    "Line.scala": f"val x = 1\n// {LONG}\n",
    "Block.scala": f"/** short */\nval x = 1\n/**\n * {LONG}\n */\n",
    "trailing.go": f'var x = "//" // {LONG}\n',
    "rune.go": f"var x = '\"' // {LONG}\n",
    "indented.go": "func f() {\n\t\t// " + "x " * 46 + "\n}\n",
    "raw.cpp": f'auto x = R"(")"; // {LONG}\n',
    "digits.h": f"int x = 1'000; // it's {LONG}\n",
    "hash.py": f'x = "#"  # {LONG}\n',
    "docstring.py": f'def f():\n    """Short.\n\n    {LONG}\n    """\n',
    "flow.tcl": f"set x 1\n  # {LONG}\n",
    "tail.tcl": f'puts "a # b" ;# {LONG}\n',
    "run.sh": f"echo \"$#\" ${{x#y}} 'a\nb' # {LONG}\n",
    "no_suffix": f"#!/bin/sh\n# {LONG}\n",
    "Makefile": f"all: ## {LONG}\n",
    "page.rdl": f'desc = "a\n// b"; // {LONG}\n',
    "list.yaml": f"a: peer's\n# {LONG}\nb: c\n",
    "set.toml": f'a = "#" # {LONG}\n',
    "page.js": f"const x = `//`; // {LONG}\n",
}
ALLOWED = {
    "Line.scala": "// " + "x" * 40 + " " + "x" * 56 + "\n",
    "Code.scala": "val x = " + "1 + " * 30 + "1\n// short\n",
    "String.scala": f'val x = "// {LONG}"\nval y = """/* {LONG} */"""\n',
    "Interpolated.scala": f'val x = s"${{f("//")}} // {LONG}"\n',
    "url.scala": "// https://example.org/" + "x" * 100 + "\n",
    "before.cpp": f"f(/*short=*/1, {LONG});\n",
    "raw.go": f"var x = `// {LONG}`\n",
    "build.go": f"//go:build {LONG}\n",
    "text.py": f'x = """\n# {LONG}\n"""\n',
    "here.sh": f"cat <<'END'\n# it's {LONG}\nEND\n",
    "block.yaml": f"a: |\n  # {LONG}\nb: 'a # {LONG}'\n",
    "page.md": f"# {LONG}\n",
}


def check(folder: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    """Exit status of the check over `files`, and the names that it refuses."""
    for name, text in files.items():
        (folder / name).write_text(text)
    command = [sys.executable, ROOT / "scripts/comment_columns.py", *files]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert not run.stderr, run.stderr
    return run.returncode, [line.split(":")[0] for line in run.stdout.splitlines()]


def test_planted_comments_are_refused(tmp_path: Path) -> None:
    assert check(tmp_path, PLANTED) == (1, list(PLANTED))


def test_what_is_no_long_comment_passes(tmp_path: Path) -> None:
    assert check(tmp_path, ALLOWED) == (0, [])


@pytest.mark.parametrize(("width", "status"), [(100, 0), (101, 1)])
def test_the_last_column_is_100(tmp_path: Path, width: int, status: int) -> None:
    assert check(tmp_path, {"a.go": "// x " + "y" * (width - 5) + "\n"})[0] == status


def test_lint_runs_the_check() -> None:
    assert 'check "comment columns" python scripts/comment_columns.py' in (ROOT / "scripts/lint.sh").read_text()
