# SPDX-License-Identifier: Apache-2.0
"""The tests of RFC 2544 and of the RFCs that extend it. Each is a module that decides the traffic
and judges the outcome.

`TESTS` has them by name. Each takes a [Case] and yields rows of `--json`; `plan` makes the cases of
a command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sallyport import stateful as connections
from sallyport.ike import MEASURES
from sallyport.rfc2544 import attack, back_to_back, ike, latency, loss, recovery, reset, stateful, throughput
from sallyport.rfc2544.case import Case

Test = Callable[[Case], Iterator[dict]]

TESTS: dict[str, Test] = {
    "throughput": throughput.rows,
    "latency": latency.rows,
    "loss": loss.rows,
    "back-to-back": back_to_back.rows,
    "recovery": recovery.rows,
    "reset": reset.rows,
    "tunnels": throughput.rows,
    "attack": attack.rows,
    **dict.fromkeys(MEASURES, ike.rows),
    **dict.fromkeys(connections.TESTS, stateful.rows),
}
"""By name. `tunnels` is throughput against the number of SAs, a case for each."""
