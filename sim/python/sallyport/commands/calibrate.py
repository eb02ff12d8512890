# SPDX-License-Identifier: Apache-2.0
"""`./sallyport calibrate`: measures TRex through a cable that replaces the boxes
(docs/how-to/lab.md)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click

from sallyport import report, suites
from sallyport.backend import Setup, Trial, TrialResult
from sallyport.errors import CheckFailed
from sallyport.rfc2544 import search, sizes
from sallyport.trex import calibration
from sallyport.trex.trex_backend import TrexBackend

GOAL = replace(search.GOALS["rfc2544"], width=0.01)


@click.command(name="calibrate")
@click.option(
    "--lab", type=click.Path(path_type=Path), required=True, help="The lab, with a cable instead of its boxes."
)
@click.option(
    "--frame-size", default="64,512,1400,1518", show_default=True, help="As of rfc2544: sizes with FCS, mixes."
)
@click.option("--load", type=click.FloatRange(0.0001, 100), default=100.0, show_default=True, help="Highest load, %.")
@click.option("--measure-us", type=click.IntRange(100_000), default=5_000_000, show_default=True, help="Of each trial.")
def calibrate_command(lab: Path, frame_size: str, load: float, measure_us: int) -> None:
    """Find what TRex carries and adds by itself: rate, latency and start, through a cable between
    its ports."""
    with closing(TrexBackend(lab, cable=True)) as backend:
        # Frames are for the far port, as those of bumps in the wire are.
        plain = Setup({}, suites.parse("aes256gcm16"), mode="transport", warmup_ns=0, measure_ns=1000 * measure_us)
        plain = replace(plain, line_gbps=backend.lab.line_rate_gbps)
        setups = {label: replace(plain, mix=mix) for label, mix in sizes.parse(frame_size, plain)}
        for setup in setups.values():
            backend.check(setup)
        named = {f"{label} B" if label.isdigit() else label: each for label, each in setups.items()}
        rows = {label: _measured(backend, label, setup, load / 100) for label, setup in named.items()}
        file = calibration.place(backend.lab)
        found = {calibration.name(named[label].mix): row for label, row in rows.items()}
        report.write(file, calibration.text(backend.about(), backend.started(), found))
    for label, row in rows.items():
        least = "at least " if row["bounded"] else ""
        average = row["latency_ns"]["avg"] / 1000
        click.echo(f"{label}: {least}{row['fps']:,.0f} frames a second, {average:.1f} µs on average")
    click.echo(f"calibration: {file}")


def _measured(backend: TrexBackend, label: str, setup: Setup, part: float) -> dict:
    """What the file has of one size or mix, which messages call `label`."""

    def run(fps: Fraction, measure_ns: int) -> TrialResult:
        return backend.run_trial(Trial(replace(setup, measure_ns=measure_ns), fps))

    bound = setup.line_fps * min(1, Fraction(part))
    found = search.throughput(run, bound, setup.measure_ns, GOAL)
    if not found.best:
        raise CheckFailed(
            f"{label}: no load passes ({'; '.join(found.shown.reasons)}); see whether a cable joins the ports"
        )
    calm = run(found.fps / calibration.LATENCY_PART, setup.measure_ns)
    if not calm.fifo_ns:
        raise CheckFailed(f"{label}: no latency frame came through; see whether a cable joins the ports")
    keys = ("min", "avg", "p50", "p99", "max")
    return {
        "fps": round(float(found.fps), 3),
        "bounded": float(found.fps) >= float(bound),
        "lost": calm.lost,
        "latency_ns": {key: getattr(calm.fifo_ns, key) for key in keys},
    }
