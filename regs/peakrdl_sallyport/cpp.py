# SPDX-License-Identifier: Apache-2.0
"""Counters, control registers, tables and rows of the chips for the fuzzing in C++."""

from .model import Chip, Model, Row
from .names import HEADER, LICENCE, upper_camel


def files(model: Model) -> dict[str, str]:
    """File name to contents."""
    counter = ["struct Counter {", "  const char *name, *path, *kind;", "};"]
    register = ["// A register that software writes.", "struct Control {"]
    register += ["  uint16_t address;", "  uint32_t writable, reset;", "};"]
    field = ["// Bits of a row.", "struct Field {", "  unsigned lsb, width;", "};"]
    return {
        "counters.h": _file(["array"], counter, [_counters(chip) for chip in model.chips]),
        "controls.h": _file(["array", "cstdint"], register, [_controls(chip) for chip in model.chips]),
        "tables.h": _file([], [], [_tables(chip) for chip in model.chips]),
        "rows.h": _file([], field, [_row(row) for row in model.rows]),
    }


def _file(includes: list[str], first: list[str], sections: list[list[str]]) -> str:
    lines = [f"// {LICENCE}", f"// {HEADER}", "// clang-format off", "#pragma once", ""]
    lines += [*(f"#include <{name}>" for name in includes), *([""] if includes else [])]
    lines += ["namespace sallyport::fuzz {", *(["", *first] if first else [])]
    for section in sections:
        lines += ["", *section]
    return "\n".join([*lines, "", "}  // namespace sallyport::fuzz"]) + "\n"


def _counters(chip: Chip) -> list[str]:
    head = f"inline constexpr std::array<Counter, {len(chip.counters)}> k{upper_camel(chip.name)}Counters{{{{"
    return [head, *(f'    {{"{c.name}", "{c.path}", "{c.kind}"}},' for c in chip.counters), "}};"]


def _controls(chip: Chip) -> list[str]:
    controls = [r for r in chip.registers if r.role == "control"]
    lines = [f"namespace {chip.name} {{", f"inline constexpr std::array<Control, {len(controls)}> kControls{{{{"]
    lines += [f"    {{0x{r.offset:03x}, 0x{r.writable:08x}, 0x{r.reset:08x}}}," for r in controls]
    lines += ["}};"]
    lines += [f"inline constexpr Control k{upper_camel(r.name)} = kControls[{i}];" for i, r in enumerate(controls)]
    return [*lines, f"}}  // namespace {chip.name}"]


def _tables(chip: Chip) -> list[str]:
    lines = [f"namespace {chip.name} {{", "enum Table : unsigned {"]
    lines += [f"  k{upper_camel(t.name)} = {t.number}," for t in chip.tables]
    return [*lines, "};", f"}}  // namespace {chip.name}"]


def _row(row: Row) -> list[str]:
    lines = [f"namespace {row.name} {{"]
    lines += [f"inline constexpr Field k{upper_camel(f.name)}{{{f.lsb}, {f.width}}};" for f in row.fields]
    return [*lines, f"}}  // namespace {row.name}"]
