# SPDX-License-Identifier: Apache-2.0
"""Which node of a cluster takes a frame: what the filter's registers of each node say.

The registers of `dispatch` in regs/common.rdl, of the inner and of the outer chip alike.
"""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from sallyport.errors import CheckFailed

MODES = {"off": 0, "session": 1, "packet": 2}
SPEAKER = 1 << 2  # of dispatch_control
CONTROL, OWNED, KEY = 0x380, 0x384, 0x3A4
BUCKETS, KEY_WORDS = 256, 12
# Of the register socket (docs/reference/simulator-sockets.md).
WRITE, CHIPS = 2, {"inner": 0, "outer": 2}


def key(seed: int) -> list[int]:
    """The words of the key that all nodes share."""
    source = random.Random(f"{seed} dispatch")
    return [source.getrandbits(32) for _ in range(KEY_WORDS)]


def owned(node: int, nodes: int) -> list[int]:
    """The words of a node's buckets; they are dealt in turn."""
    mine = sum(1 << bucket for bucket in range(BUCKETS) if bucket % nodes == node)
    return [mine >> 32 * word & 0xFFFFFFFF for word in range(BUCKETS // 32)]


def writes(mode: str, node: int, nodes: int, seed: int) -> Iterator[tuple[int, int]]:
    """Addresses and values of a node; the first node speaks for the cluster. The filter is switched
    on last."""
    for word, value in enumerate(owned(node, nodes)):
        yield OWNED + 4 * word, value
    for word, value in enumerate(key(seed)):
        yield KEY + 4 * word, value
    yield CONTROL, MODES[mode] | (SPEAKER if node == 0 else 0)


def write(path: Path, mode: str, node: int, nodes: int, seed: int) -> None:
    """Write the registers of the box whose register socket is at `path`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as box:
        box.connect(str(path))
        for chip, number in CHIPS.items():
            for address, value in writes(mode, node, nodes, seed):
                box.sendall(struct.pack("<BBHII", WRITE, number, 0, address, value))
                answer = box.recv(8, socket.MSG_WAITALL)
                if len(answer) < 8 or struct.unpack("<II", answer)[0]:
                    raise CheckFailed(f"the {chip} chip refuses a write to {address:#x}: it has no filter of a cluster")
