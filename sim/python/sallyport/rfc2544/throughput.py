"""Throughput (RFC 2544 26.1, RFC 1242 3.17): the highest load at which nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator

from sallyport.rfc2544.case import Case


def rows(case: Case) -> Iterator[dict]:
    """One row: the trial that passed at the highest load, or if none did, the last one."""
    best, trials = case.search()
    yield case.row(best or trials[-1], len(trials))
