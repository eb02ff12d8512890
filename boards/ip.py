# SPDX-License-Identifier: Apache-2.0
"""IP tables (boards/ip/*.yaml): their ports as Verilog stubs, their properties for the
flow's create_ip.

`python -m boards.ip --board B --chip C --out DIR` writes a stub of each module. A stub has the
ports of the table and nothing in it: yosys takes it as a black box, Verilator as a module with
outputs that have no driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from boards.board import Board, BoardError, Qsfp

TABLES = Path(__file__).with_name("ip")
ONE_FOR = ("mac", "link", "pcie")


@dataclass(frozen=True)
class IpPort:
    """A port of an IP; `ascending` says that its range is [0:width-1], index 0 at the left."""

    name: str
    direction: str
    width: int
    ascending: bool = False

    def verilog(self) -> str:
        last = self.width - 1
        span = "" if self.width == 1 else f"[0:{last}] " if self.ascending else f"[{last}:0] "
        return f"  {self.direction}put wire {span}{self.name}"


@dataclass(frozen=True)
class Ip:
    """One module to be created: an IP with all its properties, or corundum's wrapper, which
    has none."""

    module: str
    ip: str
    preset: str
    single_channel: bool
    own_constraints: bool
    config: dict[str, str]
    clocks: dict[
        str, list[str]
    ]  # clock port to patterns of the ports of its domain; none where nothing is checked inside
    parameters: dict[str, int]
    ties: dict[str, int]  # inputs that a top has no use for and that are not to be zero
    ports: list[IpPort]

    def stub(self) -> str:
        ports = ",\n".join(port.verilog() for port in self.ports)
        parameters = ", ".join(f"parameter {name} = {value}" for name, value in self.parameters.items())
        return f"(* blackbox *)\nmodule {self.module} {f'#({parameters}) ' if parameters else ''}(\n{ports}\n);\nendmodule\n"


def expand(name: str, text: str) -> list[IpPort]:
    """`a_{0..3}: out 7` is four ports, `lane_up: out [0:3]` one with an ascending range."""
    direction, size = str(text).split()
    ascending = re.fullmatch(r"\[0:(\d+)\]", size)
    width = int(ascending[1]) + 1 if ascending else int(size)
    span = re.search(r"\{0\.\.(\d+)\}", name)
    names = [name] if span is None else [name.replace(span[0], str(index)) for index in range(int(span[1]) + 1)]
    return [IpPort(each, direction, width, bool(ascending)) for each in names]


def _instance(table: dict[str, Any], values: dict[str, Any]) -> Ip:
    return Ip(
        module=table["module"].format(**values),
        ip=table.get("ip", ""),
        preset=table.get("preset", ""),
        single_channel=table.get("single_channel", False),
        own_constraints=table.get("own_constraints", True),
        config={key: str(value).format(**values) for key, value in table.get("config", {}).items()},
        clocks=table.get("clocks", {}),
        parameters=table.get("parameters", {}),
        ties=table.get("ties", {}),
        ports=[port for name, text in table["ports"].items() for port in expand(name, text)],
    )


def _values(qsfp: Qsfp) -> dict[str, Any]:
    return {
        "qsfp": qsfp.name,
        "gt_quad": qsfp.gt_quad,
        "first_lane": qsfp.first_lane,
        "lanes": qsfp.lanes,
        "column": qsfp.column,
        "refclk": qsfp.refclk,
        "refclk_mhz": qsfp.refclk_mhz,
        "qpll_fraction": qsfp.qpll_fraction,
    }


def tables(folder: Path = TABLES) -> list[dict[str, Any]]:
    return [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))]


def instances(board: Board, chip: str) -> list[Ip]:
    """Every module that a chip needs from Vivado's catalogue or from corundum, with its values for
    this board."""
    mac = board.mac(chip)
    result = []
    for table in tables():
        if table["one_for"] == "mac":
            result += [_instance(table, _values(mac))] if mac else []
        elif table["one_for"] == "link":
            result += [_instance(table, _values(qsfp)) for qsfp in board.link_qsfps(chip)]
        elif table["one_for"] == "pcie":
            result.append(_instance(table, board.pcie))
        else:
            raise BoardError(f"{table['module']}: one_for is {', '.join(ONE_FOR)}, not {table['one_for']!r}")
    return result


@click.command()
@click.option("--board", "board_name", required=True, help="name of a file in boards/data")
@click.option("--chip", required=True, help="inner, crypto or outer")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="folder for the stubs")
def main(board_name: str, chip: str, out: Path) -> None:
    """Write a Verilog stub of each IP of a chip."""
    out.mkdir(parents=True, exist_ok=True)
    for ip in instances(Board.load(board_name), chip):
        (out / f"{ip.module}.v").write_text(ip.stub())


if __name__ == "__main__":
    main()
