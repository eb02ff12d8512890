# SPDX-License-Identifier: Apache-2.0
"""BAR 0 of a card (docs/reference/cards.md). Each access of a register goes through the PCIe bridge
and the shell of the card that has it, in RTL.

Two things stand in for hardware. The crypto card reaches the other cards' registers past its links,
by their own bridges. And requests that no bridge of the simulation can be sent are judged here, and
added to what the shell counts.
"""

from __future__ import annotations

from collections.abc import Callable

from sallyport.pcie.box import ALL_ONES, CHIPS, Box, shell_registers

CARD_BITS, WORD = 16, 4
# Bits 18:16 of an address: which card.
BEHIND = {"inner": ("inner",), "crypto": ("crypto", "inner", "outer"), "outer": ("outer",)}


class Card:
    """The registers behind one BAR 0. `log` takes a sentence about a write that is lost."""

    def __init__(self, chip: str, box: Box, log: Callable[[str], object]) -> None:
        assert chip in CHIPS
        self._cards, self._box, self._log = BEHIND[chip], box, log
        self._refused = self._failed = 0  # requests without a bridge of the simulation
        self._lost_bytes = False

    def read(self, offset: int, count: int) -> bytes:
        """What a host's read gets. All ones unless it is one whole word of a register."""
        if count != WORD or offset % WORD:
            self._refused += 1  # Completer Abort, on a card
            return b"\xff" * count
        chip, address = self._place(offset)
        if chip is None:
            self._failed += 1
            return b"\xff" * count
        value = self._box.read(chip, address)
        return (ALL_ONES if value is None else value + self._added(offset) & ALL_ONES).to_bytes(WORD, "little")

    def write(self, offset: int, data: bytes) -> None:
        """What a host's write does: nothing unless it is inside one word."""
        if offset % WORD + len(data) > WORD:
            self._refused += 1
            return
        chip, address = self._place(offset)
        if chip is None:
            self._failed += 1
        elif len(data) == WORD:
            self._box.write(chip, address, int.from_bytes(data, "little"))
        elif not self._lost_bytes:
            self._lost_bytes = True
            self._log("a write of less than a word is lost, since the simulation's host writes whole words alone")

    def _place(self, offset: int) -> tuple[str | None, int]:
        """The chip and the address in its card; no chip where the address decoder has none."""
        card = offset >> CARD_BITS
        return self._cards[card] if card < len(self._cards) else None, offset & (1 << CARD_BITS) - 1

    def _added(self, offset: int) -> int:
        """What counts beside the shell's own counter, in two of this card's registers."""
        names = shell_registers()
        if offset == names["pcie_refused"]:
            return self._refused
        if offset == names["access_errors"]:
            # On a card, accesses through the links fail in this one, too.
            far = [self._box.read(chip, names["access_errors"]) or 0 for chip in self._cards[1:]]
            return self._failed + sum(far)
        return 0
