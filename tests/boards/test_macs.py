# SPDX-License-Identifier: Apache-2.0
"""The ways of frames between a core and its 100GbE MAC."""

from __future__ import annotations

import pytest

from tests.boards.simulation import run_part

OVERFLOW = "overflow_cuts_or_leaves_out_whole_frames"
CASES = [
    "received_frames_are_the_macs",
    "bursts_of_the_mac_fit",
    "sent_frames_are_the_cores",
    "a_beat_leaves_in_every_cycle",
    "receive_resets_end_frames",
    "core_resets_leave_out_the_rest_of_frames",
    "transmit_resets_begin_with_a_frame",
    "receiver_status_is_told",
]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_mac_crossing(seed: int):
    run_part("MacCrossing", "mac_crossing", testcase=",".join(CASES), seed=seed)


@pytest.mark.parametrize("core", [6000, 9000])
def test_overflow(core: int):
    run_part("MacCrossing", "mac_crossing", testcase=OVERFLOW, core=core)
