# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have."""

from __future__ import annotations

import math

import click

from sallyport import suites
from sallyport.simulator import CHIPS, CORE_MHZ, CRYPTO, CRYPTO_VARIABLE, core_clock


def _core_clock(_context: click.Context, _parameter: click.Parameter, mhz: float) -> float:
    """The clock that the chips will have."""
    if math.isnan(mhz):
        raise click.BadParameter(f"nan is no clock; give {CORE_MHZ[0]} to {CORE_MHZ[1]}")
    return core_clock(mhz)


SUITE_HELP = f"One of {', '.join(suites.SUITES)}; or several with commas, which the SAs take in turn."

crypto_option = click.option(
    "--crypto",
    type=click.Choice(list(CRYPTO)),
    default="rtl",
    show_default=True,
    envvar=CRYPTO_VARIABLE,
    show_envvar=True,
    help="Model: lanes in C++, the same results faster.",
)
chips_option = click.option(
    "--chips",
    type=click.Choice(CHIPS),
    default="core",
    show_default=True,
    help="Shell: cores in the shell of a card, with its clocks, crossings and PCIe; slower.",
)
core_mhz_option = click.option(
    "--core-mhz",
    type=click.FloatRange(CORE_MHZ[0], CORE_MHZ[1]),
    callback=_core_clock,
    default=CORE_MHZ[1],
    show_default=True,
    help="Core clock of all chips; the next lower one of 37500/N MHz.",
)
threads_option = click.option("--threads", type=click.IntRange(1, 6), help="Worker threads; default min(chips, cores).")
seed_option = click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)
