# SPDX-License-Identifier: Apache-2.0
"""`make bitstreams` and `make program`: the checks before any work, and the call of Vivado.

python -m boards.flow check --board B [--chip C]      everything that can be wrong, before anything
                                                      is built
python -m boards.flow run --board B [--chip C]        Verilog to bitstreams, chip by chip, going on
                                                      from checkpoints
python -m boards.flow program --board B --chip C      a bitstream into a card

--variant first builds what boards/variants.yaml has under that name, in folders of its own.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from boards import corundum, ip, xdc
from boards.board import CHIPS, FULL, Board, BoardError

# the release whose Aurora (12.0) and CMAC the IP tables were written for; both ends of a link need
# the same one
VIVADO = "2023.2"
TCL = Path(__file__).with_name("tcl")
CONSTRAINED = ("constrain.dcp", "opt.dcp", "place.dcp", "phys_opt.dcp", "route.dcp")
CHECKPOINTS = ("synth.dcp", *CONSTRAINED)
# What `make bitstreams LAST=` may be, and the last step of tcl/flow.tcl then: a netlist without its
# constraints or a routed design without its gate would tell nothing.
LAST = {"synth": "constrain", "place": "place", "route": "gate", "bitstream": "bitstream"}


def build_folder(board: Board, chip: str) -> Path:
    name = board.name if board.variant == FULL else f"{board.name}-{board.variant}"
    return Path("build/boards") / name / chip


def chips(chip: str) -> tuple[str, ...]:
    if chip and chip not in CHIPS:
        raise BoardError(
            f"there is no chip {chip!r}: choose one of {', '.join(CHIPS)} (make bitstreams CHIP=inner), or none for all"
        )
    return (chip,) if chip else CHIPS


def check_vivado() -> None:
    """Refuses a machine without Vivado, or with another release of it."""
    if shutil.which("vivado") is None:
        raise BoardError(f"vivado is not in PATH: source <where it is>/Vivado/{VIVADO}/settings64.sh")
    said = subprocess.run(["vivado", "-version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\bv(\d{4}\.\d)", said, re.IGNORECASE)
    if found is None or found[1] != VIVADO:
        what = f"Vivado {found[1]}" if found else "a vivado that does not tell its release"
        raise BoardError(
            f"{what} is in PATH, the IPs are those of {VIVADO}: source <where it is>/Vivado/{VIVADO}/settings64.sh"
        )


def check(board_name: str, chip: str, part: str = "", variant: str = FULL, last: str = "bitstream") -> Board:
    """All that can be wrong before Vivado is started; a missing licence or part Vivado itself
    tells, as its first act."""
    board = Board.load(board_name).with_part(part).with_variant(variant)
    wanted = chips(chip)
    if last not in LAST:
        raise BoardError(f"there is no step {last!r}: choose one of {', '.join(LAST)} (make bitstreams LAST=synth)")
    check_vivado()
    if any(board.mac(each) for each in wanted):
        corundum.verify()
    return board


def braces(values: Iterable[object]) -> str:
    """A Tcl list, one element a line."""
    return "{\n" + "".join(f"  {{{value}}}\n" for value in values) + "}"


def write_chip(board: Board, chip: str, folder: Path, rtl: Path) -> Path:
    """Everything flow.tcl needs to know of a chip; removes checkpoints if an input is not what
    it was."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ports.xdc").write_text(xdc.port_constraints(board, chip))
    (folder / "floorplan.xdc").write_text(xdc.floorplan(board, chip))
    verilog = sorted(rtl.glob("*.sv"))
    crossings = sorted((rtl / "constraints").glob("*.tcl"))
    if board.mac(chip):
        verilog += [corundum.FOLDER / name for name in corundum.VERILOG]
        crossings += [corundum.FOLDER / name for name in corundum.CONSTRAINTS]
    modules = [module for module in ip.instances(board, chip) if module.ip]
    lines = [
        f"set chip(board) {board.name}",
        f"set chip(name) {chip}",
        f"set chip(part) {board.part}",
        f"set chip(top) {xdc.top(chip)}",
        f"set chip(build) {{{folder.resolve()}}}",
        f"set chip(verilog) {braces(path.resolve() for path in verilog)}",
        f"set chip(ports) {{{(folder / 'ports.xdc').resolve()}}}",
        f"set chip(floorplan) {{{(folder / 'floorplan.xdc').resolve()}}}",
        f"set chip(crossings) {braces(path.resolve() for path in crossings)}",
        f"set chip(ips) {braces(module.module for module in modules)}",
        *(_ip_lines(module) for module in modules),
    ]
    description = "\n".join(lines) + "\n"
    (folder / "chip.tcl").write_text(description)
    inputs = [*verilog, folder / "ports.xdc", folder / "chip.tcl", TCL / "synth.tcl"]
    later = [*crossings, folder / "floorplan.xdc", TCL / "waivers.tcl", TCL / "steps.tcl"]
    _forget_what_is_old(folder, "inputs", inputs, CHECKPOINTS)
    _forget_what_is_old(folder, "constraints", later, CONSTRAINED)
    ips = "".join(_ip_lines(module) for module in modules)
    (folder / "ips.txt").write_text(f"{VIVADO} {board.part}\n{ips}")
    _forget_what_is_old(folder, "ip-inputs", [folder / "ips.txt", TCL / "ip.tcl"], ("ip/done", *CHECKPOINTS))
    return folder / "chip.tcl"


