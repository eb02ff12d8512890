# SPDX-License-Identifier: Apache-2.0
"""Hold the SLRs of a chip to a share of their LUTs, block RAM and URAM, on each board."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import xcvu9p

from boards import areas
from boards.board import CHIPS, Board


@click.command()
@click.argument("chip", type=click.Choice(CHIPS))
@click.argument("rtl", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("report", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--max-share", type=float, default=60, show_default=True, help="Fail above this percentage of what SLRs have."
)
def main(chip: str, rtl: Path, report: Path, max_share: float) -> None:
    """Compare what the floorplans of CHIP, in folder RTL, bind to SLRs with what these have.

    REPORT is that of synth_check.py. For SLR0 alone, for SLR0 and SLR1, and so on, it counts the
    cells that may be nowhere else.
    """
    modules, sizes = areas.hierarchy(rtl), json.loads(report.read_text())["modules"]
    failures: list[str] = []
    for board in map(Board.load, Board.names()):
        for slrs, used in areas.bound(board, chip, modules, sizes):
            share = xcvu9p.percent(used, len(slrs))
            where = " and ".join(f"SLR{slr}" for slr in slrs)
            figures = ", ".join(f"{share[key]} % {key.upper()}" for key in xcvu9p.GATED)
            click.echo(f"{board.name} {chip}: bound to {where}: {figures}")
            failures += [
                f"{board.name} {chip}: bound to {where}: {share[key]} % {key.upper()} exceed {max_share:g} %"
                for key in xcvu9p.GATED
                if share[key] > max_share
            ]
    for failure in failures:
        click.echo(failure, err=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
