# SPDX-License-Identifier: Apache-2.0
"""`scripts/build_docs.py`: builds the site of docs/ into build/docs/site, with PeakRDL's register
pages from build/regs.

The build is strict: a dead link or anchor, or a page that zensical.toml does not list, ends it with
status 1.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build/docs/pages"
SITE = ROOT / "build/docs/site"
REGISTERS = ROOT / "build/regs"


def register_pages(markdown: str) -> Iterator[tuple[str, str]]:
    """The parts of PeakRDL's one page, by chip: (name, page)."""
    parts = re.split(r"^## (inner|crypto|outer|shell) address map$", markdown, flags=re.M)
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        yield name, f"# Registers: {name}\n\nMade by PeakRDL of `regs/*.rdl`; [browse](html/index.html).\n{part}"


def listed(entry: object) -> Iterator[str]:
    """The pages of a `nav` entry."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from listed(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from listed(value)


def main() -> int:
    if not (REGISTERS / "sallyport.md").is_file():
        print("build_docs: build/regs/sallyport.md is missing; run `make docs`, or `make regs` first", file=sys.stderr)
        return 2
    shutil.rmtree(ROOT / "build/docs", ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("testplan", "assurance.yaml", "*.dot"))
    (PAGES / "registers").mkdir()
    for name, page in register_pages((REGISTERS / "sallyport.md").read_text()):
        (PAGES / "registers" / f"{name}.md").write_text(page)
    shutil.copytree(REGISTERS / "html", PAGES / "registers/html")
    pages = {path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.md")}
    unlisted = pages - set(listed(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    if unlisted:
        print(f"build_docs: the nav of zensical.toml lacks {', '.join(sorted(unlisted))}", file=sys.stderr)
        return 1
    built = subprocess.run(["zensical", "build", "--strict", "--clean"], cwd=ROOT)
    if built.returncode == 0:
        print(f"docs: {SITE.relative_to(ROOT)}/index.html")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
