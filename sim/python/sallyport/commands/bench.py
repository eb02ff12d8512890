# SPDX-License-Identifier: Apache-2.0
"""`./sallyport bench`: the speed of the simulator (docs/reference/commands.md)."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sallyport import bench as bench_module
from sallyport import report, suites
from sallyport.backend import Setup
from sallyport.options import SUITE_HELP
from sallyport.rfc2544.sizes import parse as parse_sizes
from sallyport.simulator import CRYPTO


@click.command(name="bench")
@click.option("--suite", default="aes256gcm16", show_default=True, help=SUITE_HELP)
@click.option("--frame-size", default="1400,64", show_default=True, help="Sizes with FCS, and imix.")
@click.option(
    "--crypto",
    type=click.Choice([*CRYPTO, "both"]),
    default="both",
    show_default=True,
    help="The simulation to measure.",
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="The best round counts.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the figures here.")
def bench_command(suite: str, frame_size: str, crypto: str, rounds: int, json_file: Path | None) -> None:
    """How fast the simulator runs on this machine, beside the same chips lock-stepped cycle
    by cycle."""
    chosen = suites.parse(suite)
    sizes = parse_sizes(frame_size, Setup({}, chosen))
    result = bench_module.run(chosen, sizes, list(CRYPTO) if crypto == "both" else [crypto], rounds)
    bench_module.table(result)
    if json_file:
        report.write(json_file, json.dumps(result, indent=2) + "\n")
