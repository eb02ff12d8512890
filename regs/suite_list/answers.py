# SPDX-License-Identifier: Apache-2.0
"""The known answers of the crypto chip's self-test: one ESP packet of each suite, by OpenSSL."""

from __future__ import annotations

import hashlib
import textwrap

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from .languages import HEADER, LICENCE, by_number
from .model import Suite
from .shape import ListError

ICV = 16  # where a suite leaves the length to the row
PAYLOAD_BYTES = 77  # a pad byte and the trailer fill five blocks, for either alignment
NEXT_HEADER = 4


def _made(what: str, size: int) -> bytes:
    """Bytes without a choice in them: a hash of their purpose."""
    return hashlib.shake_128(f"sallyport self-test {what}".encode()).digest(size)


KEY = _made("key", 32)
AUTH_KEY = _made("authentication key", 32)
SALT = _made("salt", 4)
SPI = _made("SPI", 4)
SEQUENCE = _made("sequence number", 8)  # 64 bits, and the ICV covers them all
IV = _made("IV", 8)
PAYLOAD = _made("payload", PAYLOAD_BYTES)

BLOCK_CIPHERS = {"aes": algorithms.AES, "sm4": algorithms.SM4}
HASHES = {"sha256": hashes.SHA256, "sha1": hashes.SHA1, "sm3": hashes.SM3}


def _run(suite: Suite, mode: modes.ECB | modes.CBC | modes.CTR, data: bytes) -> bytes:
    """`data` under the suite's cipher."""
    encryptor = Cipher(BLOCK_CIPHERS[suite.cipher](KEY[: suite.key]), mode).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def _gcm(suite: Suite, nonce: bytes, data: bytes, aad: bytes) -> bytes:
    """The same with GCM; the tag follows."""
    encryptor = Cipher(BLOCK_CIPHERS[suite.cipher](KEY[: suite.key]), modes.GCM(nonce)).encryptor()
    encryptor.authenticate_additional_data(aad)
    return encryptor.update(data) + encryptor.finalize() + encryptor.tag


def _block(suite: Suite, block: bytes) -> bytes:
    return _run(suite, modes.ECB(), block)  # noqa: S305: one block alone


def packet(suite: Suite) -> bytes:
    """The ESP packet (RFC 4303) that carries PAYLOAD."""
    text = PAYLOAD + bytes([1, 1, NEXT_HEADER])
    head, aad, nonce = SPI + SEQUENCE[4:], SPI + SEQUENCE, SALT + IV
    match suite.mode.name:
        case "gcm":
            return head + IV + _gcm(suite, nonce, text, aad)
        case "gmac":
            return head + IV + text + _gcm(suite, nonce, b"", aad + IV + text)
        case "poly1305":
            return head + IV + ChaCha20Poly1305(KEY).encrypt(nonce, text, aad)
        case "ctr":
            body = IV + _run(suite, modes.CTR(nonce + bytes([0, 0, 0, 1])), text)
        case "cbc":
            iv = _block(suite, IV + bytes(8))
            body = iv + _run(suite, modes.CBC(iv), text)
        case "plain":
            body = text
        case other:
            raise ListError(f"{other} has no known answer: add it in suite_list/answers.py")
    assert suite.hash
    mac = hmac.HMAC(AUTH_KEY, HASHES[suite.hash.name]())
    mac.update(head + body + SEQUENCE[:4])
    return head + body + mac.finalize()[: ICV if ICV in suite.icv else suite.icv[0]]


def scala(suites: list[Suite]) -> str:
    def hexes(data: bytes, indent: int) -> str:
        space = " " * indent
        return space + f" +\n{space}  ".join(f'"{part}"' for part in textwrap.wrap(data.hex(), 96))

    def row(s: Suite) -> str:
        hash_key = _block(s, bytes(16)).hex() if s.mode.name in ("gcm", "gmac") else ""
        return f'    KnownAnswer(\n      {s.number},\n      "{hash_key}",\n{hexes(packet(s), 6)}\n    )'

    constants = {
        "key": KEY,
        "authKey": AUTH_KEY,
        "salt": SALT,
        "spi": SPI,
        "sequence": SEQUENCE,
        "iv": IV,
    }
    lines = [
        f"// {LICENCE}",
        f"// {HEADER}",
        "package sallyport.crypto.selftest",
        "",
        "/** What OpenSSL makes of one payload with each suite: number, GHASH's key, ESP packet. */",
        "private[crypto] object KnownAnswerList {",
        *[f'  val {name} = "{value.hex()}"' for name, value in constants.items()],
        f"  val nextHeader = {NEXT_HEADER}",
        f"  val payload =\n{hexes(PAYLOAD, 4)}",
        "",
        "  val all: Seq[KnownAnswer] = Seq(",
        ",\n".join(map(row, by_number(suites))),
        "  )",
        "}",
    ]
    return "\n".join(lines) + "\n"


def cpp(_: list[Suite]) -> str:
    numbers = {"kSpi": (32, SPI), "kSequence": (64, SEQUENCE)}
    lines = [
        f"// {LICENCE}",
        f"// {HEADER}",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "// What the packets of the crypto chip's self-test bear.",
        "namespace sallyport::model::self_test {",
        "",
        *[f"inline constexpr uint{bits}_t {name} = 0x{value.hex()};" for name, (bits, value) in numbers.items()],
        "",
        "}  // namespace sallyport::model::self_test",
    ]
    return "\n".join(lines) + "\n"
