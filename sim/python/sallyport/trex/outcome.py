# SPDX-License-Identifier: Apache-2.0
"""What TRex's counters say of a trial: its figures, and what makes them a fluke."""

from __future__ import annotations

from fractions import Fraction

from sallyport.backend import Trial, TrialResult
from sallyport.trex import blame, measure
from sallyport.trex.lab import Lab
from sallyport.trex.measure import Delays
from sallyport.trex.run import Run
from sallyport.trex.streams import Load, Way

# Part of the intended load. If the tester offers less, the tester and not the box was the limit.
OFFERED_ENOUGH = Fraction(999, 1000)
# When traffic began, a load changed or the last frame left is known to so much.
CHANGE_SECONDS = Fraction(1, 10)


def of(
    lab: Lab, asked: Trial, trial: Trial, ways: list[Way], loads: list[Load], run: Run, seconds: Fraction, about: dict
) -> TrialResult:
    """The result of a trial that was to send for `seconds`; `asked` is the trial that it
    stands for, `about` as of [tester]."""
    last = run.samples[-1]
    latency = [load.latency_groups for load in loads]
    groups = [group for mine in latency for group in mine]
    delays = measure.delays(run.stats, groups, run.highest_us, run.averages_us)
    missing = measure.lost(run.stats, ways, latency, last)
    change = run.at_change
    if change:
        sent, counted = change.tx, Fraction(round(change.at_ns), 10**9)
    else:
        sent, counted = last.tx, _sending(run, seconds, trial.burst is not None)
    each = Fraction(sum(sent), len(ways))
    offered = each / counted
    # What it offered at most, for the time is known to some part of a second alone.
    surely = each / max(counted - CHANGE_SECONDS, counted / 2 if change else min(counted, seconds))
    checks = _checks(lab, trial, ways, run, delays, bool(groups))
    if surely < OFFERED_ENOUGH * trial.fps:
        checks.append(
            f"{lab.where} sent {float(100 * offered / trial.fps):.2f} % of the intended load: give it more cores (-c), "
            "or choose a lower --load"
        )
    checks += blame.tester(lab, asked, sum(missing), run, ways, about["cable"])
    outage = None
    if trial.reset:
        # RFC 6201 4's loss method: counters are read too seldom to tell when the first packet
        # after the reset came.
        outage = max(missing) / float(trial.fps) * 1e9
        if run.silent():
            checks.append(f"{lab.boxes[0].name} forwarded nothing at the end of the trial; choose a longer one")
    return TrialResult(
        intended_fps=trial.fps,
        offered_fps=offered,
        tx_frames=sum(last.tx),
        rx_frames=sum(last.rx),
        lost=sum(missing),
        reordered=delays.reordered,
        duplicated=delays.duplicated,
        corrupted=int(measure.number(run.stats.get("latency", {}).get("global", {}).get("bad_hdr"))),
        queue_grew=False,  # not to be seen from outside a box
        lifo_ns=None,
        fifo_ns=delays.latency,
        jitter_ns=delays.jitter_ns,
        histogram=delays.histogram,
        last_loss_ns=measure.last_loss_ns(run.samples),
        outage_ns=outage,
        checks=checks,
        tester=about,
    )


def _sending(run: Run, seconds: Fraction, burst: bool) -> Fraction:
    """Seconds in which the frames were sent: as asked, unless the looks tell of others.

    TRex ends a trial itself, exactly, but by the clock of its scheduler. Where a core is too slow
    that clock is late, and all frames leave, later. A burst ends with its last frame.
    """
    before, after = (Fraction(each) for each in measure.sending_s(run.samples))
    if burst:
        return max(before, min(seconds, after))
    return before if before > seconds + CHANGE_SECONDS else seconds


def _checks(lab: Lab, trial: Trial, ways: list[Way], run: Run, delays: Delays, timed: bool) -> list[str]:
    """What its counters contradict; `timed`: it had latency frames."""
    last = run.samples[-1]
    checks = [
        f"{lab.where}, port {way.rx_port}, received {rx - tx} frames more than port {way.tx_port} sent: "
        "somebody else sends, or frames were doubled"
        for way, tx, rx in zip(ways, last.tx, last.rx, strict=True)
        if rx - tx > delays.duplicated and not way.by_port  # which counts frames of others, too
    ]
    if delays.duplicated:
        checks.append(
            f"{delays.duplicated} latency frames came twice: others, which have no numbers, may hide lost ones"
        )
    if trial.burst is not None and any(tx != trial.burst for tx in last.tx):
        checks.append(f"{lab.where} sent {' and '.join(map(str, last.tx))} frames of a burst of {trial.burst}")
    if delays.latency and delays.latency.max > last.at_ns:
        checks.append(
            f"a latency frame took {delays.latency.max / 1e9:,.0f} s by the time in it, longer than the trial: "
            "frames come out damaged"
        )
    if timed and delays.latency is None and not trial.reset:
        checks.append(f"{lab.where} received none of its latency frames")
    checks += [
        f"{lab.where}, port {way.rx_port}, counted {errors} receive errors of its own"
        for way in ways
        if (errors := int(measure.number(run.stats.get(str(way.rx_port), {}).get("ierrors"))))
    ]
    return checks


def tester(about: dict, run: Run) -> dict:
    """What rows say of who measured them; all trials have the same `about`."""
    busy = {f"{name}_pct": round(run.busiest.get(f"{name}_util", 0.0), 1) for name in ("cpu", "rx_cpu")}
    full = int(measure.number(run.stats.get("global", {}).get("queue_full")))
    return {"name": "TRex", **about, **busy, "queue_full": full}
