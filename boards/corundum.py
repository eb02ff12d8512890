# SPDX-License-Identifier: Apache-2.0
"""Corundum's 100G MAC path (BSD-2-Clause-Views; its library MIT): fetched at one commit, never
vendored, and never used at another one.

`python -m boards.corundum` is `make corundum`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click

from boards.board import BoardError

COMMIT = "1ca0151b97af85aa5dd306d74b6bcec65904d2ce"
URL = "https://github.com/corundum/corundum.git"
FOLDER = Path("build/corundum")

VERILOG = (
    "fpga/common/rtl/cmac_gty_wrapper.v",
    "fpga/common/rtl/cmac_gty_ch_wrapper.v",
    "fpga/common/rtl/cmac_pad.v",
    "fpga/common/rtl/mac_ts_insert.v",
    "fpga/lib/eth/lib/axis/rtl/sync_reset.v",
)
CONSTRAINTS = (
    "fpga/common/syn/vivado/cmac_gty_wrapper.tcl",
    "fpga/common/syn/vivado/cmac_gty_ch_wrapper.tcl",
    "fpga/lib/eth/lib/axis/syn/vivado/sync_reset.tcl",
)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["git failed"])[-1]
        raise BoardError(f"{folder}: git {arguments[0]}: {reason}")
    return done.stdout.strip()


def verify(folder: Path = FOLDER) -> None:
    """Refuses a folder that is not there, at another commit, or changed."""
    if not (folder / ".git").exists():
        raise BoardError(f"corundum is not in {folder}: make corundum")
    found = git(folder, "rev-parse", "HEAD")
    if found != COMMIT:
        raise BoardError(f"{folder} is at commit {found[:12]}, not at {COMMIT[:12]}: rm -r {folder} && make corundum")
    if git(folder, "status", "--porcelain"):
        raise BoardError(f"files in {folder} were changed: git -C {folder} checkout -f")


def fetch(url: str = URL, folder: Path = FOLDER) -> None:
    """Brings the one commit into `folder`, whole or not at all; a second run only verifies."""
    if not (folder / ".git").exists():
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        git(part, "init", "-q")
        git(part, "fetch", "-q", "--depth", "1", url, COMMIT)
        git(part, "checkout", "-q", "--detach", "FETCH_HEAD")
        part.rename(folder)
    verify(folder)


@click.command()
@click.option("--url", default=URL, help="another clone of the repository")
def main(url: str) -> None:
    """Fetch corundum at its pinned commit and verify it."""
    try:
        fetch(url)
    except BoardError as wrong:
        click.echo(f"make corundum: {wrong}", err=True)
        sys.exit(2)
    click.echo(f"corundum {COMMIT[:12]} is in {FOLDER}")


if __name__ == "__main__":
    main()
