# SPDX-License-Identifier: Apache-2.0
"""The measures of IKE by the names of their tests."""

from __future__ import annotations

from collections.abc import Callable

from sallyport.backend import Trial, TrialResult
from sallyport.ike import dead_peer, first_packet, half_open, rekeys, tunnels
from sallyport.ike.gateways import Boxes

Measure = Callable[[Trial, Boxes], TrialResult]

MEASURES: dict[str, Measure] = {
    "ike-tunnels": tunnels.measure,
    "ike-first-packet": first_packet.measure,
    "ike-rekeys": rekeys.measure,
    "ike-dead-peer": dead_peer.measure,
    "ike-half-open": half_open.measure,
}
