# SPDX-License-Identifier: Apache-2.0
"""An ESP suite of the simulated boxes; suite_list.py has all of them."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """One ESP transform: its wire format (RFC 4303 section 2) and how `ip xfrm` writes it.

    `crypt` is an `aead`, or an `enc` with `auth` beside it. Sizes in bytes: `key` and `auth_key` as
    `ip xfrm` takes them (with the salt), `iv` and `icv` on the wire, `block` that payload and
    trailer are padded to. `built` is the name by which the crypto chip says that it has the suite.
    """

    name: str
    crypt: str
    key: int
    iv: int
    icv: int
    block: int
    auth: str = ""
    auth_key: int = 0
    built: str = ""

    @property
    def kind(self) -> str:
        """How `ip xfrm` introduces `crypt`."""
        return "enc" if self.auth else "aead"

    @property
    def fast(self) -> bool:
        """Authenticated by GHASH: such packets overtake those that wait for a chained hash
        (docs/explanation/crypto-chip.md, Order)."""
        return "gcm" in self.crypt

    def xfrm(self, keys: random.Random) -> str:
        """The algorithms of an SA with keys from `keys`, as `ip xfrm state add` takes them."""
        return self.with_keys(keys.randbytes(self.key), keys.randbytes(self.auth_key))

    def with_keys(self, key: bytes, auth_key: bytes = b"") -> str:
        """The algorithms of an SA with these keys, as `ip xfrm state add` takes them."""
        crypt = f'{self.kind} "{self.crypt}" ' + (f"0x{key.hex()}" if key else '""')
        if not self.auth:
            return f"{crypt} {8 * self.icv}"
        return f'{crypt} auth-trunc "{self.auth}" 0x{auth_key.hex()} {8 * self.icv}'
