# SPDX-License-Identifier: Apache-2.0
"""`./sallyport calibrate`: measures TRex through a cable that replaces the boxes
(docs/how-to/lab.md)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click

from sallyport import limits, report, suites
from sallyport.backend import Setup, Trial, TrialResult
from sallyport.errors import CheckFailed, InputError
from sallyport.rfc2544 import search
from sallyport.trex import calibration
from sallyport.trex.trex_backend import TrexBackend

GOAL = replace(search.GOALS["rfc2544"], width=0.01)


@click.command(name="calibrate")
@click.option(
    "--lab", type=click.Path(path_type=Path), required=True, help="The lab, with a cable instead of its boxes."
)
@click.option("--frame-size", default="64,512,1400,1518", show_default=True, help="Sizes with FCS.")
@click.option("--load", type=click.FloatRange(0.0001, 100), default=100.0, show_default=True, help="Highest load, %.")
@click.option("--measure-us", type=click.IntRange(100_000), default=5_000_000, show_default=True, help="Of each trial.")
def calibrate_command(lab: Path, frame_size: str, load: float, measure_us: int) -> None:
    """Find what TRex carries and adds by itself: rate, latency and start, through a cable between
    its ports."""
    with closing(TrexBackend(lab, cable=True)) as backend:
        sizes = [_size(part) for part in frame_size.split(",")]
        # Frames are for the far port, as those of bumps in the wire are.
        plain = Setup({}, suites.parse("aes256gcm16"), mode="transport", warmup_ns=0, measure_ns=1000 * measure_us)
        setups = {size: replace(plain, mix={size: 1}, line_gbps=backend.lab.line_rate_gbps) for size in sizes}
        for setup in setups.values():
            backend.check(setup)
        found = {size: _measured(backend, setup, load / 100) for size, setup in setups.items()}
        file = calibration.place(backend.lab)
        report.write(file, calibration.text(backend.about(), backend.started(), found))
    for size, row in found.items():
        click.echo(f"{size} B: {row['fps']:,.0f} frames a second, {row['latency_ns']['avg'] / 1000:.1f} µs on average")
    click.echo(f"calibration: {file}")


def _size(text: str) -> int:
    if not text.strip().isdigit() or not limits.MIN_FRAME <= int(text) <= limits.MAX_FRAME:
        raise InputError(f"--frame-size {text!r}: give sizes of {limits.MIN_FRAME} to {limits.MAX_FRAME} bytes")
    return int(text)


def _measured(backend: TrexBackend, setup: Setup, part: float) -> dict:
    def run(fps: Fraction, measure_ns: int) -> TrialResult:
        return backend.run_trial(Trial(replace(setup, measure_ns=measure_ns), fps))

    bound = setup.line_fps * min(1, Fraction(part))
    found = search.throughput(run, bound, setup.measure_ns, GOAL)
    (size,) = setup.mix
    if not found.best:
        raise CheckFailed(
            f"{size} B: no load passes ({'; '.join(found.shown.reasons)}); see whether a cable joins the ports"
        )
    calm = run(found.fps / calibration.LATENCY_PART, setup.measure_ns)
    if not calm.fifo_ns:
        raise CheckFailed(f"{size} B: no latency frame came through; see whether a cable joins the ports")
    keys = ("min", "avg", "p50", "p99", "max")
    return {
        "fps": round(float(found.fps), 3),
        "lost": calm.lost,
        "latency_ns": {key: getattr(calm.fifo_ns, key) for key in keys},
    }
