# SPDX-License-Identifier: Apache-2.0
"""`python -m formal [--quick] [NAME …]`: proves the properties of formal/src, two at a time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from formal.proof import prove
from formal.registry import UnknownProperty, chosen
from formal.table import HEADING, line, write
from formal.tools import MissingTool, require

ELABORATE = [str(Path(__file__).parents[1] / "scripts" / "scala.sh"), "formal", "sallyport.formal.Elaborate"]


def elaborate(out: Path, names: list[str]) -> None:
    """Writes the properties into folders of `out`, in one start of Java; ends the program if one
    does not elaborate."""
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([*ELABORATE, str(out.absolute()), *names], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
        sys.exit(1)


@click.command()
@click.option("--quick", is_flag=True, help="Only the properties that take seconds.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/formal"), help="For models and traces.")
@click.argument("names", nargs=-1)
def main(quick: bool, out: Path, names: tuple[str, ...]) -> None:
    """Prove every property, or those of the NAMES. Exit status: 0 all proved, 1 one was not,
    2 bad input."""
    try:
        wanted = chosen(names, quick)
        require()
    except (MissingTool, UnknownProperty) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    start = time.monotonic()
    elaborate(out, wanted)
    print(HEADING)
    results = []
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for result in pool.map(prove, [out / name for name in wanted]):
            print(line(result), flush=True)
            results.append(result)
    failed = sum(bool(result.failure) for result in results)
    print(f"\n{len(results) - failed} proved, {failed} failed, {time.monotonic() - start:.0f} s together")
    write(results, out / "table.md")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
