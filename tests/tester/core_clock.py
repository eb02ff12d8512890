# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.tester.core_clock [SUITE ...]`: prints the lowest core clock at which two boxes
carry all that the wires do, without loss, by suite and frame size
(docs/explanation/performance.md).

Each cell is a search over the simulator's clocks of 37500/N MHz, with one trial a step. Lanes are
modelled: their cycles are those of the RTL.
"""

from __future__ import annotations

import sys
from contextlib import closing

from sallyport import suites
from sallyport.backend import Setup, Trial
from sallyport.backend_sim.sim_backend import SimBackend
from sallyport.simulator import CORE_MHZ

SUITES = ("aes256gcm16", "chacha20poly1305", "aes256-sha256", "sm4-sm3")
SIZES = (64, 128, 512, 1518)
TICKS = 37_500  # a microsecond


def carries(suite: str, size: int, ticks: int) -> bool:
    """Whether a full load passes with a cycle of so many ticks."""
    setup = Setup(
        {size: 1},
        suites.parse(suite),
        crypto="model",
        core_mhz=TICKS / ticks,
        warmup_ns=20_000,
        measure_ns=100_000,
    )
    with closing(SimBackend()) as backend:
        return backend.run_trial(Trial(setup, setup.ceiling * setup.line_fps)).passed


def lowest(suite: str, size: int) -> float | None:
    """The lowest clock in MHz; None if the highest one is too low."""
    fastest, slowest = TICKS // CORE_MHZ[1], TICKS // CORE_MHZ[0]
    if not carries(suite, size, fastest):
        return None
    good, bad = fastest, slowest + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if carries(suite, size, middle):
            good = middle
        else:
            bad = middle
    return TICKS / good


def main() -> None:
    print("| suite |" + "".join(f" {size} B |" for size in SIZES))
    print("|---|" + "---|" * len(SIZES))
    for suite in sys.argv[1:] or SUITES:
        cells = [lowest(suite, size) for size in SIZES]
        print(f"| {suite} |" + "".join(f" {cell:.0f} |" if cell else " above 300 |" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
