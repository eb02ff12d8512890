# SPDX-License-Identifier: Apache-2.0
"""`./sallyport live`: TAP devices as cables of simulated boxes (docs/reference/commands.md)."""

from __future__ import annotations

from pathlib import Path

import click

from sallyport import live as live_module
from sallyport.options import chips_option, crypto_option, seed_option, threads_option


@click.command(name="live")
@click.option(
    "--xfrm",
    multiple=True,
    type=click.Path(path_type=Path),
    help="SAs and policies of a box; twice for two boxes back to back.",
)
@click.option("--red-tap", multiple=True, metavar="NAME", help="TAP at the inner port of each box in turn.")
@click.option("--black-tap", multiple=True, metavar="NAME", help="TAP at the outer port of one box alone.")
@click.option("--replay", type=click.Path(path_type=Path), help="A recording instead of TAPs.")
@click.option("--record", type=click.Path(path_type=Path), help="Every frame at every port, with its time (pcapng).")
@click.option(
    "--socket-dir", type=click.Path(path_type=Path), help="Folder of the sockets for sallyctl; a new one if not given."
)
@crypto_option
@chips_option
@threads_option
@seed_option
def live_command(
    xfrm: tuple[Path, ...],
    red_tap: tuple[str, ...],
    black_tap: tuple[str, ...],
    replay: Path | None,
    record: Path | None,
    socket_dir: Path | None,
    crypto: str,
    chips: str,
    threads: int | None,
    seed: int,
) -> None:
    """TAP devices as cables of simulated boxes: ping, curl, iperf3 or an IPsec peer
    through them."""
    live_module.run(xfrm, red_tap, black_tap, replay, record, threads, crypto, chips, seed, socket_dir)
