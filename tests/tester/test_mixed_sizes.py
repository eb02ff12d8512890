# SPDX-License-Identifier: Apache-2.0
"""Packets of 9 kB between short ones, under a chained hash, at half of line rate both ways. A
lane has a packet of 9 kB for 72 µs with SM3; short ones must not wait in the slots of lanes."""

from __future__ import annotations

import os
from contextlib import closing

import pytest

from sallyport import suites
from sallyport.backend import Setup, Trial
from sallyport.backend_sim import SimBackend
from sallyport.simulator import CRYPTO_VARIABLE

CRYPTO = os.environ.get(CRYPTO_VARIABLE, "rtl")


def check(mix: dict[int, int], mode: str) -> None:
    setup = Setup(mix, suites.parse("sm4-sm3"), mode=mode, warmup_ns=150_000, measure_ns=300_000, crypto=CRYPTO)
    with closing(SimBackend()) as backend:
        trial = backend.run_trial(Trial(setup, setup.line_fps / 2))
    assert trial.lost == trial.reordered == 0 and trial.passed


@pytest.mark.parametrize(
    "mix",
    [
        pytest.param({250: 1, 9000: 1}, id="many-of-9000"),
        pytest.param({250: 40, 9000: 1}, id="250"),
        pytest.param({64: 150, 9000: 1}, id="64"),
        pytest.param({1100: 60, 9000: 1}, id="1100"),
        pytest.param({64: 100, 1000: 20, 1100: 20, 9000: 1}, id="four-sizes"),
    ],
)
def test_half_of_line_rate_with_sm3_loses_and_reorders_nothing(mix: dict[int, int]) -> None:
    check(mix, "tunnel")


def test_half_of_line_rate_with_sm3_in_transport_mode() -> None:
    check({250: 40, 9000: 1}, "transport")
