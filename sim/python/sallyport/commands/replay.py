# SPDX-License-Identifier: Apache-2.0
"""`./sallyport replay`: a capture through one simulated box (docs/reference/commands.md)."""

from __future__ import annotations

from pathlib import Path

import click

from sallyport import replay as replay_module
from sallyport.options import chips_option, core_mhz_option, crypto_option, seed_option, threads_option


@click.command(name="replay")
@click.option("--xfrm", required=True, type=click.Path(path_type=Path), help="SAs and policies, an ip -batch file.")
@click.option("--red", type=click.Path(path_type=Path), help="Frames into the inner port (pcap or pcapng).")
@click.option("--black", type=click.Path(path_type=Path), help="Frames into the outer port (pcap or pcapng).")
@click.option(
    "--inject-inner", type=click.Path(path_type=Path), help="Frames from the management CPU to the inner port."
)
@click.option(
    "--inject-outer", type=click.Path(path_type=Path), help="Frames from the management CPU to the outer port."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for captures and counters.json.")
@click.option("--fault", multiple=True, help="NAME[:ARG], repeatable; --fault help lists them.")
@click.option(
    "--quiet-cycles",
    type=click.IntRange(1),
    default=32768,
    show_default=True,
    help="Cycles without a beat at any port that end the run.",
)
@crypto_option
@chips_option
@core_mhz_option
@threads_option
@seed_option
def replay_command(
    xfrm: Path,
    red: Path | None,
    black: Path | None,
    inject_inner: Path | None,
    inject_outer: Path | None,
    out: Path,
    fault: tuple[str, ...],
    quiet_cycles: int,
    crypto: str,
    chips: str,
    core_mhz: float,
    threads: int | None,
    seed: int,
) -> None:
    """Put a real capture through one box, and captures from its management CPU out of its ports."""
    injected = {chip: path for chip, path in (("inner", inject_inner), ("outer", inject_outer)) if path}
    replay_module.run(
        xfrm=xfrm,
        red=red,
        black=black,
        injected=injected,
        out=out,
        faults=fault,
        threads=threads,
        seed=seed,
        crypto=crypto,
        chips=chips,
        core_mhz=core_mhz,
        quiet_cycles=quiet_cycles,
    )
