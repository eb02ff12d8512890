# SPDX-License-Identifier: Apache-2.0
"""`scripts/comment_words.py [FILE...]`: fails if a comment of a source file has a construction that
styles/Sallyport/Constructions.yml refuses; Vale applies that rule to Markdown.

Without FILE it reads every tracked file but generated ones.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from comments import comments, sources

RULE = Path(__file__).parents[1] / "styles/Sallyport/Constructions.yml"
# The space between two words, which may be the end of a line and the next line's marker.
GAP = r"\s[\s/*#]*"


def prose(source: str, language: str) -> str:
    """`source` with its comments alone: dots take the place of all else but space."""
    parts, end = [], 0
    for comment in comments(source, language):
        parts += [re.sub(r"\S", ".", source[end : comment.start]), comment.text]
        end = comment.start + len(comment.text)
    return "".join(parts)


def constructions(source: str, language: str, tokens: list[str]) -> Iterator[tuple[int, str]]:
    """Line and words of each of the `tokens` in a comment."""
    anyone = "|".join(re.escape(token).replace(r"\ ", GAP) for token in tokens)
    for match in re.finditer(rf"\b({anyone})\b", prose(source, language), re.I):
        yield source.count("\n", 0, match.start()) + 1, " ".join(re.findall(r"\w+", match[0].lower()))


def main(names: list[str]) -> int:
    rule = yaml.safe_load(RULE.read_text())
    found = 0
    for name, text, language in sources(names):
        for line, words in constructions(text, language, rule["tokens"]):
            print(f"{name}:{line}: {rule['message'].replace('%s', words).rstrip('.')}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
