# SPDX-License-Identifier: Apache-2.0
"""What TRex's counters say of a stateful trial: its figures, and whether it passed.

It passes as RFC 9411 7.3.3.4 asks: of 100,000 connections at most one fails, and answers come at
95 % of the rate that was asked for, or more.
"""

from __future__ import annotations

from fractions import Fraction

from sallyport.backend import Figure, Trial, TrialResult
from sallyport.errors import CheckFailed
from sallyport.stateful import Wire
from sallyport.trex.blame import BUSY_PERCENT
from sallyport.trex.connections import Connections, Look, sending_s
from sallyport.trex.lab import Lab

MAY_FAIL = Fraction(1, 100_000)  # of the connections
CONSTANT = Fraction(95, 100)  # of the rate asked for
ENOUGH = Fraction(99, 100)  # of the connections asked for; below, TRex and not a box was the limit
# Of the measured interval, that looks must cover for a rate of it.
COVERED = 0.9
# TRex's own refusals, which are no fault of a box.
OWN = {
    "err_c_nf_throttled": "began connections too slowly",
    "err_s_nf_throttled": "took connections too slowly",
    "err_c_tuple_err": "ran out of addresses and ports",
    "err_flow_overflow": "had too many connections at once",
    "err_no_memory": "had no memory for connections",
    "err_dct": "gave two connections the same addresses and ports",
    "rss_redirect_drops": "dropped packets between its cores",
    "tcps_nombuf": "had no buffers for packets",
}


def of(lab: Lab, trial: Trial, wire: Wire, made: Connections, about: dict) -> TrialResult:
    """The result; rates are of the measured interval, counts of the whole trial."""
    first, end, last = made.looks[0], made.looks[-1], made.last
    assert last  # which a trial that came to its end has
    seconds = end.at_s - first.at_s
    if seconds < COVERED * trial.setup.measure_ns / 1e9:
        raise CheckFailed(
            f"{lab.where} answered too late to measure {trial.setup.measure_ns / 1e9:g} s of a trial; choose a longer --measure-us"
        )
    established, answered = (
        (end.client.get(name, 0) - first.client.get(name, 0)) / seconds for name in ("tcps_connects", "tcps_rcvbyte")
    )
    asked = float(wire.connections(trial.fps)) * wire.answer_bytes
    attempts = int(last.client.get("tcps_connattempt", 0))
    failed = max(0, attempts - int(last.closed))
    figures = [
        Figure("connections", established, "1/s", "tester"),
        Figure("transactions", answered / wire.transaction_bytes, "1/s", "tester"),
        Figure("answers", 8 * answered / 1e9, "Gb/s", "tester"),
        Figure("open at once, at most", max(look.open for look in made.looks), "count", ""),
        Figure("segments sent again", last.both("tcps_sndrexmitpack"), "count", ""),
        Figure("connections failed", failed, "count", ""),
    ]
    sent, arrived = last.frames
    return TrialResult(
        intended_fps=trial.fps,
        offered_fps=attempts * wire.frames / Fraction(sending_s(trial)),
        tx_frames=sent,
        rx_frames=arrived,
        lost=max(0, sent - arrived),
        reordered=0,
        duplicated=0,
        corrupted=0,
        queue_grew=False,
        lifo_ns=None,
        fifo_ns=None,
        jitter_ns=None,
        histogram=[],
        figures=figures,
        resends=True,
        served=min(1.0, answered / asked),
        checks=_judged(attempts, failed, answered / asked, _own(lab, trial, wire, made, last)),
        tester={
            "name": "TRex",
            **about,
            **{f"{name}_pct": round(percent, 1) for name, percent in made.busiest.items()},
            "queue_full": made.queue_full,
        },
    )


def _judged(attempts: int, failed: int, served: float, own: list[str]) -> list[str]:
    """Why it did not pass, with `own`, TRex's part in that."""
    if not attempts:
        return ["no connection was begun", *own]
    found = [f"{failed} of {attempts} connections failed"] if failed > MAY_FAIL * attempts else []
    if served < CONSTANT:
        found.append(f"{100 * served:.1f} % of the rate asked for was served")
    return [*found, *own] if found else []


def _own(lab: Lab, trial: Trial, wire: Wire, made: Connections, last: Look) -> list[str]:
    """What TRex itself did not manage. A trial without failures may have some of it."""
    found = [f"{what} ({int(last.both(name))})" for name, what in OWN.items() if last.both(name)]
    begun = Fraction(last.client.get("tcps_connattempt", 0)) / Fraction(sending_s(trial))
    if begun < ENOUGH * (asked := wire.connections(trial.fps)):
        found.append(f"began {float(100 * begun / asked):.1f} % of the connections asked for")
    if made.queue_full:
        found.append(f"found its own queue full {made.queue_full} times")
    if made.port_errors:
        found.append(f"counted {made.port_errors} errors at its ports")
    if (busy := max(made.busiest.values())) >= BUSY_PERCENT:
        found.append(f"was {busy:.0f} % busy")
    return [f"{lab.where} {', '.join(found)}"] if found else []
