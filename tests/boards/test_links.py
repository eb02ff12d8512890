# SPDX-License-Identifier: Apache-2.0
"""The ways of words between a core and its Aurora cores, by one channel and by two."""

from __future__ import annotations

import pytest

from tests.boards.simulation import run_part


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("channels", [1, 2])
def test_aurora_link(channels: int, seed: int):
    run_part(f"AuroraLink{channels}", "aurora_link", seed=seed, channels=channels)
