# SPDX-License-Identifier: Apache-2.0
"""Throughput (RFC 2544 26.1, RFC 1242 3.17): the highest load without loss, or with no more loss
than the goal allows."""

from __future__ import annotations

from collections.abc import Iterator

from sallyport.rfc2544.case import Case


def rows(case: Case) -> Iterator[dict]:
    """One row: a good trial of the highest load, or the last trial if none was good; of repeated
    searches the median."""
    runs = [case.searched(), *(case.search() for _ in range(case.options.repeats - 1))]
    found = sorted(runs, key=lambda each: each.fps)[(len(runs) - 1) // 2]
    lossy = [trial for trial in found.at_load if not case.options.goal.met(trial)]
    yield case.row(
        found.shown,
        sum(len(each.trials) for each in runs),
        found.fps,
        passed=found.best is not None,
        loss_tolerance_pct=100 * case.options.goal.loss,
        trials_at_load=len(found.at_load),
        trials_lossy=len(lossy),
        throughput_runs_pct=[round(float(100 * each.fps / case.setup.line_fps), 4) for each in runs],
    )
