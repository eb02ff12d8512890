# SPDX-License-Identifier: Apache-2.0
"""Registers of a simulated box behind its socket (docs/reference/simulator-sockets.md), and the
shell's among them by name."""

from __future__ import annotations

import functools
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from sallyport.errors import CheckFailed, InputError
from sallyport.simulator import ROOT

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

CHIPS = ("inner", "crypto", "outer")  # as the socket numbers them
SHELL = 0x8000  # where the shell's registers begin in a card (docs/reference/cards.md)
ALL_ONES = 0xFFFFFFFF
_REQUEST, _RESPONSE = struct.Struct("<BBHII"), struct.Struct("<II")
_READ, _WRITE = 1, 2


@functools.cache
def _shell() -> AddrmapNode:
    from systemrdl.compiler import RDLCompiler  # takes a third of a second

    compiler = RDLCompiler()
    compiler.compile_file(str(ROOT / "regs/shell.rdl"))
    return compiler.elaborate("shell_registers").top


@functools.cache
def shell_registers() -> dict[str, int]:
    """Address in a card of each register of the shell, by its name in regs/shell.rdl."""
    return {node.inst_name: SHELL + node.raw_address_offset for node in _shell().registers()}


@functools.cache
def magic() -> int:
    """What a shell's first register reads."""
    (field,) = _shell().registers()[0].fields()
    value = field.get_property("reset")
    assert isinstance(value, int)
    return value


class Box:
    """A client of the register socket. One thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            raise InputError(
                f"--registers {path}: {error.strerror or error}; give the box0.sock of a simulation that runs"
            ) from None

    def read(self, chip: str, address: int) -> int | None:
        """The register's value; all ones where a shell's register or a core's fails, and None where
        there is no shell to say so."""
        status, data = self._access(_READ, chip, address, 0)
        return None if status else data

    def write(self, chip: str, address: int, value: int) -> None:
        self._access(_WRITE, chip, address, value)

    def _access(self, op: int, chip: str, address: int, data: int) -> tuple[int, int]:
        answer = b""
        try:
            self._socket.sendall(_REQUEST.pack(op, CHIPS.index(chip), 0, address, data))
            while len(answer) < _RESPONSE.size:
                more = self._socket.recv(_RESPONSE.size - len(answer))
                if not more:
                    raise ConnectionError
                answer += more
        except OSError:
            raise CheckFailed(f"the simulation behind {self._path} has ended") from None
        return _RESPONSE.unpack(answer)

    def require_shells(self) -> None:
        """[InputError] if the box is of bare cores."""
        for chip in CHIPS:
            if self.read(chip, shell_registers()["magic"]) != magic():
                raise InputError(f"the box at {self._path} has no cards: start the simulation with --chips shell")

    def close(self) -> None:
        self._socket.close()
