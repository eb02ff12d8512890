# SPDX-License-Identifier: Apache-2.0
"""Tests of IKE (draft-ietf-bmwg-ipsec-meth-05) with real IKE daemons: a row for each figure of
a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from statistics import median

from sallyport.backend import COUNTS, TrialResult
from sallyport.rfc2544.case import Case

DIGITS = 3  # of a figure, behind the point


def rows(case: Case) -> Iterator[dict]:
    """Each run begins with new daemons. The rows have the median of the runs, and the counts of all
    runs together."""
    runs = [
        case.trial(case.bound, ike=case.test, ike_flood=case.options.ike_flood) for _ in range(case.options.ike_trials)
    ]
    together = _together(runs)
    for number, figure in enumerate(runs[0].figures):
        values = [run.figures[number].value for run in runs]
        there = [round(value, DIGITS) for value in values if value is not None]
        yield case.row(
            together,
            len(runs),
            Fraction(0),  # no throughput was measured
            figure_name=figure.name,
            figure=round(median(there), DIGITS) if len(there) == len(runs) else None,
            unit=figure.unit,
            clock=figure.clock,
            figure_runs=there,
        )


def _together(runs: list[TrialResult]) -> TrialResult:
    """The last run with the counts and the sentences of all."""
    sums = {name: sum(getattr(run, name) for run in runs) for name in COUNTS}
    checks = list(dict.fromkeys(check for run in runs for check in run.checks))
    return replace(runs[-1], **sums, queue_grew=any(run.queue_grew for run in runs), checks=checks)
