# SPDX-License-Identifier: Apache-2.0
"""Configuration space of a card: type 0 header, power management and PCI Express capability, at the
places where the UltraScale+ block has them (PG213). 256 bytes are used of 4,096; the rest reads 0.

Not here: interrupts, which the cards have none of, AER, and what a link's training decides.
"""

from __future__ import annotations

from sallyport.pcie.identity import Identity

BYTES = 4096
COMMAND, MEMORY_SPACE = 0x04, 1 << 1
COMMAND_BITS = 0x0546  # memory space, bus master, parity, SERR#, INTx disable
CACHE_LINE, BAR0, SUBSYSTEM, CAPABILITIES, INTERRUPT_LINE = 0x0C, 0x10, 0x2C, 0x34, 0x3C
POWER, EXPRESS = 0x40, 0x70
POWER_STATE = POWER + 4
NO_SOFT_RESET = 1 << 3
CAPABILITY_LIST = 1 << 4  # of the status register


class ConfigSpace:
    """What the host reads and writes there, until `reset`."""

    def __init__(self, identity: Identity) -> None:
        self.bar_bytes = identity.bar_bytes
        self._initial, self._writable = bytearray(BYTES), bytearray(BYTES)
        self._header(identity)
        self._power()
        self._express(identity)
        self._now = bytearray(self._initial)

    def _word(self, at: int, value: int, writable: int = 0, size: int = 2) -> None:
        self._initial[at : at + size] = value.to_bytes(size, "little")
        self._writable[at : at + size] = writable.to_bytes(size, "little")

    def _header(self, identity: Identity) -> None:
        self._word(0x00, identity.vendor)
        self._word(0x02, identity.device)
        self._word(COMMAND, 0, COMMAND_BITS)
        self._word(COMMAND + 2, CAPABILITY_LIST)
        self._word(0x08, identity.class_code << 8, size=4)
        self._word(CACHE_LINE, 0, 0xFF, size=1)
        # 32 bits wide, not prefetchable: bits 3:0 are 0. The bits below the size are 0 for ever,
        # which is how the host learns it.
        self._word(BAR0, 0, 0x100000000 - identity.bar_bytes, size=4)
        self._word(SUBSYSTEM, identity.subsystem_vendor)
        self._word(SUBSYSTEM + 2, identity.subsystem)
        self._word(CAPABILITIES, POWER, size=1)
        self._word(INTERRUPT_LINE, 0, 0xFF, size=1)

    def _power(self) -> None:
        self._word(POWER, 0x01 | EXPRESS << 8)
        self._word(POWER + 2, 3)  # version 1.2 of its specification
        self._word(POWER_STATE, NO_SOFT_RESET, 0x3)

    def _express(self, identity: Identity) -> None:
        self._word(EXPRESS, 0x10)
        self._word(EXPRESS + 2, 2)  # version 2, an endpoint
        self._word(EXPRESS + 4, identity.max_payload | identity.extended_tag << 5 | 1 << 15, size=4)
        self._word(EXPRESS + 8, 1 << 4 | 2 << 12, 0x79FF)  # reads of up to 512 bytes, at reset
        link = identity.link_speed | identity.link_width << 4
        self._word(EXPRESS + 12, link, size=4)
        self._word(EXPRESS + 16, 0, 0xC3)
        self._word(EXPRESS + 18, link)
        self._word(EXPRESS + 40, 0, 0x1F)
        self._word(EXPRESS + 44, (1 << identity.link_speed) - 1 << 1, size=4)
        self._word(EXPRESS + 48, identity.link_speed, 0xF)

    def reset(self) -> None:
        """As a hot reset leaves it: no BAR, no memory space, power state D0."""
        self._now = bytearray(self._initial)

    def read(self, offset: int, count: int) -> bytes:
        return bytes(self._now[offset : offset + count])

    def write(self, offset: int, data: bytes) -> None:
        """Changes the bits that can be written."""
        for at, byte in enumerate(data, start=offset):
            mask = self._writable[at]
            self._now[at] = self._now[at] & ~mask | byte & mask

    @property
    def answers(self) -> bool:
        """The function completes accesses of its BAR: memory space is on, and the state is D0."""
        return bool(self._now[COMMAND] & MEMORY_SPACE) and not self._now[POWER_STATE] & 0x3
