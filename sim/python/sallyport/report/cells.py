# SPDX-License-Identifier: Apache-2.0
"""Figures of rows as text: every table writes the same figure in the same way."""

from __future__ import annotations

import math

DASH = "—"  # not measured, or without a meaning here


def count(value: float | None) -> str:
    """A whole number, thousands apart."""
    return DASH if value is None else f"{value:,.0f}"


def fixed(value: float | None, digits: int) -> str:
    """A number with so many decimals, thousands apart."""
    return DASH if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """A share in percent, with the two decimals that a search to 0.1 % needs; a small share has
    three digits."""
    if value and abs(value) < 1:
        digits = 2 - math.floor(math.log10(abs(value)))
        return f"{value:.{digits}f}"
    return fixed(value, 2)


def micros(nanoseconds: float | None, digits: int = 3) -> str:
    """Nanoseconds as microseconds."""
    return DASH if nanoseconds is None else fixed(nanoseconds / 1000, digits)


def latency(row: dict, key: str, column: str = "latency_ns", digits: int = 3) -> str:
    """One figure of a latency in microseconds."""
    return micros(row[column] and row[column][key], digits)


def corrected(row: dict, unit: str, digits: int = 0) -> str:
    """A figure of RFC 9004's corrected buffer, which has none where no burst was too long."""
    return DASH if row["unlimited"] else fixed(row[f"corrected_{unit}"], digits)


def figure(row: dict, value: float | None) -> str:
    """A figure of a test of IKE or of connections, as its unit is written."""
    return count(value) if row["unit"] in ("count", "ns") else fixed(value, 2)


def size(row: dict) -> str:
    """The frame size as it was asked for."""
    return "IMIX" if row["frame_size"] == "imix" else str(row["frame_size"])


def sized(row: dict) -> str:
    """The same in running text."""
    return size(row) if isinstance(row["frame_size"], str) else f"{size(row)} B"


def result(verdict: bool | None) -> str:
    """A verdict in the word that the field uses."""
    return DASH if verdict is None else "Passed" if verdict else "Failed"


def span(values: list[float], show) -> str:
    """`"2.49 to 4.36"`, or one figure if all are the same."""
    low, high = show(min(values)), show(max(values))
    return low if low == high else f"{low} to {high}"