def _ip_lines(module: ip.Ip) -> str:
    config = " ".join(f"CONFIG.{name} {{{value}}}" for name, value in module.config.items())
    return (
        f"set ip({module.module}) {{ip {module.ip} preset {{{module.preset}}} single_channel {int(module.single_channel)} "
        f"own_constraints {int(module.own_constraints)} config {{{config}}}}}\n"
    )


def _forget_what_is_old(folder: Path, name: str, inputs: list[Path], results: tuple[str, ...]) -> None:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()
    stamp = folder / f"{name}.sha256"
    if stamp.exists() and stamp.read_text() == digest:
        return
    for result in results:
        (folder / result).unlink(missing_ok=True)
    stamp.write_text(digest)


def vivado(script: str, *arguments: str, log: Path) -> int:
    command = [
        "vivado",
        "-mode",
        "batch",
        "-nojournal",
        "-log",
        str(log),
        "-notrace",
        "-source",
        str(TCL / script),
        "-tclargs",
        *arguments,
    ]
    return subprocess.run(command, check=False).returncode


@click.group()
def main() -> None:
    """The board flow."""


board_option = click.option("--board", "board_name", required=True, help="name of a file in boards/data")
part_option = click.option("--part", default="", help="one of the board file's other parts")
variant_option = click.option("--variant", default=FULL, help="one of boards/variants.yaml")
last_option = click.option("--last", default="bitstream", help=f"stop after this step: {', '.join(LAST)}")
chip_option = click.option("--chip", default="", help="inner, crypto or outer; all three if it is left out")


@main.command("check")
@board_option
@chip_option
@part_option
@variant_option
@last_option
def check_command(board_name: str, chip: str, part: str, variant: str, last: str) -> None:
    """Refuse what cannot work, before anything is built."""
    check(board_name, chip, part, variant, last)


@main.command()
@board_option
@chip_option
@part_option
@variant_option
@last_option
@click.option("--keep-going", is_flag=True, help="build the other chips although one has failed")
def run(board_name: str, chip: str, part: str, variant: str, last: str, keep_going: bool) -> None:
    """Make bitstreams."""
    board = check(board_name, chip, part, variant, last)
    failed = False
    for each in chips(chip):
        folder = build_folder(board, each)
        rtl = folder / "rtl"
        if not (rtl / f"{xdc.top(each)}.sv").exists():
            raise BoardError(f"{rtl} has no {xdc.top(each)}.sv: make bitstreams BOARD={board_name} makes it first")
        description = write_chip(board, each, folder, rtl)
        status = vivado("flow.tcl", str(description), LAST[last], log=folder / "vivado.log")
        # With 2 nothing was begun, and the next chip would not begin either.
        if status == 2 or (status and not keep_going):
            sys.exit(status)
        failed |= status != 0
    if failed:
        sys.exit(1)


@main.command()
@board_option
@chip_option
@variant_option
@click.option("--target", default="", help="part of a JTAG cable's name, where there are several")
def program(board_name: str, chip: str, variant: str, target: str) -> None:
    """Load a chip's bitstream into a card."""
    board = Board.load(board_name).with_variant(variant)
    if not chip:
        raise BoardError("which card? make program BOARD=... CHIP=inner, crypto or outer")
    chips(chip)
    check_vivado()
    folder = build_folder(board, chip)
    bitstream = folder / f"{xdc.top(chip)}.bit"
    if not bitstream.exists():
        raise BoardError(f"{bitstream} is not there: make bitstreams BOARD={board_name} CHIP={chip}")
    devices = " ".join(part.split("-")[0] for part in (board.part, *board.raw["other_parts"]))
    sys.exit(vivado("program.tcl", str(bitstream), devices, *([target] if target else []), log=folder / "program.log"))


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except (BoardError, click.UsageError) as wrong:
        text = wrong.format_message() if isinstance(wrong, click.UsageError) else str(wrong)
        click.echo(f"boards: {text}", err=True)
        sys.exit(2)
