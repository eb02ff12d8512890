# SPDX-License-Identifier: Apache-2.0
"""`scripts/comment_words.py` refuses planted comments with a construction that the style refuses,
and lets strings, code and generated files pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.paths import ROOT

RULE = yaml.safe_load((ROOT / "styles/Sallyport/Constructions.yml").read_text())
# Each file has its construction in line 2.
PLANTED = {
    "line.scala": "val x = 1\n// What was read.\n",
    "broken.scala": "val x = 1\n// Reads what\n// was written.\n",
    "block.scala": "/**\n * Reads what\n * was written.\n */\n",
    "trailing.go": 'var y int\nvar x = "//" // what was read\n',
    "broken.py": "x = 1\n# reads what\n# was written\n",
    "docstring.py": 'def f():\n    """Reads what\n    was written."""\n',
    "run.sh": "x=1\n# what  was written\n",
    "Makefile": "x = 1\n# --- what was built ---\n",
    "list.yaml": "a: b\nc: d # what was read\n",
}
ALLOWED = {
    "string.scala": 'val x = "what was" // short\n',
    "apart.go": "// what\nvar x int // was\n",
    "part.go": "// somewhat was, what wasn't\n",
    "text.py": 'x = """\n# what was\n"""\n',
    "list.yaml": "a: what was\nb: 'c # what was'\n",
    "page.md": "# what was\n",
}


def check(folder: Path, *names: str) -> tuple[int, list[str]]:
    """Exit status of the check in `folder`, and its lines."""
    command = [sys.executable, ROOT / "scripts/comment_words.py", *names]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert not run.stderr, run.stderr
    return run.returncode, run.stdout.splitlines()


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


def test_planted_comments_are_refused(tmp_path: Path) -> None:
    write(tmp_path, PLANTED)
    told = "make the actor the subject and name the thing"
    assert check(tmp_path, *PLANTED) == (1, [f"{name}:2: 'what was': {told}" for name in PLANTED])


def test_other_text_passes(tmp_path: Path) -> None:
    write(tmp_path, ALLOWED)
    assert check(tmp_path, *ALLOWED) == (0, [])


@pytest.mark.parametrize("token", RULE["tokens"])
def test_every_token_of_the_rule_is_refused(tmp_path: Path, token: str) -> None:
    write(tmp_path, {"a.go": f"// Read {token.capitalize()} there.\n"})
    assert check(tmp_path, "a.go") == (1, ["a.go:1: " + RULE["message"].replace("%s", token).rstrip(".")])


def test_generated_files_pass(tmp_path: Path) -> None:
    write(tmp_path, {".gitattributes": "b.go linguist-generated\n", "a.go": "// nobody\n", "b.go": "// nobody\n"})
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    status, lines = check(tmp_path)
    assert (status, [line.split(":")[0] for line in lines]) == (1, ["a.go"])


def test_lint_runs_the_check() -> None:
    assert 'check "comment words" python scripts/comment_words.py' in (ROOT / "scripts/lint.sh").read_text()
