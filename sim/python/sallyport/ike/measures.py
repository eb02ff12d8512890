# SPDX-License-Identifier: Apache-2.0
"""The measures of IKE by the names of their tests."""

from __future__ import annotations

from collections.abc import Callable

from sallyport.backend import Trial, TrialResult
from sallyport.ike import dead_peer, first_packet, half_open, rekeys, tunnels
from sallyport.ike.gateways import Boxes, OwnBoxes

# Those that any boxes may undergo, and all.
ANYWHERE: dict[str, Callable[[Trial, Boxes], TrialResult]] = {
    "ike-tunnels": tunnels.measure,
    "ike-first-packet": first_packet.measure,
    "ike-rekeys": rekeys.measure,
}
MEASURES: dict[str, Callable[[Trial, OwnBoxes], TrialResult]] = {
    **ANYWHERE,
    "ike-dead-peer": dead_peer.measure,
    "ike-half-open": half_open.measure,
}
