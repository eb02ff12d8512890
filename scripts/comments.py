# SPDX-License-Identifier: Apache-2.0
"""Finds the source files and their comments, for checks of prose. Docstrings count as comments;
strings do not.

One regular expression a language matches strings and comments in turn, so neither can start inside
the other. Python and YAML are read by their own scanners.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

import yaml


class Comment(NamedTuple):
    """A comment with its markers: `text` is `source[start : start + len(text)]`."""

    start: int
    text: str


DOUBLE = r'"(?:\\.|[^"\\\n])*"'
SINGLE = r"'(?:\\.|[^'\\\n])*'"
C_COMMENT = r"(?P<comment>//[^\n]*|/\*.*?\*/)"
# A hash inside a word, as in `$#` or `${name#prefix}`, starts no comment in a shell.
HASH = r"(?P<comment>(?<![^\s;()&|])#[^\n]*)"
# `s"${map("key")}"`: the braces of an interpolated string hold strings of their own.
SCALA_STRING = rf'""".*?"""+|\w"(?:\\.|\$\{{(?:[^{{}}"\n]|{DOUBLE})*\}}|[^"\\\n])*"|{DOUBLE}'
# A single quote also separates digits in C++, and in Scala and Go it never holds more than
# one character.
CHARACTER = r"'(?:\\[^\n]|[^'\\\n])[^'\n]{0,8}'"
HEREDOC = r"<<-?\s*(['\"]?)(?P<end>\w+)\1.*?\n\s*(?P=end)\n"

PATTERNS = {
    "c": rf'R"(?P<raw>\w*)\(.*?\)(?P=raw)"|\b\d[\da-fA-FxX\']*|{DOUBLE}|{SINGLE}|{C_COMMENT}',
    "css": rf"{DOUBLE}|{SINGLE}|(?P<comment>/\*.*?\*/)",
    "go": rf"{DOUBLE}|`[^`]*`|{CHARACTER}|{C_COMMENT}",
    "javascript": rf"{DOUBLE}|{SINGLE}|`(?:\\.|[^`\\])*`|{C_COMMENT}",
    "make": rf"\\.|{DOUBLE}|{HASH}",
    "rdl": rf'"(?:\\.|[^"\\])*"|{C_COMMENT}',
    "scala": rf"{SCALA_STRING}|{CHARACTER}|{C_COMMENT}",
    "shell": rf"\\.|{HEREDOC}|'[^']*'|\"(?:\\.|[^\"\\])*\"|{HASH}",
    "tcl": rf"{DOUBLE}|(?P<comment>(?:^|(?<=;))[ \t]*#[^\n]*)",
    "toml": rf"\"\"\".*?\"\"\"|'''.*?'''|{DOUBLE}|{SINGLE}|{HASH}",
}
LANGUAGES = {
    **dict.fromkeys((".c", ".cc", ".cpp", ".h", ".v", ".sv", ".inc"), "c"),
    **dict.fromkeys((".scala", ".mill"), "scala"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".toml", ".conf"), "toml"),
    ".css": "css",
    ".go": "go",
    ".js": "javascript",
    ".mk": "make",
    ".py": "python",
    ".rdl": "rdl",
    ".sh": "shell",
    ".tcl": "tcl",
}


class Source(NamedTuple):
    name: str
    text: str
    language: str


def sources(names: list[str]) -> Iterator[Source]:
    """The source files among `names`; without names, among the tracked files but generated ones."""
    for name in names or tracked():
        path = Path(name)
        if not path.is_file() or path.match("*.min.*"):
            continue
        text = path.read_bytes().decode(errors="replace")
        if spoken := language(path, text.partition("\n")[0]):
            yield Source(name, text, spoken)


def tracked() -> Iterable[str]:
    """The tracked files, but those whose layout a generator decides."""
    names = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    asked = ["git", "check-attr", "-z", "--stdin", "linguist-generated"]
    answer = subprocess.run(asked, input=names, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name, value in zip(answer[::3], answer[2::3], strict=False) if value != "set"]


def language(path: PurePath, first_line: str) -> str | None:
    """The language of a file by its name, or by its first line where the name has no suffix; None
    if unknown."""
    if path.name == "Makefile":
        return "make"
    if not path.suffix and first_line.startswith("#!"):
        return "python" if "python" in first_line else "shell"
    return LANGUAGES.get(path.suffix)


def comments(source: str, language: str) -> Iterator[Comment]:
    """The comments of `source`, in order; a file that its language refuses raises what its
    scanner raises."""
    if language == "python":
        yield from python_comments(source)
    elif language == "yaml":
        yield from yaml_comments(source)
    else:
        for match in re.finditer(PATTERNS[language], source, re.S | re.M):
            if match["comment"]:
                yield Comment(match.start("comment"), match["comment"])


def python_comments(source: str) -> Iterator[Comment]:
    """Comments by `tokenize`, and the docstrings of modules, classes and functions."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        docstring = token.type == tokenize.STRING and token.start in docstrings
        if token.type == tokenize.COMMENT or docstring:
            yield Comment(lines[token.start[0] - 1] + token.start[1], token.string)


def yaml_comments(source: str) -> Iterator[Comment]:
    """A hash between two of YAML's tokens, for a comment is no token."""
    end = 0
    for token in yaml.scan(source):
        for match in re.finditer(r"#[^\n]*", source[end : max(end, token.start_mark.index)]):
            yield Comment(end + match.start(), match[0])
        end = max(end, token.end_mark.index)
