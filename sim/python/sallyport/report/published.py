# SPDX-License-Identifier: Apache-2.0
"""The published figures of a comparable IPsec appliance, for rows of the same frame size."""

from __future__ import annotations

from sallyport.report import cells

SIZE, THROUGHPUT_PCT, LATENCY_US = 1400, 85.94, 89


def comparison(rows: list[dict]) -> list[str]:
    """A sentence on throughput and one on latency, each where such a row has measured it."""
    mine = [row for row in rows if row["frame_size"] == SIZE]
    rates = [row["throughput_pct"] for row in mine if row["test"] == "throughput" and row["passed"]]
    delays = [row["latency_ns"]["avg"] / 1000 for row in mine if row["test"] == "latency" and row["latency_ns"]]
    said = []
    if rates:
        here = cells.span(rates, cells.percent)
        said.append(f"Throughput at {SIZE} B: here {here} % of line rate, published {THROUGHPUT_PCT} %")
    if delays:
        here = cells.span(delays, lambda value: cells.fixed(value, 2))
        said.append(f"average latency at {SIZE} B: here {here} µs, published {LATENCY_US} µs")
    return said
