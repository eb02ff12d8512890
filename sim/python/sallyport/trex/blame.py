# SPDX-License-Identifier: Apache-2.0
"""Whether TRex itself may have lost the frames that a trial missed: by its load, and by what its
ports counted."""

from __future__ import annotations

from fractions import Fraction

from sallyport.backend import Trial
from sallyport.trex import measure
from sallyport.trex.lab import Lab
from sallyport.trex.measure import Sample
from sallyport.trex.run import Run
from sallyport.trex.streams import Way

BUSY_PERCENT = 90.0  # of TRex's cores, from which on it may lose frames itself
MOSTLY = Fraction(1, 2)  # of the loss, from which on TRex's ports tell that it lost frames itself
CALIBRATED = 1.01  # times the rate that a cable carried, to which that is known


def tester(lab: Lab, trial: Trial, lost: int, run: Run, ways: list[Way], cable: dict | None) -> list[str]:
    """A sentence, or none. `cable` is what the calibration has of such frames. A burst is too short
    to tell by its load."""
    if not lost:
        return []
    found = _overloaded(trial, run, cable) if trial.burst is None else []
    unsent, uncounted = _inside(run.stats, ways, run.samples[-1])
    if unsent >= lost * MOSTLY:
        found.append(f"its ports sent {unsent} frames fewer than its streams")
    if uncounted >= lost * MOSTLY:
        found.append(f"{uncounted} frames more reached its ports than it counted")
    return [f"{lab.where} may have lost frames by itself: {', '.join(found)}"] if found else []


def _overloaded(trial: Trial, run: Run, cable: dict | None) -> list[str]:
    """What tells that the load was too much for TRex."""
    busy = {"sending": run.busiest.get("cpu_util", 0.0), "receiving": run.busiest.get("rx_cpu_util", 0.0)}
    found = [f"its {name} cores were {percent:.0f} % busy" for name, percent in busy.items() if percent >= BUSY_PERCENT]
    if full := int(measure.number(run.stats.get("global", {}).get("queue_full"))):
        found.append(f"it found its own queue full {full} times")
    if cable and not cable["bounded"] and max(trial.fps, trial.then_fps or 0) > cable["fps"] * CALIBRATED:
        found.append(f"a cable carried {cable['fps']:,.0f} frames a second")
    return found


def _inside(stats: dict, ways: list[Way], last: Sample) -> tuple[int, int]:
    """Frames that TRex's streams count and its ports did not send; and those that reached its ports
    and that it did not count, with all frames of others."""

    def beyond(port: int, field: str, counted: int, sign: int) -> int:
        return max(0, sign * (int(measure.number(stats.get(str(port), {}).get(field))) - counted))

    directions = list(zip(ways, last.tx, last.rx, strict=True))
    return (
        sum(beyond(way.tx_port, "opackets", tx, -1) for way, tx, _ in directions),
        sum(beyond(way.rx_port, "ipackets", rx, 1) for way, _, rx in directions),
    )
