# SPDX-License-Identifier: Apache-2.0
"""What a simulated trial's outcome depends on besides its arguments: the built design and this
code, as one digest."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from sallyport.simulator import program, simulation

CODE = Path(__file__).resolve().parents[1]


@cache
def digest(tables: str, crypto: str, chips: str) -> str:
    """SHA-256 over the simulator of these chips, `sallyctl` and the front end's source.

    [InputError] if one is not built.
    """
    total = hashlib.sha256()
    files = [Path(simulation(crypto, chips, tables)), Path(program("sallyctl")), *sorted(CODE.rglob("*.py"))]
    for path in files:
        total.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
