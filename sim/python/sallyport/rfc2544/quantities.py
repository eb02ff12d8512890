# SPDX-License-Identifier: Apache-2.0
"""Quantities as the command line has them."""

from __future__ import annotations

from fractions import Fraction

from sallyport.errors import InputError

MIN_LOAD = Fraction(1, 10_000)  # percent: 149 frames of 64 B a second at 100 Gb/s
OBJECTS = (1, 1 << 30)  # bytes


def percent(option: str, text: str, whole: str) -> Fraction:
    """A percentage as a part of the whole."""
    try:
        value = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{option} {text!r}: give a number of percent") from None
    if not MIN_LOAD <= value <= 100:
        raise InputError(f"{option} {text}: choose {float(MIN_LOAD):f} to 100 percent of {whole}")
    return value / 100


def objects(text: str | None) -> tuple[int, ...]:
    """The sizes of --object-size in bytes; none if it was not given."""
    if not text:
        return ()
    least, most = OBJECTS
    found = [_bytes(part) for part in text.split(",")]
    if any(size is None or not least <= size <= most for size in found):
        raise InputError(f"--object-size {text!r}: give sizes of {least} to {most} bytes with commas, such as 1024,64k")
    return tuple(dict.fromkeys(size for size in found if size))


def _bytes(text: str) -> int | None:
    """A number of bytes, or of KiB with a k behind it; None if it is none."""
    number, times = (text.strip()[:-1], 1024) if text.strip().endswith("k") else (text.strip(), 1)
    return int(number) * times if number.isdecimal() and number.isascii() else None
