# SPDX-License-Identifier: Apache-2.0
"""Banks of tables in SLRs of their own have registers behind their inputs and before their outputs,
so no logic is added to the way over the border.

A memory of `MemoryPipe.column` has none, and its bank may not be placed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from boards.check.clocks import REGISTER
from boards.check.design import Bit
from boards.check.instances import Instances

BANK = re.compile(r"MemoryBank(_\d+)?")
GATE = "$and"  # of a table without reads: its bank takes `valid` and `write` into one register


def problems(core: Instances) -> Iterator[str]:
    """Of the tables that have places."""
    tables = {path.rpartition("/")[0] for path, place in core.placed.items() if place.kind.startswith("table ")}
    for path, kind in core.types.items():
        if path.rpartition("/")[0] not in tables:
            continue
        if not BANK.fullmatch(kind):
            yield f"{path} is a {kind}, which is no bank of a table"
        elif path not in core.placed:
            yield f"{path} has no SLR, and other banks of its table have: list all of them under tables"
        else:
            yield from (f"{path}.{port}" for port in _bare_ports(core.modules[kind]))


def _bare_ports(module: dict[str, Any]) -> Iterator[str]:
    loads: dict[Bit, list[tuple[dict[str, Any], str]]] = defaultdict(list)
    held: set[Bit] = set()
    for cell in module["cells"].values():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                held |= set(bits) if REGISTER.match(cell["type"]) else set()
                continue
            for bit in bits:
                loads[bit].append((cell, port))

    def registered(bit: Bit, gates: int) -> bool:
        return all(
            (REGISTER.match(cell["type"]) and port == "D")
            or (gates > 0 and cell["type"] == GATE and registered(cell["connections"]["Y"][0], gates - 1))
            for cell, port in loads[bit]
        )

    for port, it in module["ports"].items():
        bits = [bit for bit in it["bits"] if isinstance(bit, int)]
        if it["direction"] == "output":
            if not held.issuperset(bits):
                yield f"{port} does not come from registers"
        elif port != "clock" and not all(registered(bit, gates=1) for bit in bits):
            yield f"{port} does not lead to registers alone"
