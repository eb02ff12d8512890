# SPDX-License-Identifier: Apache-2.0
"""`scripts/comment_columns.py [FILE...]`: fails if a comment of a source file reaches beyond
column 100.

Without FILE it reads every tracked file but generated ones. A tab counts as four columns. A line of
a comment that is one word, as a URL is, and a directive to a tool may be longer, since neither can
be broken.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from comments import comments, sources

COLUMNS = 100
# One word after the markers, or a directive that a tool reads.
UNBREAKABLE = re.compile(r"[\s/*#\"]*\S*[\s*/\"]*|(//|#) ?(go:|fmt:|noqa|type:|pyright:|shellcheck ).*")


def long_lines(source: str, language: str) -> Iterator[tuple[int, int]]:
    """Line number and width of each line that a comment takes beyond the last column."""
    for comment in comments(source, language):
        for part in re.finditer(r"[^\n]+", comment.text):
            end = comment.start + part.end()
            width = len(source[source.rfind("\n", 0, end) + 1 : end].expandtabs(4))
            if width > COLUMNS and not UNBREAKABLE.fullmatch(part[0]):
                yield source.count("\n", 0, end) + 1, width


def main(names: list[str]) -> int:
    found = 0
    for name, text, language in sources(names):
        for line, width in long_lines(text, language):
            print(f"{name}:{line}: a comment ends in column {width}; break it at {COLUMNS}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
