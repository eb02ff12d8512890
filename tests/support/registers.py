# SPDX-License-Identifier: Apache-2.0
"""The management CPU's end of a simulated box's registers (docs/reference/simulator-sockets.md).

It reads and writes rows past `sallyctl`, as a fault of software or of a memory would leave them."""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path
from types import TracebackType

from tests.support.paths import ROOT

CHIPS = {"inner": 0, "crypto": 1, "outer": 2}
READ, WRITE = 1, 2
GENERATED = ROOT / "mgmt" / "internal" / "regs"


def offset(chip: str, register: str) -> int:
    """Where a register of a chip stands, by its name in regs/*.rdl."""
    text = (GENERATED / "registers.go").read_text()
    match = re.search(
        rf'^\s(?:{chip.title()}|Common)\w+\s*= Register{{Name: "{register}", Offset: (0x[0-9a-f]+)', text, re.M
    )
    assert match, (chip, register)
    return int(match[1], 16)


def table_number(chip: str, table: str) -> int:
    text = (GENERATED / "tables.go").read_text()
    match = re.search(rf'{chip.title()}Table\w+\s*= Table{{Name: "{table}", Number: (\d+)', text)
    assert match, (chip, table)
    return int(match[1])


def field(row: str, name: str) -> int:
    """The lowest bit of a field of a row, by their names in the generated Go."""
    block = (GENERATED / "rows.go").read_text().split(f"var {row} = struct")[1].split("\n}\n")[0]
    match = re.search(rf"{name}:\s+Field{{LSB: (\d+)", block)
    assert match, (row, name)
    return int(match[1])


class Registers:
    """A client of the register socket at `path`."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(path))

    def __enter__(self) -> Registers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def _access(self, op: int, chip: str, address: int, data: int = 0) -> int:
        self._socket.sendall(struct.pack("<BBHII", op, CHIPS[chip], 0, address, data))
        answer = b""
        while len(answer) < 8:
            answer += self._socket.recv(8 - len(answer))
        status, value = struct.unpack("<II", answer)
        assert status == 0, f"{chip} {address:#x}: AXI response {status}"
        return value

    def read(self, chip: str, register: str) -> int:
        return self._access(READ, chip, offset(chip, register))

    def write(self, chip: str, register: str, value: int) -> None:
        self._access(WRITE, chip, offset(chip, register), value)

    def _command(self, chip: str, command: int) -> None:
        self.write(chip, "table_command", command)
        while self.read(chip, "table_status") & 1:
            pass

    def _row(self, chip: str, table: str, index: int) -> None:
        self.write(chip, "table_select", table_number(chip, table))
        self.write(chip, "table_index", index)
        self._command(chip, READ)

    def first(self, chip: str, table: str, valid: int) -> int:
        """The first row that is in use, which its bit `valid` says."""
        index = 0
        while True:
            self._row(chip, table, index)
            if self._access(READ, chip, offset(chip, "table_data") + valid // 32 * 4) >> valid % 32 & 1:
                return index
            index += 1

    def flip(self, chip: str, table: str, index: int, bit: int) -> None:
        """Turn one bit of a row over."""
        self._row(chip, table, index)
        data = offset(chip, "table_data")
        words = [self._access(READ, chip, data + 4 * n) for n in range(32)]
        words[bit // 32] ^= 1 << bit % 32
        for number, word in enumerate(words):
            self._access(WRITE, chip, data + 4 * number, word)
        self._command(chip, WRITE)
