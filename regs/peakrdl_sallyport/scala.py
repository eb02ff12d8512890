# SPDX-License-Identifier: Apache-2.0
"""Scala descriptors, package sallyport.common.registers.map. One statement a line if it fits, so
that scalafmt has nothing to do.

Registers are a file a chip, and one of those that all chips have, for each is read by itself.
"""

from .model import Chip, Field, Model, Register
from .names import HEADER, LICENCE, lower_camel, upper_camel

# Columns that scalafmt leaves for a statement in an object.
WIDTH = 118


def files(model: Model) -> dict[str, str]:
    """File name to contents; Descriptors.scala, beside them, is written by hand."""
    return {
        **{f"{name}.scala": _file([lines]) for name, lines in _registers(model).items()},
        "Counters.scala": _file([_counters(chip) for chip in model.chips]),
        "Tables.scala": _file([_tables(chip) for chip in model.chips]),
        "Rows.scala": _file([_row(row.name, row.bits, row.fields) for row in model.rows]),
        "Values.scala": _file([_values(name, values) for name, values in model.values.items()]),
    }


def _file(objects: list[list[str]]) -> str:
    lines = [f"// {LICENCE}", f"// {HEADER}", "package sallyport.common.registers.map"]
    for one in objects:
        lines += ["", *one]
    return "\n".join(lines) + "\n"


def _object(name: str, body: list[str], extends: str = "") -> list[str]:
    suffix = f" extends {extends}" if extends else ""
    return [f"object {name}{suffix} {{", *("  " + line for line in body), "}"]


def _field(f: Field) -> str:
    return f"val {lower_camel(f.name)} = RowField({f.lsb}, {f.width})"


def _register(r: Register) -> list[str]:
    args = f'"{r.name}", 0x{r.offset:03x}, RegisterRole.{upper_camel(r.role)}'
    for name in ("writable", "pulse", "cleared", "reset"):
        if value := getattr(r, name):
            args += f", {name} = 0x{value:x}L"
    if r.count > 1:
        args += f", count = {r.count}"
    lines = [f"val {lower_camel(r.name)} = RegisterDesc({args})"]
    if len(lines[0]) > WIDTH:
        lines = [f"val {lower_camel(r.name)} =", f"  RegisterDesc({args})"]
    if [f.name for f in r.fields] != ["value"]:
        lines += _object(upper_camel(r.name), [_field(f) for f in r.fields])
    return lines


def _registers(model: Model) -> dict[str, list[str]]:
    """Name to lines of each object of registers."""

    def one(name: str, registers: list[Register], first: str = "") -> tuple[str, list[str]]:
        body = [line for r in registers for line in _register(r)]
        listed = [f"  {lower_camel(r.name)}," for r in registers]
        listed[-1] = listed[-1][:-1]
        lines = [*body, f"val all: Seq[RegisterDesc] = {first}Seq(", *listed, ")"]
        return f"{name}Regs", _object(f"{name}Regs", lines)

    return dict(
        [
            one("Common", model.common),
            *(one(upper_camel(chip.name), chip.registers, "CommonRegs.all ++ ") for chip in model.chips),
            *(one(upper_camel(shell.name), shell.registers) for shell in model.shells),
        ]
    )


def _counters(chip: Chip) -> list[str]:
    body = [f"val {lower_camel(c.name)} = {c.index}" for c in chip.counters]
    listed = [f'  CounterDesc("{c.name}", {c.index}, "{c.path}", "{c.kind}"),' for c in chip.counters]
    listed[-1] = listed[-1][:-1]
    return _object(f"{upper_camel(chip.name)}Counters", [*body, "val all: Seq[CounterDesc] = Seq(", *listed, ")"])


def _tables(chip: Chip) -> list[str]:
    body = [f"val {lower_camel(t.name)} = {t.number}" for t in chip.tables]
    listed = []
    for t in chip.tables:
        write_only = str(t.write_only).lower()
        args = f'"{t.name}", {t.number}, "{t.kind}", {upper_camel(t.row.name)}, writeOnly = {write_only}'
        listed.append(f"  TableDesc({args}),")
    listed[-1] = listed[-1][:-1]
    return _object(f"{upper_camel(chip.name)}Tables", [*body, "val all: Seq[TableDesc] = Seq(", *listed, ")"])


def _row(name: str, bits: int, fields: tuple[Field, ...]) -> list[str]:
    listed = [f'  "{f.name}" -> {lower_camel(f.name)},' for f in fields]
    listed[-1] = listed[-1][:-1]
    return _object(
        upper_camel(name),
        [f"val bits: Int = {bits}", *map(_field, fields), "val fields: Seq[(String, RowField)] = Seq(", *listed, ")"],
        extends="Row",
    )


def _values(name: str, values: dict[str, int]) -> list[str]:
    return _object(upper_camel(name), [f"val {lower_camel(key)} = {value}" for key, value in values.items()])
