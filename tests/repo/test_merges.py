# SPDX-License-Identifier: Apache-2.0
"""No file of the tree has a merge's conflict markers, and bash can read every script."""

from __future__ import annotations

import subprocess

from tests.support.paths import ROOT


def test_no_file_has_conflict_markers() -> None:
    words = ["git", "grep", "-nIE", r"^(<{7}|>{7}|\|{7})( |$)"]
    found = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.returncode == 1, f"conflict markers:\n{found.stdout}{found.stderr}"


def test_bash_reads_every_script() -> None:
    listed = subprocess.run(["git", "ls-files", "*.sh"], capture_output=True, text=True, check=True, cwd=ROOT)
    for script in listed.stdout.split():
        read = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False, cwd=ROOT)
        assert read.returncode == 0, read.stderr
