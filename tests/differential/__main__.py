# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.differential --packets N --seed N`: the long form of
tests/differential/test_differential.py."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from . import box
from .run import KINDS, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--packets", type=int, default=20_000, help="in all, half of them to each port (default 20000)")
    parser.add_argument("--per-run", type=int, default=5_000, help="packets for each configuration (default 5000)")
    parser.add_argument("--seed", type=int, default=1, help="(default 1)")
    parser.add_argument("--first-run", type=int, default=0, help="begin with this run of the seed (default 0)")
    parser.add_argument("--keep", type=Path, help="folder in which the files of every run are kept")
    parser.add_argument(
        "--kind", choices=KINDS, default="", help="every run is of one sort of box (default: routers and bridges)"
    )
    options = parser.parse_args()
    if options.packets < 1 or options.per_run < 2:
        parser.error("--packets must be at least 1 and --per-run at least 2")
    names, total, counters, failed, begun = box.suites(), 0, Counter(), 0, time.monotonic()
    number = options.first_run
    while total < options.packets:
        with tempfile.TemporaryDirectory(prefix="differential-") as scratch:
            folder = (options.keep or Path(scratch)) / f"seed{options.seed}-run{number}"
            result = run(
                options.seed, number, min(options.per_run, options.packets - total), names, folder, options.kind
            )
        total, number = total + result.packets, number + 1
        counters.update(result.counters)
        failed += bool(result.report)
        spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.seconds.items())
        print(f"run {number - 1}: {result.packets} packets, {result.cycles} cycles, {spent}", flush=True)
        if result.report:
            print(result.report, flush=True)
    for name, count in sorted(counters.items()):
        print(f"{name:36} {count}")
    seconds = time.monotonic() - begun
    print(
        f"{total} packets in {number - options.first_run} runs, {failed} with a mismatch; {total / seconds:.0f} packets/s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
