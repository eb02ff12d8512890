# SPDX-License-Identifier: Apache-2.0
"""Same inputs, same bytes: captures and counters do not depend on the number of worker threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.reference import Tunnel
from tests.support.runs import digest, rows


def test_threads_do_not_change_a_byte(make_box, office_lan: Path) -> None:
    box = make_box(Tunnel().batch())
    runs = [box.red(office_lan, "--threads", threads, "--seed", 7) for threads in (1, 2, 2)]
    assert len({digest(run.folder) for run in runs}) == 1


REKEYS = ("--test", "latency", "--latency-at", 100, "--share", 90, "--sas", 2, "--rekeys", 2, "--measure-us", 60)
ONE_BOX = ("--boxes", 1, "--sas", 16, "--load", 30)


@pytest.mark.parametrize("arguments", [REKEYS, pytest.param(ONE_BOX, marks=pytest.mark.long)])
def test_trials_of_one_call_know_nothing_of_each_other(tmp_path: Path, arguments: tuple) -> None:
    """They share boxes that were configured once, yet each row is that of a call of its own: with
    rekeys, one box, other threads."""
    both = rows(tmp_path / "both.json", *arguments, "--frame-size", "64,1400")
    alone = [rows(tmp_path / f"{size}.json", *arguments, "--frame-size", size, "--threads", 1) for size in (64, 1400)]
    assert both == [*alone[0], *alone[1]]
    assert all(row["passed"] for row in both)
