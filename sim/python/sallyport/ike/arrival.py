# SPDX-License-Identifier: Apache-2.0
"""Frames into a tunnel that is not there yet, until one arrives behind it."""

from __future__ import annotations

import time
from dataclasses import replace

from sallyport.backend import TrialResult
from sallyport.ike.gateways import Boxes

PAUSE_S = 0.1  # between frames: a simulation that sends is slow to answer at its registers


def until_one_arrives(boxes: Boxes, patience_s: float) -> tuple[TrialResult, float]:
    """The last frame's trial with the counts of all that were sent, and when that ended, by the
    monotonic clock. None arrived if it says so."""
    end, sent = time.monotonic() + patience_s, 0
    while True:
        result = boxes.one_frame()
        now, sent = time.monotonic(), sent + 1
        if result.rx_frames or now > end:
            return replace(result, tx_frames=sent, lost=sent - result.rx_frames), now
        time.sleep(PAUSE_S)
