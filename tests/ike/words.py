# SPDX-License-Identifier: Apache-2.0
"""SAs and policies of a box as a test of IKE compares them: read from the lines of batches that its
daemon carried out, and from its lists. What the daemon accepts is not checked again here."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field


@dataclass(frozen=True)
class State:
    """One SA, as `xfrm state add` wrote it."""

    src: str
    dst: str
    spi: int
    reqid: int = 0
    mode: str = ""
    dir: str = ""
    window: int = 0
    flags: frozenset[str] = frozenset()
    extra: frozenset[str] = frozenset()
    tfcpad: int = 0
    limits: dict[str, int] = field(default_factory=dict)
    encap: tuple[int, int] | None = None
    suite: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    if_id: int = 0


@dataclass(frozen=True)
class Policy:
    """One policy, as `xfrm policy list` prints it: `selector` without the direction."""

    selector: str
    dir: str
    priority: int
    action: str = "allow"
    tmpl: str = ""
    if_id: int = 0


def name(text: str) -> tuple[str, int]:
    """Destination and SPI of an SA, of a line or of an item of the list."""
    match = re.search(r"src \S+ dst (\S+)\s+proto esp spi (0x[0-9a-f]{8}) ", text + " ")
    assert match, text
    return match[1], int(match[2], 16)


def state(line: str) -> State:
    """What a line `xfrm state add …` says."""
    words = shlex.split(line)
    assert words[:3] == ["xfrm", "state", "add"]

    def after(word: str) -> str:
        return words[words.index(word) + 1] if word in words else ""

    def run(word: str, *known: str) -> frozenset[str]:
        start = words.index(word) + 1 if word in words else len(words)
        return frozenset(w for w in words[start : start + len(known)] if w in known)

    suite, keys = [], []
    for kind in ("aead", "enc", "auth", "auth-trunc"):
        if kind in words:
            at = words.index(kind)
            suite += [kind, words[at + 1]]
            keys.append(words[at + 2].removeprefix("0x"))
    at = words.index("encap") if "encap" in words else None
    return State(
        after("src"),
        after("dst"),
        int(after("spi"), 16),
        int(after("reqid")),
        after("mode"),
        after("dir"),
        int(after("replay-window")),
        run("flag", "esn", "noecn", "nopmtudisc"),
        run("extra-flag", "dont-encap-dscp"),
        int(after("tfcpad") or 0),
        {words[n + 1]: int(words[n + 2]) for n, word in enumerate(words) if word == "limit"},
        (int(words[at + 2]), int(words[at + 3])) if at else None,
        tuple(suite),
        tuple(keys),
        int(after("if_id") or 0),
    )


def policy(item: str) -> Policy:
    """An item of the list of policies."""
    match = re.fullmatch(
        r"(.*?) \n\tdir (\w+) (?:action (\w+) )?index \d+ priority (\d+) \n(?:\ttmpl (.*?))?(?:\tif_id (\w+)\n?)?",
        item,
        re.S,
    )
    assert match, item
    tmpl, if_id = " ".join((match[5] or "").split()), int(match[6] or "0", 16)
    return Policy(match[1], match[2], int(match[4]), match[3] or "allow", tmpl, if_id)
