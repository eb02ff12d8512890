# SPDX-License-Identifier: Apache-2.0
"""ESP by scapy: packets made with any trailer and number, and opened again from their raw bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from scapy.layers.ipsec import ESP, IPSecIntegrityError, SecurityAssociation, _ESPPlain
from scapy.packet import Raw

from tests.support import scapy_suites  # noqa: F401  (registers the algorithms that scapy lacks)

from .sa import Sa


@dataclass(frozen=True)
class Opened:
    """The text of an authentic packet: `body` is payload and padding together."""

    body: bytes
    pad_length: int
    next_header: int

    @property
    def payload(self) -> bytes:
        return self.body[: len(self.body) - self.pad_length]

    @property
    def padding(self) -> bytes:
        return self.body[len(self.body) - self.pad_length :]


class Peer:
    """scapy's association of an SA."""

    def __init__(self, sa: Sa) -> None:
        self.sa = sa
        self.association: SecurityAssociation = sa.association()

    def seal(self, body: bytes, pad_length: int, next_header: int, number: int, iv: bytes) -> bytes:
        """An ESP packet whose text is `body` and a trailer with these values, whether they make
        sense or not."""
        low, high = number & 0xFFFFFFFF, number >> 32
        plain = _ESPPlain(
            spi=self.sa.spi, seq=low, iv=iv, data=Raw(body), padding=b"", padlen=pad_length, nh=next_header
        )
        ends = {"esn_en": self.sa.esn, "esn": high}
        ours = self.association
        sealed = ours.crypt_algo.encrypt(ours, plain, ours.crypt_key, ours.crypt_icv_size, **ends)
        return bytes(ours.auth_algo.sign(sealed, ours.auth_key, **ends))

    def open(self, packet: bytes, high: int) -> Opened | None:
        """The content of a packet of a length that the suite has; None if it is not authentic."""
        ours, suite = self.association, self.sa.suite
        ends = {"esn_en": self.sa.esn, "esn": high}
        spi, sequence = struct.unpack("!LL", packet[:8])
        sealed = ESP(spi=spi, seq=sequence, data=packet[8:])
        try:
            ours.auth_algo.verify(sealed, ours.auth_key, **ends)
            icv = ours.crypt_algo.icv_size or ours.auth_algo.icv_size
            plain = ours.crypt_algo.decrypt(ours, sealed, ours.crypt_key, icv, **ends)
        except IPSecIntegrityError:
            return None
        if plain.padlen > len(packet) - 8 - suite.iv - suite.icv - 2:
            return Opened(b"", plain.padlen, plain.nh)
        return Opened(bytes(plain.data) + plain.padding, plain.padlen, plain.nh)


def right_padding(length: int) -> bytes:
    """RFC 4303 2.4: 1, 2, 3 …"""
    return bytes(range(1, length + 1))


def fits(sa: Sa, length: int) -> bool:
    """A packet of the suite may be that long: its text is whole blocks, one at least."""
    text = length - 8 - sa.suite.iv - sa.suite.icv
    return text >= sa.suite.block and text % sa.suite.block == 0
