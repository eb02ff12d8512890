# SPDX-License-Identifier: Apache-2.0
"""How a difference between a box and the model is told, and the names on a box's two sides."""

from __future__ import annotations

from dataclasses import dataclass

RECEIVED = {"red": "inner.rx_frames", "black": "outer.rx_frames"}
FAR = {"red": "black", "black": "red"}
CHIP = {"red": "inner", "black": "outer"}


@dataclass(frozen=True)
class Mismatch:
    """`index` of the frame that came in at `port`; None where only a count says that something
    is wrong.

    `overflow`: a queue was full, so frames came too fast, and what else differs says nothing.
    """

    port: str
    index: int | None
    expected: str
    got: str
    overflow: bool = False
