# SPDX-License-Identifier: Apache-2.0
"""What the first fragment of a datagram says for all of them (docs/explanation/fragments.md; RFC
4301 7.3, RFC 1858)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .reading import Reading

TCP = 6
UNIT = 8


@dataclass(frozen=True)
class Upper:
    """The fields that selectors ask for, and the SPI that stands there in ESP. `units`: 8-byte
    units of the datagram's payload up to the end of those fields. `at`: where they begin in the
    first one's frame."""

    protocol: int
    upper: str
    numbers: tuple[int, int]
    spi: bytes
    units: int
    at: int

    @classmethod
    def of(cls, first: Reading, payload: int, start: int = 0) -> Upper:
        """`payload`: bytes behind the IPv4 header or the fragment header. The packet begins at
        `start` of its frame."""
        units = (payload - len(first.payload)) // UNIT + (2 if first.protocol == TCP else 1)
        return cls(first.protocol, first.upper, first.numbers, first.payload[:4], units, start + first.header)

    def same(self, other: Upper) -> bool:
        fields = (self.protocol, self.upper, self.numbers) == (other.protocol, other.upper, other.numbers)
        return fields and (self.upper != "" or self.spi == other.spi)

    def over(self, fragment: Reading) -> Reading:
        return replace(fragment, protocol=self.protocol, upper=self.upper, numbers=self.numbers)
