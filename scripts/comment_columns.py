# SPDX-License-Identifier: Apache-2.0
"""`scripts/comment_columns.py [FILE...]`: fails if a comment of a source file reaches beyond
column 100.

Without FILE it reads every tracked file but generated ones. A tab counts as four columns. A line of
a comment that is one word, as a URL is, and a directive to a tool may be longer, since neither can
be broken.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from comments import comments, language

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


def sources() -> Iterable[str]:
    """The tracked files, but those whose layout a generator decides."""
    tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    asked = ["git", "check-attr", "-z", "--stdin", "linguist-generated"]
    answer = subprocess.run(asked, input=tracked, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name, value in zip(answer[::3], answer[2::3], strict=False) if value != "set"]


def main(names: list[str]) -> int:
    found = 0
    for name in names or sources():
        path = Path(name)
        if not path.is_file() or path.match("*.min.*"):
            continue
        text = path.read_bytes().decode(errors="replace")
        spoken = language(path, text.partition("\n")[0])
        for line, width in long_lines(text, spoken) if spoken else ():
            print(f"{name}:{line}: a comment ends in column {width}; break it at {COLUMNS}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
