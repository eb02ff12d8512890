# SPDX-License-Identifier: Apache-2.0
"""Links of every Markdown file lead to a file and an anchor that exist, and so does each docs/ path
that a source names."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
PAGES = [name for name in TRACKED if name.endswith(".md") and (ROOT / name).is_file()]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
NAMED_PATH = re.compile(
    r"(?<![\w./-])docs/(?:tutorial|how-to|reference|explanation|decisions|examples|drawings)/[\w./-]*\w"
)


def prose(page: str) -> str:
    """The text of a page without its code blocks and code spans."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", "", text)


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges and the site make them."""
    found: set[str] = set()
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} (.+)$", text, re.M):
        name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", name).strip().replace(" ", "-")
        found.add(name if name not in found else f"{name}_1")
    return found


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    dead = []
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = ((ROOT / page).parent / name).resolve() if name else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            dead.append(target)
    assert not dead, f"{page}: dead links {dead}"


def test_sources_name_pages_that_exist() -> None:
    missing = []
    for name in TRACKED:
        path = ROOT / name
        if path.suffix in {".svg", ".pcap", ".pcapng", ".ini"} or not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for named in NAMED_PATH.findall(text):
            hits = [named, f"{named}.md"] if "." not in Path(named).name else [named]
            if not any((ROOT / hit).exists() for hit in hits) and not list(ROOT.glob(f"{named}-*.md")):
                missing.append(f"{name}: {named}")
    assert not missing, "\n".join(missing)


def test_the_site_lists_every_page() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    listed = set(re.findall(r"'([\w/-]+\.md)'", str(nav)))
    pages = {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")}
    assert pages <= listed, f"zensical.toml's nav lacks {sorted(pages - listed)}"
