# SPDX-License-Identifier: Apache-2.0
"""`scripts/prose_stats.py [--ref COMMIT] [FILE...]`: sentences of each document, with their mean
and longest length in words.

Code blocks, tables, front matter and link targets are not prose. A code span counts as one word.
Without FILE it reads every Markdown file of the repository, from the work tree or, with --ref, from
a commit.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

# A full stop ends a sentence if a space and a capital, a digit, a quote, a code span or an
# emphasis follow.
END_OF_SENTENCE = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z0-9`\"'(*\[])")
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|cf|vs|St|No|Fig)\.")
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+\.) ")
BLOCK_START = re.compile(r"^\s*(#{1,6} |[-*+] |\d+\. |> |\|)")


def prose_blocks(markdown: str) -> Iterator[str]:
    """The paragraphs and list items of a Markdown text, each on one line."""
    block: list[str] = []
    fenced = False
    after_blank, in_list = True, False
    for line in markdown.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        indented = line.startswith("       " if in_list else "    ") and after_blank
        code = fenced or indented
        in_list = bool(LIST_ITEM.match(line)) or (in_list and (not line.strip() or line.startswith(" ")))
        after_blank = not line.strip() or (after_blank and code)
        starts = not line.strip() or BLOCK_START.match(line)
        if (starts or code) and block:
            yield " ".join(block)
            block = []
        if code or not line.strip() or line.lstrip().startswith(("|", "#", "<", "![")):
            continue
        block.append(re.sub(BLOCK_START, "", line).strip())
    if block:
        yield " ".join(block)


def sentences(markdown: str) -> Iterator[str]:
    for block in prose_blocks(markdown):
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block)
        text = re.sub(r"`[^`]*`", "`code`", text)
        text = ABBREVIATIONS.sub(lambda match: match[0][:-1], text)
        yield from (part for part in END_OF_SENTENCE.split(text) if re.search(r"\w", part))


def words(sentence: str) -> int:
    return sum(bool(re.search(r"\w", part)) for part in sentence.split())


def documents(ref: str | None, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names and texts of `files`, or of all Markdown files."""
    listing = ["git", "ls-tree", "-r", "--name-only", ref] if ref else ["git", "ls-files"]
    tracked = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in list(files) or [name for name in tracked if name.endswith(".md")]:
        if ref:
            text = subprocess.run(["git", "show", f"{ref}:{name}"], capture_output=True, text=True, check=True).stdout
        else:
            text = Path(name).read_text()
        yield name, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--ref", metavar="COMMIT", help="read the files of this commit")
    parser.add_argument("--longer-than", type=int, metavar="N", help="also print each sentence of more than N words")
    options = parser.parse_args()
    every: list[int] = []
    print(f"{'document':44} {'sentences':>9} {'mean':>6} {'max':>5}")
    for name, text in documents(options.ref, options.files):
        found = list(sentences(text))
        lengths = [words(sentence) for sentence in found]
        every += lengths
        if lengths:
            print(f"{name:44} {len(lengths):9} {sum(lengths) / len(lengths):6.1f} {max(lengths):5}")
        for sentence, length in zip(found, lengths, strict=True):
            if options.longer_than and length > options.longer_than:
                print(f"    {length}: {sentence}")
    if every:
        print(f"{'all':44} {len(every):9} {sum(every) / len(every):6.1f} {max(every):5}")


if __name__ == "__main__":
    main()
