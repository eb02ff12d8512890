# SPDX-License-Identifier: Apache-2.0
"""ESP on the tester's side (RFC 4303), by OpenSSL: what a box must accept, and what a box sent.

SAs have extended sequence numbers, whose high half is 0 here: no trial sends 2^32 packets of an SA.
"""

from __future__ import annotations

import hmac
import os
import struct
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hmac import HMAC

from sallyport.suite import Suite

HEADER, SALT = 8, 4  # bytes: SPI and number; of keys with a nonce
MOST_NUMBERS = 2**32 - 1
HIGH = bytes(4)  # half of every number
CIPHERS = {"aes": algorithms.AES, "sm4": algorithms.SM4}
HASHES = {"hmac(sha1)": hashes.SHA1, "hmac(sha256)": hashes.SHA256, "hmac(sm3)": hashes.SM3}


class Rejected(Exception):
    """A packet that is not of the SA; the text says why."""


class _Transform(Protocol):
    """`seal` gives ciphertext and ICV, `open` the text or [Rejected]. `header`: SPI and number."""

    def seal(self, header: bytes, iv: bytes, text: bytes) -> bytes: ...

    def open(self, header: bytes, iv: bytes, rest: bytes) -> bytes: ...


class _Sm4Gcm:
    """With the interface of AESGCM."""

    def __init__(self, key: bytes) -> None:
        self._key = algorithms.SM4(key)

    def encrypt(self, nonce: bytes, data: bytes, extra: bytes) -> bytes:
        made = Cipher(self._key, modes.GCM(nonce)).encryptor()
        made.authenticate_additional_data(extra)
        return made.update(data) + made.finalize() + made.tag

    def decrypt(self, nonce: bytes, data: bytes, extra: bytes) -> bytes:
        made = Cipher(self._key, modes.GCM(nonce, data[-16:])).decryptor()
        made.authenticate_additional_data(extra)
        return made.update(data[:-16]) + made.finalize()


class _Aead:
    """RFC 4106, 7634, 8998; with `clear` RFC 4543, which encrypts nothing."""

    def __init__(self, cipher: AESGCM | ChaCha20Poly1305 | _Sm4Gcm, salt: bytes, clear: bool) -> None:
        self._cipher, self._salt, self._clear = cipher, salt, clear

    def seal(self, header: bytes, iv: bytes, text: bytes) -> bytes:
        extra = header[:4] + HIGH + header[4:]
        if self._clear:
            return text + self._cipher.encrypt(self._salt + iv, b"", extra + iv + text)
        return self._cipher.encrypt(self._salt + iv, text, extra)

    def open(self, header: bytes, iv: bytes, rest: bytes) -> bytes:
        extra = header[:4] + HIGH + header[4:]
        try:
            if self._clear:
                self._cipher.decrypt(self._salt + iv, rest[-16:], extra + iv + rest[:-16])
                return rest[:-16]
            return self._cipher.decrypt(self._salt + iv, rest, extra)
        except InvalidTag:
            raise Rejected("its ICV is wrong") from None


class _CipherAndHash:
    """RFC 3602, 3686, 2410 with RFC 2404, 4868: the hash is over all that is sent before the ICV,
    and the high half of the number."""

    def __init__(self, suite: Suite, key: bytes, auth_key: bytes) -> None:
        self._counter = "ctr(" in suite.crypt
        name = next((name for name in CIPHERS if name in suite.crypt), None)
        self._salt = key[-SALT:] if self._counter else b""
        self._cipher = CIPHERS[name](key[:-SALT] if self._counter else key) if name else None
        self._hash, self._icv = HMAC(auth_key, HASHES[suite.auth]()), suite.icv

    def _made(self, iv: bytes) -> Cipher:
        assert self._cipher
        return Cipher(self._cipher, modes.CTR(self._salt + iv + b"\0\0\0\1") if self._counter else modes.CBC(iv))

    def _tag(self, sent: bytes) -> bytes:
        made = self._hash.copy()
        made.update(sent + HIGH)
        return made.finalize()[: self._icv]

    def seal(self, header: bytes, iv: bytes, text: bytes) -> bytes:
        if self._cipher:
            made = self._made(iv).encryptor()
            text = made.update(text) + made.finalize()
        return text + self._tag(header + iv + text)

    def open(self, header: bytes, iv: bytes, rest: bytes) -> bytes:
        text, icv = rest[: -self._icv], rest[-self._icv :]
        if not hmac.compare_digest(self._tag(header + iv + text), icv):
            raise Rejected("its ICV is wrong")
        if not self._cipher:
            return text
        made = self._made(iv).decryptor()
        return made.update(text) + made.finalize()


def _transform(suite: Suite, key: bytes, auth_key: bytes) -> _Transform:
    if suite.auth:
        return _CipherAndHash(suite, key, auth_key)
    kinds = {"gcm(sm4)": _Sm4Gcm, "gcm(aes)": AESGCM, "chacha20": ChaCha20Poly1305}
    kind = next(made for name, made in kinds.items() if name in suite.crypt)
    return _Aead(kind(key[:-SALT]), key[-SALT:], "rfc4543" in suite.crypt)


class Association:
    """One SA. `key` has its salt, as `ip xfrm` takes it."""

    def __init__(self, suite: Suite, spi: int, key: bytes, auth_key: bytes) -> None:
        self._suite, self._spi, self._transform = suite, spi, _transform(suite, key, auth_key)

    def seal(self, number: int, payload: bytes, next_header: int) -> bytes:
        """A packet from SPI to ICV, padded as RFC 4303 2.4 has it."""
        padding = -(len(payload) + 2) % self._suite.block
        text = payload + bytes(range(1, padding + 1)) + bytes((padding, next_header))
        header = struct.pack(">II", self._spi, number)
        # Nonces must differ, and CBC's IVs must not be foreseen.
        iv = os.urandom(16) if self._suite.iv == 16 else number.to_bytes(8, "big")[: self._suite.iv]
        return header + iv + self._transform.seal(header, iv, text)

    def open(self, packet: bytes) -> tuple[int, bytes, int]:
        """Number, payload and next header of such a packet; [Rejected] if it is none."""
        start = HEADER + self._suite.iv
        length = len(packet) - start - self._suite.icv
        if length < 2 or length % self._suite.block:
            raise Rejected(f"its length of {len(packet)} B is none of its suite")
        header, iv = packet[:HEADER], packet[HEADER:start]
        text = self._transform.open(header, iv, packet[start:])
        padding, next_header = text[-2:]
        payload = text[: -2 - padding]
        if padding > len(text) - 2 or text[len(payload) : -2] != bytes(range(1, padding + 1)):
            raise Rejected("its padding is wrong")
        return int.from_bytes(header[4:], "big"), payload, next_header
