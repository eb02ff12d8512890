# SPDX-License-Identifier: Apache-2.0
"""Latency (RFC 2544 26.2, RFC 1242 3.8) at the throughput and at parts of it."""

from __future__ import annotations

from collections.abc import Iterator

from sallyport.rfc2544.case import Case


def rows(case: Case) -> Iterator[dict]:
    """A row for each part of the throughput; without a throughput, for each part of the search's
    upper bound."""
    whole = case.throughput()[0] or case.bound
    for part in case.options.latency_at:
        yield case.row(case.trial(whole * part), of_throughput_pct=float(100 * part))
