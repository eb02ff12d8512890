# SPDX-License-Identifier: Apache-2.0
"""scapy's ESP with the algorithms that it lacks, all of them by `cryptography` (OpenSSL), and what
each suite is called there."""

from __future__ import annotations

import random
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import algorithms, modes
from cryptography.hazmat.primitives.hmac import HMAC
from scapy.layers.ipsec import AUTH_ALGOS, CRYPT_ALGOS, ESP, AuthAlgo, CryptAlgo, SecurityAssociation


def _add_cipher(name: str, mode: type, like: str | None = None) -> None:
    """SM4 in a mode, with the IV, salt and ICV of scapy's AES in the same mode."""
    sizes = {}
    if like:
        other = CRYPT_ALGOS[like]
        sizes = {key: getattr(other, key) for key in ("block_size", "iv_size", "salt_size", "icv_size")}
        sizes["format_mode_iv"] = other._format_mode_iv
    CRYPT_ALGOS[name] = CryptAlgo(name, cipher=algorithms.SM4, mode=mode, **sizes)


_add_cipher("SM4-CBC", modes.CBC)
_add_cipher("SM4-CTR", modes.CTR, like="AES-CTR")
_add_cipher("SM4-GCM", modes.GCM, like="AES-GCM")
for _bits in (96, 128, 256):
    _name = f"HMAC-SM3-{_bits}"
    AUTH_ALGOS[_name] = AuthAlgo(_name, mac=HMAC, digestmod=hashes.SM3, icv_size=_bits // 8)

# Suite by strongSwan's name: scapy's encryption, scapy's authentication, bytes of their keys
# (salt included).
SCAPY: dict[str, tuple[str, str | None, int, int]] = {
    "aes128gcm16": ("AES-GCM", None, 20, 0),
    "aes192gcm16": ("AES-GCM", None, 28, 0),
    "aes256gcm16": ("AES-GCM", None, 36, 0),
    "aes128ctr-sha256": ("AES-CTR", "SHA2-256-128", 20, 32),
    "aes256ctr-sha256": ("AES-CTR", "SHA2-256-128", 36, 32),
    "aes128-sha256": ("AES-CBC", "SHA2-256-128", 16, 32),
    "aes256-sha256": ("AES-CBC", "SHA2-256-128", 32, 32),
    "aes256-sha1": ("AES-CBC", "HMAC-SHA1-96", 32, 20),
    "null-sha256": ("NULL", "SHA2-256-128", 0, 32),
    "aes256gmac": ("AES-NULL-GMAC", None, 36, 0),
    "chacha20poly1305": ("CHACHA20-POLY1305", None, 36, 0),
    "sm4gcm16": ("SM4-GCM", None, 20, 0),
    "sm4-sm3": ("SM4-CBC", "HMAC-SM3-128", 16, 32),
    "sm4-sm3-96": ("SM4-CBC", "HMAC-SM3-96", 16, 32),
    "sm4-sm3-256": ("SM4-CBC", "HMAC-SM3-256", 16, 32),
    "sm4ctr-sm3": ("SM4-CTR", "HMAC-SM3-128", 20, 32),
    "sm4ctr-sm3-96": ("SM4-CTR", "HMAC-SM3-96", 20, 32),
    "sm4ctr-sm3-256": ("SM4-CTR", "HMAC-SM3-256", 20, 32),
}


def keys(suite: str, spi: int) -> tuple[bytes, bytes]:
    """Keys of encryption and authentication, which follow from the SPI, so that no two SAs
    share one."""
    _, _, crypt, auth = SCAPY[suite]
    source = random.Random(spi)
    return source.randbytes(crypt), source.randbytes(auth)


def association(suite: str, spi: int, esn: bool, **headers: Any) -> SecurityAssociation:
    """scapy's SA with these keys: in transport mode, or with the outer headers of a tunnel."""
    crypt, auth, _, _ = SCAPY[suite]
    crypt_key, auth_key = keys(suite, spi)
    return SecurityAssociation(
        ESP, spi=spi, crypt_algo=crypt, crypt_key=crypt_key, auth_algo=auth, auth_key=auth_key, esn_en=esn, **headers
    )
