# SPDX-License-Identifier: Apache-2.0
"""Wireshark's preferences of ESP, from the file that a simulated box read: keys come from that
file, never out of a box."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sallyport.errors import InputError

# `ip xfrm`'s names and Wireshark's (epan/dissectors/packet-ipsec.c), of what both have. GCM's ICV
# is its encryption's.
ENCRYPTION = {
    "rfc4106(gcm(aes))": "AES-GCM with 16 octet ICV [RFC4106]",
    "rfc3686(ctr(aes))": "AES-CTR [RFC3686]",
    "cbc(aes)": "AES-CBC [RFC3602]",
    "ecb(cipher_null)": "NULL",
}
AUTHENTICATION = {"hmac(sha256)": "HMAC-SHA-256-128 [RFC4868]", "hmac(sha1)": "HMAC-SHA-1-96 [RFC2404]"}
PREFERENCES = """esp.enable_encryption_decode: TRUE
esp.enable_authentication_check: TRUE
udp.check_checksum: TRUE
"""


@dataclass(frozen=True)
class State:
    """An SA of the file; keys as "0x…" or empty."""

    src: str
    dst: str
    spi: int
    crypt: str
    key: str
    auth: str
    auth_key: str

    def line(self) -> str | None:
        """Its line of `esp_sa`; None if Wireshark has no such algorithm."""
        encryption = ENCRYPTION.get(self.crypt)
        authentication = AUTHENTICATION.get(self.auth) if self.auth else "NULL"
        if encryption is None or authentication is None:
            return None
        version = "IPv6" if ":" in self.src else "IPv4"
        fields = (version, self.src, self.dst, f"{self.spi:#010x}", encryption, self.key, authentication, self.auth_key)
        return ",".join(f'"{field}"' for field in fields)


def write(xfrm: Path, out: Path) -> tuple[list[State], list[State]]:
    """Write a folder for WIRESHARK_CONFIG_DIR; the SAs that are in it, and those that Wireshark
    cannot decrypt."""
    states = list(_states(xfrm))
    if not states:
        raise InputError(f"{xfrm}: no line begins with 'xfrm state add'; give the file of a box with SAs")
    known = [state for state in states if state.line()]
    out.mkdir(parents=True, exist_ok=True)
    keys = out / "esp_sa"
    keys.touch(mode=0o600)
    keys.write_text("".join(f"{state.line()}\n" for state in known))
    (out / "preferences").write_text(PREFERENCES)
    return known, [state for state in states if state not in known]


def _states(xfrm: Path) -> Iterator[State]:
    try:
        text = xfrm.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{xfrm}: {getattr(error, 'strerror', 'not a text file')}; give a file of ip -batch") from None
    for line in text.replace("\\\n", " ").splitlines():
        if re.match(r"\s*xfrm\s+state\s+add\s", line):
            try:
                yield _state(shlex.split(line, comments=True))
            except (ValueError, IndexError):
                raise InputError(
                    f"{xfrm}: cannot read the SA {' '.join(line.split()[:10])!r} …; sallyctl says why"
                ) from None


def _state(words: list[str]) -> State:
    found = {word: words[words.index(word) + 1] for word in ("src", "dst", "spi")}
    crypt, key = _algorithm(words, "aead", "enc")
    auth, auth_key = _algorithm(words, "auth-trunc", "auth")
    return State(found["src"], found["dst"], int(found["spi"], 0), crypt, key, auth, auth_key)


def _algorithm(words: list[str], *kinds: str) -> tuple[str, str]:
    """Name and key of the first of these kinds that is given."""
    for kind in kinds:
        if kind in words:
            at = words.index(kind)
            return words[at + 1], words[at + 2]
    return "", ""
