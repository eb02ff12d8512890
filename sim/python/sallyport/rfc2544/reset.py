# SPDX-License-Identifier: Apache-2.0
"""Reset recovery (RFC 2544 26.6, RFC 6201): how long a box carries nothing after each kind
of reset."""

from __future__ import annotations

from collections.abc import Iterator

from sallyport.rfc2544.case import Case

# A loss later than this part of the measured interval: there is no telling when that would end.
ENDLESS = 0.95


def rows(case: Case) -> Iterator[dict]:
    """A row for each kind of reset that the tester's boxes have, at the throughput.

    `outage_ns` is RFC 6201 4's by time: from the last frame before to the first one after; null if
    frames were lost to the end.
    """
    throughput, trials = case.throughput()
    for kind in case.capabilities.resets:
        result = case.trial(throughput or case.bound, reset=kind)
        endless = result.last_loss_ns is not None and result.last_loss_ns > case.setup.measure_ns * ENDLESS
        yield case.row(result, trials + 1, throughput, reset=kind, outage_ns=None if endless else result.outage_ns)
