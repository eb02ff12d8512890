# SPDX-License-Identifier: Apache-2.0
"""`make board-check`: all checks of the boards that need no Vivado. Lists all problems; exit status
1 if there are any.

Tops are in build/boards/check/<board>/<chip>/rtl (their cores may have small tables), cores in
build/rtl, or else those of the tops, corundum in build/corundum. A missing one is reported as not
checked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from boards import corundum, xdc
from boards.board import CHIPS, Board
from boards.check import borders, lint, top, ways

WORK = Path("build/boards/check")
CORES = Path("build/rtl")


class Report:
    """Lines that name the checks made, and all problems."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def check(self, what: str, run: Callable[[], list[str]]) -> None:
        start = time.monotonic()
        found = run()
        self.problems += [f"{what}: {problem}" for problem in found]
        print(
            f"board-check: {what}: {'ok' if not found else f'{len(found)} wrong'} ({time.monotonic() - start:.0f} s)",
            flush=True,
        )

    def absent(self, what: str, mend: str) -> None:
        print(f"board-check: {what}: NOT CHECKED ({mend})", flush=True)


def check_chip(report: Report, board: Board, chip: str) -> None:
    """Constraints and flow of one chip; its top, where it was generated."""
    name, work = f"{board.name} {chip}", WORK / board.name / chip
    rtl = work / "rtl"
    report.check(f"{name}: constraints", lambda: top.constraint_problems(board, chip, work))
    if not board.mac(chip) or (corundum.FOLDER / ".git").exists():
        report.check(f"{name}: Tcl", lambda: top.flow_problems(board, chip, rtl, work))
    else:
        report.absent(f"{name}: Tcl", "make corundum; tests/boards/test_tcl.py runs it with empty files in its place")
    has_top = (rtl / f"{xdc.top(chip)}.sv").exists()
    if has_top:
        report.check(f"{name}: netlist", lambda: top.netlist_problems(board, chip, rtl, work))
    else:
        report.absent(f"{name}: netlist", f"{rtl} has no {xdc.top(chip)}.sv")


@click.command()
@click.option("--skip-lint", is_flag=True, help="leave Verilator out, which takes most of the time")
@click.option(
    "--board", "names", multiple=True, type=click.Choice(Board.names()), help="check this board; without, each"
)
def main(skip_lint: bool, names: tuple[str, ...]) -> None:
    """Check boards, flow and generated Verilog without Vivado."""
    report = Report()
    boards = [Board.load(name) for name in names or Board.names()]
    for board in boards:
        for chip in CHIPS:
            check_chip(report, board, chip)
    if (corundum.FOLDER / ".git").exists():
        report.check("corundum", lambda: top.corundum_problems(boards[0], "inner", WORK / "corundum"))
    else:
        report.absent("corundum", "make corundum")
    for chip in CHIPS:
        core = f"{xdc.core(chip)}: clocks"
        if folder := core_folder(boards, chip):
            report.check(core, lambda chip=chip, folder=folder: top.core_problems(folder, xdc.core(chip)))
        else:
            report.absent(core, f"neither {CORES / chip} nor a top has {xdc.core(chip)}.sv")
        if folder:
            report.check(
                f"{xdc.core(chip)}: borders between SLRs",
                lambda chip=chip, folder=folder: borders.problems(boards, chip, folder, WORK / "borders" / chip),
            )
        if folder and boards[0].lane_slrs(chip):
            report.check(
                f"{xdc.core(chip)}: ways to lanes",
                lambda chip=chip, folder=folder: ways.problems(folder, WORK / "ways" / chip),
            )
    if not skip_lint:
        report.check("lint", lambda: lint_all(boards))
    for problem in report.problems:
        print(f"board-check: {problem}", file=sys.stderr)
    sys.exit(1 if report.problems else 0)


def core_folder(boards: list[Board], chip: str) -> Path | None:
    """The folder with the Verilog of a chip's core, if it was generated: as it is simulated, or
    else of one of the boards."""
    folders = [CORES / chip, *(WORK / board.name / chip / "rtl" for board in boards)]
    return next((folder for folder in folders if (folder / f"{xdc.core(chip)}.sv").exists()), None)


def lint_all(boards: list[Board]) -> list[str]:
    """Every core and every top that was generated; a top without its core, which has
    been linted."""
    waivers = lint.load_waivers()
    used: set[int] = set()
    found: list[str] = []
    for chip in CHIPS:
        if folder := core_folder(boards, chip):
            found += lint.problems(
                lint.verilate(xdc.core(chip), [folder / f"{xdc.core(chip)}.sv"], [folder]),
                waivers,
                used.add,
            )
    tops = [
        (board, chip)
        for board in boards
        for chip in CHIPS
        if (WORK / board.name / chip / "rtl" / f"{xdc.top(chip)}.sv").exists()
    ]
    for board, chip in tops:
        work = WORK / board.name / chip
        found += top.lint_problems(board, chip, work / "rtl", work, waivers, used)
    # A waiver for tops may be one board's alone.
    every = len(tops) == len(CHIPS) * len(Board.names())
    stale = [waiver for index, waiver in enumerate(waivers) if index not in used and (every or not waiver.get("tops"))]
    return found + [f"waivers.yaml: the waiver of {waiver['rule']} covers nothing" for waiver in stale]


if __name__ == "__main__":
    main()
