# SPDX-License-Identifier: Apache-2.0
"""What every language prints, read once from regs/suites.yaml and checked. Sizes are in bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .shape import ListError, mapping, record, text, whole, wholes

NUMBERS = range(1, 32)  # bits of the capability register; bit 0 stands for no suite
ICV_BYTES = (12, 16, 32)  # what a key row can ask for (icv_e of rows.rdl)
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Mode:
    """How a cipher is used; `icv` is None where a hash makes the ICV. The file says what the
    fields mean."""

    name: str
    source: str
    ciphers: dict[str, list[int]]
    salt: int
    iv: int
    align: int
    linux: str
    charon: dict[str, str]
    icv: int | None


@dataclass(frozen=True)
class Hash:
    """An HMAC; the first of `icv` is meant by a suite's name alone."""

    name: str
    source: str
    key: int
    icv: list[int]
    linux: str
    charon: dict[int, str]


@dataclass(frozen=True)
class Suite:
    """One suite; without `hash` it is an AEAD."""

    number: int
    name: str
    cipher: str
    key: int
    mode: Mode
    hash: Hash | None

    @property
    def crypt(self) -> str:
        """Linux's name of the encryption."""
        return self.mode.linux.replace("{cipher}", self.cipher)

    @property
    def icv(self) -> list[int]:
        """Lengths of the ICV; the first is meant by the name alone."""
        return self.hash.icv if self.hash else [self.mode.icv or 0]

    @property
    def identifier(self) -> str:
        """The name in SystemRDL, from which those in Scala and Go follow."""
        return self.name.replace("-", "_")


def read(path: Path) -> list[Suite]:
    """The suites in the order of the file, or a [ListError] of one sentence."""
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ListError(f"{path.name} is not YAML: {' '.join(str(error).split())}") from error
    try:
        top = record(tree, "the file", ("modes", "hashes", "suites"))
        modes = {name: _mode(name, node) for name, node in mapping(top["modes"], "modes").items()}
        hashes = {name: _hash(name, node) for name, node in mapping(top["hashes"], "hashes").items()}
        if not isinstance(top["suites"], list) or not top["suites"]:
            raise ListError("suites: write a list of at least one suite")
        suites = [_suite(node, modes, hashes) for node in top["suites"]]
        _check_together(suites)
    except ListError as error:
        raise ListError(f"{path.name}: {error}") from None
    return suites


def _mode(name: str, node: object) -> Mode:
    where = f"mode {name}"
    keys = ("source", "ciphers", "salt", "iv", "align", "linux", "charon")
    r = record(node, where, keys, optional=("icv",))
    ciphers = {c: wholes(sizes, f"{where}, cipher {c}") for c, sizes in mapping(r["ciphers"], where).items()}
    charon = _charon(r["charon"], f"{where}, charon", ciphers)
    salt, iv, align = (whole(r[key], f"{where}, {key}") for key in ("salt", "iv", "align"))
    if align not in (4, 16):
        raise ListError(f"{where}: align is {align}, but the lanes pad to 4 or to 16 bytes")
    icv = _icv(r["icv"], where) if "icv" in r else None
    return Mode(name, text(r["source"], where), ciphers, salt, iv, align, text(r["linux"], where), charon, icv)


def _hash(name: str, node: object) -> Hash:
    where = f"hash {name}"
    r = record(node, where, ("source", "key", "icv", "linux", "charon"))
    icv = [_icv(size, where) for size in wholes(r["icv"], f"{where}, icv")]
    charon = _charon(r["charon"], f"{where}, charon", icv)
    key = whole(r["key"], f"{where}, key")
    return Hash(name, text(r["source"], where), key, icv, text(r["linux"], where), charon)


def _charon(node: object, where: str, known: Iterable[Any]) -> dict[Any, str]:
    return {_known(f"{where}:", key, known): text(word, where) for key, word in mapping(node, where).items()}


def _icv(node: object, where: str) -> int:
    icv = whole(node, f"{where}, icv")
    if icv not in ICV_BYTES:
        raise ListError(f"{where}: an ICV of {icv} bytes, but a key row can ask for {_or(ICV_BYTES)}")
    return icv


def _suite(node: object, modes: dict[str, Mode], hashes: dict[str, Hash]) -> Suite:
    name = text(mapping(node, "a suite").get("name"), "a suite's name")
    where = f"suite {name}"
    r = record(node, where, ("number", "name", "cipher", "key", "mode"), optional=("hash",))
    if not NAME.fullmatch(name):
        raise ListError(f"{where}: write the name as strongSwan does, in small letters and digits with '-' between")
    number = whole(r["number"], f"{where}, number")
    if number not in NUMBERS:
        raise ListError(f"{where}: number {number}, but they go from {NUMBERS[0]} to {NUMBERS[-1]}")
    mode = modes[_known(f"{where}: mode", text(r["mode"], f"{where}, mode"), modes)]
    ciphers = {c: None for m in modes.values() for c in m.ciphers}
    cipher = _known(f"{where}: cipher", text(r["cipher"], f"{where}, cipher"), ciphers)
    key = whole(r["key"], f"{where}, key")
    if cipher not in mode.ciphers:
        raise ListError(f"{where}: mode {mode.name} has no cipher {cipher}, only {_or(mode.ciphers)}")
    if key not in mode.ciphers[cipher]:
        sizes = _or(mode.ciphers[cipher])
        raise ListError(f"{where}: {cipher} in mode {mode.name} has no key of {key} bytes, only of {sizes}")
    if mode.icv and "hash" in r:
        raise ListError(f"{where}: mode {mode.name} makes its own ICV, so take the hash out")
    if not mode.icv and "hash" not in r:
        raise ListError(f"{where}: mode {mode.name} makes no ICV, so name a hash: {_or(hashes)}")
    hash_ = hashes[_known(f"{where}: hash", text(r["hash"], f"{where}, hash"), hashes)] if "hash" in r else None
    return Suite(number, name, cipher, key, mode, hash_)


def _check_together(suites: list[Suite]) -> None:
    for i, suite in enumerate(suites):
        for other in suites[:i]:
            if suite.name == other.name:
                raise ListError(f"two suites are named {suite.name}: give one of them another name")
            if suite.number == other.number:
                raise ListError(f"suites {other.name} and {suite.name} both have the number {suite.number}")
            if (suite.cipher, suite.key, suite.mode, suite.hash) == (other.cipher, other.key, other.mode, other.hash):
                raise ListError(f"suites {other.name} and {suite.name} are the same: take one out")


def _known(what: str, name: Any, known: Iterable[Any]) -> Any:
    """`name`, if it is one of `known`."""
    if name not in known:
        raise ListError(f"{what} {name} is unknown: use {_or(known)}")
    return name


def _or(items: Iterable[Any]) -> str:
    *first, last = map(str, items)
    return f"{', '.join(first)} or {last}" if first else last
