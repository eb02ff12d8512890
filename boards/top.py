# SPDX-License-Identifier: Apache-2.0
"""A chip's top: pins, clocks and IPs around its shell, as Verilog made from the board file
(templates/top.sv.j2).

`python -m boards.top --board B --chip C --out DIR` writes DIR/<Chip>Board.sv, beside the shell's
files, and DIR/constraints.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import click
import jinja2

from boards import ip, xdc
from boards.board import FULL, Board

TEMPLATES = Path(__file__).with_name("templates")
CONSTRAINTS = Path(__file__).with_name("constraints")


def shell(chip: str) -> str:
    """Name of the module that has all of a chip but IPs and pins."""
    return f"{chip.capitalize()}Shell"


def _links(board: Board, chip: str, modules: dict[str, ip.Ip]) -> list[dict[str, object]]:
    """Channels in the order of the shell's ports: link by link, those of a link one after
    the other."""
    cages = [
        (qsfp, f"Link to the {other} chip, channel {channel}")
        for other, names in board.raw["chips"][chip]["links"].items()
        for channel, qsfp in enumerate(names)
    ]
    return [
        {"index": index, "qsfp": qsfp, "what": what, "module": modules[f"aurora_{qsfp}"]}
        for index, (qsfp, what) in enumerate(cages)
    ]


def _outputs(board: Board, chip: str, cages: list[str]) -> dict[str, str]:
    """Slow outputs that no port of the shell has by itself, and what drives each."""
    ports = {port.name: port for port in board.ports(chip)}
    leds = len(ports["led"].pins)
    drivers = {
        "led": "lights" if leds == 3 else f"{{ {leds - 3}'d0, lights }}",
        "i2c_mux_reset": "mux_reset_n",
        "fpga_i2c_master_l": "1'b0",
        "qsfp_ctl_en": "1'b1",
    }
    for cage in cages:
        drivers |= {f"{cage}_refclk_reset": "cage_clock_reset", f"{cage}_fs": f"2'd{board.qsfps[cage].fs}"}
    return {name: driver for name, driver in drivers.items() if name in ports}


def buses(board: Board, chip: str) -> list[str]:
    """Names of the card's I2C buses, as their ports begin."""
    return [port.name.removesuffix("_scl") for port in board.ports(chip) if port.name.endswith("i2c_scl")]


def core_khz(board: Board) -> int:
    """The core clock, as software reads it."""
    free, mmcm = board.clocks["free_running"], board.clocks["mmcm"]
    return round(1000 * free["mhz"] * mmcm["multiply"] / mmcm["core"])


def monitor_divisor(board: Board) -> int:
    """By which the system monitor makes its converter's clock, 5 MHz or less, of the
    control clock."""
    free, mmcm = board.clocks["free_running"], board.clocks["mmcm"]
    return math.ceil(free["mhz"] * mmcm["multiply"] / mmcm["control"] / 5)


def text(board: Board, chip: str) -> str:
    """The top as Verilog."""
    modules = {module.module: module for module in ip.instances(board, chip)}
    cages = board.used_qsfps(chip)
    mac = board.mac(chip)
    free = board.clocks["free_running"]
    names = {port.name for port in board.ports(chip)}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("top.sv.j2").render(
        top=xdc.top(chip),
        shell=shell(chip),
        chip=chip,
        board=board,
        ports=board.ports(chip),
        free=free | {"differential": f"{free['port']}_p" in names},
        mmcm=board.clocks["mmcm"] | {"core": float(board.clocks["mmcm"]["core"])},
        links=_links(board, chip, modules),
        mac={"qsfp": mac.name, "module": modules[xdc.MAC]} if mac else None,
        pcie=modules[xdc.PCIE],
        cages=cages,
        buses=buses(board, chip),
        pins=_outputs(board, chip, cages),
        names=names,
        monitor_divisor=monitor_divisor(board),
        core_khz=core_khz(board),
    )


def channels(board: Board, chip: str) -> int:
    """Four-lane channels of each link."""
    return len(next(iter(board.raw["chips"][chip]["links"].values())))


@click.command()
@click.option("--board", "board_name", required=True, help="name of a file in boards/data")
@click.option("--chip", required=True, help="inner, crypto or outer")
@click.option("--out", type=click.Path(path_type=Path), help="folder of the shell's files")
@click.option("--shell-options", is_flag=True, help="print what the shell is elaborated with instead")
@click.option("--variant", default=FULL, show_default=True, help="one of boards/variants.yaml")
@click.option("--core-slrs", is_flag=True, help="print how many SLRs the core is in instead")
def main(board_name: str, chip: str, out: Path | None, shell_options: bool, variant: str, core_slrs: bool) -> None:
    """Write a chip's top and the constraints of its crossings."""
    board = Board.load(board_name).with_variant(variant)
    if core_slrs:
        click.echo(len(board.slrs(chip)))
        return
    if shell_options:
        counts = {
            "channels": channels(board, chip),
            "cages": len(board.used_qsfps(chip)),
            "buses": len(buses(board, chip)),
        }
        click.echo(
            f"--chip {chip} --board {board.raw['id']} "
            + " ".join(f"--{name} {count}" for name, count in counts.items())
        )
        return
    if out is None:
        raise click.UsageError("--out FOLDER is needed")
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{xdc.top(chip)}.sv").write_text(text(board, chip))
    shutil.copytree(CONSTRAINTS, out / "constraints", dirs_exist_ok=True)


if __name__ == "__main__":
    main()
