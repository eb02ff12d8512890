# SPDX-License-Identifier: Apache-2.0
"""What both languages print, read once from the elaborated SystemRDL and checked."""

from dataclasses import dataclass, field

from systemrdl.node import AddrmapNode, FieldNode, RegfileNode, RegNode

COUNTER_BYTES = 8
TABLE_BYTES = 128
KINDS = ("received", "sent", "punted", "drop", "merged", "split", "injected", "held", "lost", "info")


class ModelError(Exception):
    """The SystemRDL is valid but is not a Sallyport description; the message says which node
    and why."""


@dataclass(frozen=True)
class Field:
    name: str
    lsb: int
    width: int


@dataclass(frozen=True)
class Register:
    """`role`: constant (in the RDL), build (fixed at elaboration), status (from hardware), control
    (software's) or window."""

    name: str
    offset: int
    count: int
    role: str
    writable: int
    pulse: int
    cleared: int
    reset: int
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Counter:
    name: str
    index: int
    path: str
    kind: str


@dataclass(frozen=True)
class Row:
    name: str
    bits: int
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Table:
    name: str
    number: int
    kind: str
    row: Row
    write_only: bool


@dataclass
class Chip:
    name: str
    registers: list[Register] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


@dataclass
class Model:
    common: list[Register] = field(default_factory=list)
    chips: list[Chip] = field(default_factory=list)
    # Blocks with registers alone, without those of `common`: the shells of cards.
    shells: list[Chip] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    values: dict[str, dict[str, int]] = field(default_factory=dict)


def build(top: AddrmapNode) -> Model:
    """Reads the whole box (`sallyport`)."""
    model = Model()
    for part in top.children():
        spaces = [c for c in part.children() if isinstance(c, AddrmapNode)]
        if not spaces:
            for register in part.registers():
                _note_values(model, register)
                model.rows.append(_row(register))
            continue
        chip = Chip(part.inst_name)
        for space in spaces:
            kind = space.get_property("space", default=None)
            if kind is None:
                raise ModelError(f"{space.get_path()}: the address map has no 'space' property")
            {"registers": _registers, "counters": _counters, "tables": _tables}[kind.name](model, chip, space)
        (model.chips if len(spaces) > 1 else model.shells).append(chip)
    return model


def _note_values(model: Model, register: RegNode) -> None:
    for f in register.fields():
        encode = f.get_property("encode", default=None)
        if encode is not None:
            model.values[encode.type_name.removesuffix("_e")] = {m.name: m.value for m in encode}


def _fields(register: RegNode) -> tuple[Field, ...]:
    return tuple(Field(f.inst_name, f.lsb, f.width) for f in register.fields())


def _row(node: RegNode) -> Row:
    fields = _fields(node)
    return Row(node.type_name or node.inst_name, max(f.lsb + f.width for f in fields), fields)


def _mask(fields: list[FieldNode]) -> int:
    return sum(((1 << f.width) - 1) << f.lsb for f in fields)


def _reset(f: FieldNode) -> int:
    value = f.get_property("reset", default=0)
    if not isinstance(value, int):
        raise ModelError(f"{f.get_path()}: the reset value must be a number")
    return value


def _role(register: RegNode) -> str:
    if register.get_property("window", default=False):
        return "window"
    if register.get_property("elaborated", default=False):
        return "build"
    if any(f.is_sw_writable for f in register.fields()):
        return "control"
    if any(f.is_hw_writable for f in register.fields()):
        return "status"
    return "constant"


def _registers(model: Model, chip: Chip, space: AddrmapNode) -> None:
    common = not model.common
    names: set[str] = set()
    for node in space.descendants():
        if not isinstance(node, RegNode):
            continue
        _note_values(model, node)
        if node.inst_name in names:
            raise ModelError(f"{node.get_path()}: a second register of this name in {chip.name}")
        names.add(node.inst_name)
        fields = list(node.fields())
        register = Register(
            name=node.inst_name,
            offset=node.raw_absolute_address - space.raw_absolute_address,
            count=node.n_elements,
            role=_role(node),
            writable=_mask([f for f in fields if f.is_sw_writable]),
            pulse=_mask([f for f in fields if f.get_property("singlepulse")]),
            cleared=_mask([f for f in fields if f.get_property("hwclr")]),
            reset=sum(_reset(f) << f.lsb for f in fields),
            fields=_fields(node),
        )
        parent = node.parent
        if isinstance(parent, RegfileNode) and parent.get_property("common_block", default=False):
            if common:
                model.common.append(register)
            elif register not in model.common:
                raise ModelError(f"{node.get_path()}: a common block differs from the other chips'")
        else:
            chip.registers.append(register)


def _counters(_: Model, chip: Chip, space: AddrmapNode) -> None:
    for group in space.children():
        path = group.get_property("path", default=None)
        if path is None:
            raise ModelError(f"{group.get_path()}: counters need a 'path'")
        for node in group.registers():
            kind = node.get_property("kind", default=None)
            if kind is None or kind.name not in KINDS:
                raise ModelError(f"{node.get_path()}: a counter needs a 'kind'")
            index, rest = divmod(node.absolute_address - space.absolute_address, COUNTER_BYTES)
            if rest or index != len(chip.counters):
                expected = COUNTER_BYTES * len(chip.counters)
                raise ModelError(f"{node.get_path()}: counters must be consecutive, expected offset {expected:#x}")
            chip.counters.append(Counter(node.inst_name, index, path.name, kind.name))
    names = [c.name for c in chip.counters]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"{space.get_path()}: two counters are named {name}")


def _tables(model: Model, chip: Chip, space: AddrmapNode) -> None:
    for node in space.registers():
        _note_values(model, node)
        kind = node.get_property("table_kind", default=None)
        if kind is None:
            raise ModelError(f"{node.get_path()}: a table's row needs a 'table_kind'")
        for f in node.fields():
            if f.width <= 32 and f.lsb // 32 != f.msb // 32:
                raise ModelError(f"{f.get_path()}: the field straddles a 32-bit data word")
            if f.width > 32 and f.lsb % 8:
                raise ModelError(f"{f.get_path()}: a field wider than 32 bits must start at a byte")
        row = _row(node)
        if row not in model.rows:
            model.rows.append(row)
        number, rest = divmod(node.absolute_address - space.absolute_address, TABLE_BYTES)
        if rest or number != len(chip.tables):
            raise ModelError(f"{node.get_path()}: table numbers must be consecutive from 0")
        write_only = not any(f.is_sw_readable for f in node.fields())
        chip.tables.append(Table(node.inst_name, number, kind.name, row, write_only))
