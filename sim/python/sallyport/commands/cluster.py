# SPDX-License-Identifier: Apache-2.0
"""`./sallyport cluster`: boxes that are one gateway without a dispatcher
(docs/reference/gateway-cluster.md)."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sallyport import report, suites
from sallyport.backend import Setup
from sallyport.cluster import table
from sallyport.cluster.boxes import parse_nodes
from sallyport.cluster.dispatch import MODES
from sallyport.cluster.throughput import Asked, rows
from sallyport.errors import CheckFailed, InputError
from sallyport.mixes import CLUSTER_MIX
from sallyport.options import core_mhz_option, crypto_option, seed_option, threads_option
from sallyport.rfc2544.sizes import Sizes
from sallyport.rfc2544.sizes import parse as parse_sizes
from sallyport.simulator import TABLES, simulation

SIZE_HELP = "Sizes with FCS, mix (mean 1188 B, standard deviation 525 B), or as of rfc2544."
SHARED = [mode for mode in MODES if mode != "off"]


@click.command(name="cluster")
@click.option("--nodes", default="1,2,4,6", show_default=True, help="Nodes of a side, 1 to 128, several with commas.")
@click.option("--dispatch", type=click.Choice([*SHARED, "both"]), default="both", show_default=True)
@click.option("--sizes", default="512,1024,1446,mix", show_default=True, help=SIZE_HELP)
@click.option("--suite", default="sm4-sm3", show_default=True, help=f"One of {', '.join(suites.SUITES)}.")
@click.option("--sas", type=click.IntRange(1, 1024), default=256, show_default=True, help="SAs, each with one flow.")
@click.option("--elephant", is_flag=True, help="One SA with one flow as well.")
@click.option("--direction", type=click.Choice(["encrypt", "both"]), default="encrypt", show_default=True)
@click.option(
    "--window", type=click.IntRange(0, 4096), default=4096, show_default=True, help="Of anti-replay; 0: none."
)
@click.option(
    "--width", type=click.FloatRange(0.0005, 0.2), default=0.01, show_default=True, help="Of the last interval."
)
@click.option("--warmup-us", type=click.IntRange(1), default=30, show_default=True)
@click.option("--measure-us", type=click.IntRange(1), default=150, show_default=True)
@click.option(
    "--tables",
    type=click.Choice(list(TABLES)),
    default="slow",
    show_default=True,
    help="Slow: one lane of 32 slots, so that it and no wire is the limit.",
)
@crypto_option
@core_mhz_option
@threads_option
@seed_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the rows here.")
def cluster_command(
    nodes: str,
    dispatch: str,
    sizes: str,
    suite: str,
    sas: int,
    elephant: bool,
    direction: str,
    window: int,
    width: float,
    warmup_us: int,
    measure_us: int,
    tables: str,
    crypto: str,
    core_mhz: float,
    threads: int | None,
    seed: int,
    quiet: bool,
    json_file: Path | None,
) -> None:
    """Throughput of N boxes that share their SAs and filter what a switch floods to all of them."""
    setup = Setup(
        {},
        (suites.find(suite),),
        direction=direction,
        sas=sas,
        tables=tables,
        crypto=crypto,
        core_mhz=core_mhz,
        seed=seed,
        threads=threads,
        warmup_ns=1000 * warmup_us,
        measure_ns=1000 * measure_us,
    )
    asked = Asked(
        parse_nodes(nodes),
        SHARED if dispatch == "both" else [dispatch],
        [sas, *([1] if elephant and sas > 1 else [])],
        _sizes(sizes, setup),
        window,
        width,
    )
    simulation(crypto, "core", tables)
    found: list[dict] = []
    for row in rows(setup, asked, lambda text: None if quiet else click.echo(text, err=True)):
        found.append(row)
        if json_file:
            report.write(json_file, json.dumps(found, indent=2) + "\n")
    table.show(f"{suite}, {tables} chips at {core_mhz:g} MHz, one direction of {direction}", found)
    failed = [row for row in found if not row["passed"] or row["checks"]]
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(found)} searches found no load that passes, or a trial broke a check")


def _sizes(text: str, setup: Setup) -> Sizes:
    """As of `rfc2544`, and `mix`."""
    found: Sizes = []
    for entry in text.split(","):
        try:
            found += [("mix", CLUSTER_MIX)] if entry.strip() == "mix" else parse_sizes(entry, setup)
        except InputError as error:
            raise InputError(f"{error.message.replace('--frame-size', '--sizes')}; or mix") from None
    return found
