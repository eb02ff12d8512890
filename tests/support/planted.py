# SPDX-License-Identifier: Apache-2.0
"""Mistakes planted in the Verilog of a simulated chip, to show that a test finds them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.paths import ROOT


def chip_with(folder: Path, chip: str, module: str, before: str, after: str, target: str) -> Path:
    """Builds `target` of the engine in `folder`, from the build's Verilog with `before` replaced in
    `module` of `chip`; gives the program. `before` stands there once."""
    for part in ("rtl", "sim"):
        shutil.copytree(ROOT / "build" / part, folder / part, symlinks=True)
    path = folder / "rtl" / chip / module
    text = path.read_text()
    assert text.count(before) == 1, f"{module} has no single '{before}': plant the mistake anew"
    path.write_text(text.replace(before, after))
    subprocess.run(["make", "-s", "-C", ROOT / "sim" / "engine", f"BUILD_DIR={folder}", target], check=True)
    return folder / "bin" / f"sallyport-{target}"
