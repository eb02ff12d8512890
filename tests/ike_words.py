"""What a line of a batch says, read strictly: every word that is not known, or stands where it must not, is an error. It knows the part of
docs/sallyctl.md that an IKE daemon needs, and is written from there alone."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

# Of docs/sallyctl.md: lengths of KEY in bytes, that of integrity or 0, and bits of the ICV.
SUITES = {
    (("aead", "rfc4106(gcm(sm4))"), 20, 0): (128,),
    (("enc", "cbc(sm4)", "auth-trunc", "hmac(sm3)"), 16, 32): (128, 256),
    (("aead", "rfc4106(gcm(aes))"), 20, 0): (128,),
    (("aead", "rfc4106(gcm(aes))"), 28, 0): (128,),
    (("aead", "rfc4106(gcm(aes))"), 36, 0): (128,),
    (("aead", "rfc4543(gcm(aes))"), 36, 0): (128,),
    (("aead", "rfc7539esp(chacha20,poly1305)"), 36, 0): (128,),
    (("enc", "cbc(aes)", "auth-trunc", "hmac(sha256)"), 16, 32): (128,),
    (("enc", "cbc(aes)", "auth-trunc", "hmac(sha256)"), 32, 32): (128,),
    (("enc", "cbc(aes)", "auth", "hmac(sha1)"), 32, 20): (96,),
    (("enc", "rfc3686(ctr(aes))", "auth-trunc", "hmac(sha256)"), 20, 32): (128,),
    (("enc", "rfc3686(ctr(aes))", "auth-trunc", "hmac(sha256)"), 36, 32): (128,),
    (("enc", "ecb(cipher_null)", "auth-trunc", "hmac(sha256)"), 0, 32): (128,),
}


class Refused(Exception):
    """A sentence for whoever asked."""


@dataclass(frozen=True)
class State:
    """One SA."""

    src: str
    dst: str
    spi: int
    reqid: int = 0
    mode: str = ""
    dir: str = ""
    window: int = 0
    flags: frozenset[str] = frozenset()
    extra: frozenset[str] = frozenset()
    tfcpad: int = 0
    limits: dict[str, int] = field(default_factory=dict)
    encap: tuple[int, int] | None = None
    suite: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Policy:
    """One policy: `name` is its selector and direction, sorted by word."""

    name: tuple[tuple[str, str], ...]
    priority: int = 0
    action: str = ""
    tmpl: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, word: str) -> str:
        return dict(self.name)[word]


class Words:
    """Words one behind the other."""

    def __init__(self, line: str) -> None:
        self._words = shlex.split(line)

    def __bool__(self) -> bool:
        return bool(self._words)

    def take(self) -> str:
        if not self._words:
            raise Refused("the line ends too early")
        return self._words.pop(0)

    def peek(self) -> str:
        return self._words[0] if self._words else ""

    def expect(self, *choices: str) -> str:
        word = self.take()
        if word not in choices:
            raise Refused(f"{word!r} is none of {choices}")
        return word

    def number(self, least: int = 0, most: int = 2**32 - 1) -> int:
        word = self.take()
        value = int(word, 0)
        if not least <= value <= most:
            raise Refused(f"{word} is not {least} to {most}")
        return value

    def address(self) -> str:
        return str(ip_address(self.take()))

    def run_of(self, *known: str) -> frozenset[str]:
        found = set()
        while self.peek() in known:
            found.add(self.take())
        if not found:
            raise Refused(f"{self.peek()!r} is no flag")
        return frozenset(found)


def state_name(words: Words) -> tuple[str, str, int]:
    """`src A dst B proto esp spi N`."""
    words.expect("src")
    src = words.address()
    words.expect("dst")
    dst = words.address()
    words.expect("proto")
    words.expect("esp")
    words.expect("spi")
    return src, dst, words.number(256)


def _algorithms(words: Words, kind: str) -> dict[str, object]:
    def key() -> str:
        text = words.take()
        return bytes.fromhex(text.removeprefix("0x")).hex() if text else ""

    suite, keys = [kind, words.take()], [key()]
    if kind == "enc":
        suite += [words.expect("auth", "auth-trunc"), words.take()]
        keys.append(key())
    bits = words.number() if suite[-2] in ("aead", "auth-trunc") else 96
    lengths = [len(k) // 2 for k in keys] + [0]
    if bits not in SUITES.get((tuple(suite), lengths[0], lengths[1]), ()):
        raise Refused(f"no suite {suite} with keys of {lengths} bytes and {bits} bits")
    return {"suite": tuple(suite), "keys": tuple(keys)}


def state(words: Words) -> State:
    """What follows `xfrm state add`."""
    src, dst, spi = state_name(words)
    known: dict[str, object] = {}
    limits: dict[str, int] = {}
    readers: dict[str, Callable[[], object]] = {
        "reqid": lambda: words.number(1),
        "mode": lambda: words.expect("tunnel", "transport"),
        "dir": lambda: words.expect("in", "out"),
        "replay-window": lambda: words.number(0, 4096),
        "flag": lambda: words.run_of("esn", "noecn", "nopmtudisc"),
        "extra-flag": lambda: words.run_of("dont-encap-dscp"),
        "tfcpad": lambda: words.number(20, 9582),
    }
    fields = {"replay-window": "window", "flag": "flags", "extra-flag": "extra"}
    while words:
        word = words.take()
        if word in ("aead", "enc"):
            known |= _algorithms(words, word)
        elif word == "limit":
            name = words.expect("byte-soft", "byte-hard", "packet-soft", "packet-hard")
            limits[name] = words.number(1, 2**56 - 1)
        elif word == "encap":
            words.expect("espinudp")
            known["encap"] = (words.number(1, 65535), words.number(1, 65535))
            if ip_address(words.take()).version != ip_address(dst).version:
                raise Refused("the original address is of another version")
        elif word in readers and fields.get(word, word) not in known:
            known[fields.get(word, word)] = readers[word]()
        else:
            raise Refused(f"unknown or repeated word {word!r}")
    made = State(src, dst, spi, limits=limits, **known)  # pyright: ignore[reportArgumentType]
    if not made.suite or not made.mode or not made.dir:
        raise Refused("algorithms, mode or direction are missing")
    if 0 < made.window < 64 or ("esn" in made.flags and not made.window):
        raise Refused(f"a window of {made.window} packets")
    if made.encap and made.mode == "transport":
        raise Refused("encap in transport mode")
    return made


def policy_name(words: Words) -> tuple[tuple[str, str], ...]:
    """`src … dst … proto … dir …`, in this order."""
    name = []
    for word in ("src", "dst", "proto", "sport", "dport", "type", "code", "dir"):
        if words.peek() != word:
            if word in ("src", "dst", "dir"):
                raise Refused(f"{word} is missing")
            continue
        words.take()
        value = words.take()
        if word in ("src", "dst"):
            first, _, last = value.partition("-")
            value = f"{ip_address(first)}-{ip_address(last)}" if last else str(ip_network(value))
        if word == "dir" and value not in ("in", "out", "fwd"):
            raise Refused(f"direction {value!r}")
        name.append((word, value))
    return tuple(name)


def policy(words: Words) -> Policy:
    """What follows `xfrm policy update`."""
    name = policy_name(words)
    words.expect("priority")
    priority = words.number()
    if words.expect("tmpl", "action") == "action":
        made = Policy(name, priority, words.expect("allow", "block"))
    else:
        tmpl = {}
        while words:
            word = words.expect("src", "dst", "proto", "reqid", "mode")
            tmpl[word] = words.take()
        if tmpl["proto"] != "esp" or (tmpl["mode"] == "tunnel") != ("src" in tmpl and "dst" in tmpl):
            raise Refused(f"template {tmpl}")
        made = Policy(name, priority, tmpl=tuple(sorted(tmpl.items())))
    if words:
        raise Refused(f"{words.peek()!r} too much")
    return made
