"""The ESP suites of the simulated boxes, by their strongSwan names."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from sallyport.errors import InputError

SM3_ICV_BITS = (128, 96, 256)  # the first is what the name without a number means


@dataclass(frozen=True)
class Suite:
    """One ESP transform: its wire format (RFC 4303 section 2) and how `ip xfrm` writes it.

    `crypt` is an `aead`, or an `enc` with `auth` beside it. Sizes in bytes: `key` and `auth_key` as `ip xfrm` takes them (with the
    salt), `iv` and `icv` on the wire, `block` that payload and trailer are padded to. `built` is the name by which the crypto chip
    says that it has the suite.
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
        """Authenticated by GHASH: such packets overtake those that wait for a chained hash (docs/explanation/crypto-chip.md, Order)."""
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


def _aead(name: str, crypt: str, key: int) -> Suite:
    """RFC 4106, 4543 and 7634: an explicit IV of 8 bytes, a salt of 4, an ICV of 16, padding to 4."""
    return Suite(name, crypt, key + 4, iv=8, icv=16, block=4, built=name)


def _sha256(name: str, crypt: str, key: int, iv: int, block: int) -> Suite:
    """RFC 4868: a key of 32 bytes and an ICV of 16."""
    return Suite(name, crypt, key, iv, 16, block, "hmac(sha256)", 32, name)


def _sm3(name: str, crypt: str, key: int, iv: int, block: int) -> list[Suite]:
    """One suite of the chip with each length of ICV that SM3 is used with."""
    return [
        Suite(
            name if bits == SM3_ICV_BITS[0] else f"{name}-{bits}",
            crypt,
            key,
            iv,
            bits // 8,
            block,
            "hmac(sm3)",
            32,
            name,
        )
        for bits in SM3_ICV_BITS
    ]


GCM_AES, CTR_AES, CBC_AES = "rfc4106(gcm(aes))", "rfc3686(ctr(aes))", "cbc(aes)"

SUITES = {
    suite.name: suite
    for suite in (
        _aead("aes128gcm16", GCM_AES, 16),
        _aead("aes192gcm16", GCM_AES, 24),
        _aead("aes256gcm16", GCM_AES, 32),
        _sha256("aes128ctr-sha256", CTR_AES, 16 + 4, iv=8, block=4),
        _sha256("aes256ctr-sha256", CTR_AES, 32 + 4, iv=8, block=4),
        _sha256("aes128-sha256", CBC_AES, 16, iv=16, block=16),
        _sha256("aes256-sha256", CBC_AES, 32, iv=16, block=16),
        Suite("aes256-sha1", CBC_AES, 32, 16, 12, 16, "hmac(sha1)", 20, "aes256-sha1"),
        _sha256("null-sha256", "ecb(cipher_null)", 0, iv=0, block=4),
        _aead("aes256gmac", "rfc4543(gcm(aes))", 32),
        _aead("chacha20poly1305", "rfc7539esp(chacha20,poly1305)", 32),
        _aead("sm4gcm16", "rfc4106(gcm(sm4))", 16),
        *_sm3("sm4-sm3", "cbc(sm4)", 16, iv=16, block=16),
        *_sm3("sm4ctr-sm3", "rfc3686(ctr(sm4))", 16 + 4, iv=8, block=4),
    )
}

# Parts of strongSwan's names of what RFC 8221 forbids or advises against.
_FORBIDDEN = re.compile(r"(^|-)(3?des\d*|md5\w*|blowfish\w*|cast\w*)(-|$)")


def find(name: str) -> Suite:
    """The suite of that name, or an [InputError] that lists the names there are."""
    if name in SUITES:
        return SUITES[name]
    choice = f"choose one of {', '.join(SUITES)}"
    if _FORBIDDEN.search(name.lower()):
        raise InputError(f"suite {name!r} is refused: RFC 8221 forbids it or advises against it; {choice}")
    raise InputError(f"there is no suite {name!r}; {choice}")


def parse(text: str) -> tuple[Suite, ...]:
    """`"sm4-sm3,aes256gcm16"` as suites, which the SAs of a run take in turn."""
    return tuple(find(name.strip()) for name in text.split(","))
