# SPDX-License-Identifier: Apache-2.0
"""Counters of each chip for the fuzzing in C++: path and kind, by index."""

from .model import Chip, Model
from .names import HEADER, LICENCE, upper_camel


def files(model: Model) -> dict[str, str]:
    """File name to contents."""
    lines = [f"// {LICENCE}", f"// {HEADER}", "#pragma once", "", "#include <array>", ""]
    lines += ["namespace sallyport::fuzz {", "", "struct Counter {", "  const char *name, *path, *kind;", "};"]
    for chip in model.chips:
        lines += ["", *_counters(chip)]
    return {"counters.h": "\n".join([*lines, "", "}  // namespace sallyport::fuzz"]) + "\n"}


def _counters(chip: Chip) -> list[str]:
    head = f"inline constexpr std::array<Counter, {len(chip.counters)}> k{upper_camel(chip.name)}Counters{{{{"
    return [head, *(f'    {{"{c.name}", "{c.path}", "{c.kind}"}},' for c in chip.counters), "}};"]
