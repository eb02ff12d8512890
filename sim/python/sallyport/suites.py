"""The ESP suites that the simulated boxes offer, by their strongSwan names."""

from __future__ import annotations

from dataclasses import dataclass

from sallyport.errors import InputError


@dataclass(frozen=True)
class Suite:
    """One ESP transform: its wire overhead (RFC 4303 section 2, RFC 4106) and its name in `ip xfrm`.

    Sizes in bytes: `iv` and `icv` on the wire, `block` that payload and trailer are padded to, `key` as `ip xfrm` takes it
    (for GCM the AES key and the 4-byte salt).
    """

    name: str
    xfrm: str
    key: int
    iv: int
    icv: int
    block: int


SUITES = {
    suite.name: suite
    for suite in (
        Suite("aes128gcm16", 'aead "rfc4106(gcm(aes))"', 20, 8, 16, 4),
        Suite("aes256gcm16", 'aead "rfc4106(gcm(aes))"', 36, 8, 16, 4),
    )
}


def find(name: str) -> Suite:
    """The suite of that name, or an [InputError] that lists the names there are."""
    if name not in SUITES:
        raise InputError(f"suite {name!r} is not in this build; choose one of {', '.join(SUITES)}")
    return SUITES[name]
