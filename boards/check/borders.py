# SPDX-License-Identifier: Apache-2.0
"""Borders between SLRs: on each way between two registers of a core, the SLRs that the floorplan
gives to its cells are at most two, side by side. So no way crosses two borders.

Ports of the core count as cells in `core_slrs`, since the fabric has registers there, and its reset
as one in the SLR of its last stage. Lanes are black boxes: boards/check/ways.py reads their ways.

`make board-check` has small tables, which may lack banks. `python -m boards.check.borders CHIP RTL`
follows those of a bitstream.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from boards import xdc
from boards.board import CHIPS, Board
from boards.check import banks, netlist
from boards.check.clocks import REGISTER
from boards.check.instances import Instances
from boards.check.through import Graph, Node, Ways
from boards.places import RESET, reach

LANE = re.compile(r"Lane(_\d+)?")

Slrs = tuple[int, ...]
Start = tuple[Node, Slrs, str]


def problems(boards: list[Board], chip: str, rtl: Path, work: Path) -> list[str]:
    """Of the core of a chip in a folder of generated Verilog, as each board places it."""
    lanes = [path for path in sorted(rtl.glob("*.sv")) if LANE.fullmatch(path.stem)]
    files = netlist.sources(rtl, xdc.core(chip), stop=[path.stem for path in lanes])
    files = [path for path in files if path not in lanes]
    try:
        modules = netlist.elaborate(xdc.core(chip), files, lanes, work, "proc; opt_clean")
    except netlist.ElaborationError as wrong:
        return [str(wrong)]
    return [f"{board.path.name}: {problem}" for board in boards for problem in _of_board(board, chip, modules)]


def _of_board(board: Board, chip: str, modules: dict[str, Any]) -> list[str]:
    instances = Instances(modules, xdc.core(chip), board.places(chip))
    found = [f"{xdc.core(chip)} has no {kind}" for kind in instances.absent()]
    return [*found, *banks.problems(instances), *Borders(board, chip, instances).long_ways()]


class Borders:
    """The cells of a core above its places; a cell below them or beside is followed as a whole."""

    def __init__(self, board: Board, chip: str, instances: Instances) -> None:
        self.instances = instances
        self.modules = instances.modules
        self.ways = Ways(self.modules)
        self.opened = {path[:end] for path in instances.placed for end, letter in enumerate(path) if letter == "/"}
        self.graph = Graph()
        self.slrs: dict[Node, Slrs] = {}
        own = tuple(board.core_slrs(chip))
        self._open(xdc.core(chip), "", own)
        self.starts: list[Start] = [
            (bit, self.slrs[cell], _tell(cell, port)) for bit, (cell, port) in self.graph.starts
        ]
        reset = next(place.slrs for place in board.places(chip) if place.name == RESET)
        for port, bits in self.ways.ports(xdc.core(chip), "input").items():
            self.starts += [(("", bit), reset if port == "reset" else own, port) for bit in bits]
        for port, bits in self.ways.ports(xdc.core(chip), "output").items():
            self.slrs[port] = own
            self.graph.ends.append((port, None))
            for bit in bits:
                self.graph.link(("", bit), (port, None))

    def _open(self, name: str, path: str, own: Slrs) -> None:
        registers = _register_names(self.modules[name])
        for cell_name, cell in self.modules[name]["cells"].items():
            below = f"{path}/{registers.get(cell_name, cell_name)}".lstrip("/")
            place = self.instances.placed.get(below)
            self.slrs[below] = place.slrs if place else own
            if below not in self.opened:
                self.ways.add(self.graph, below, cell, lambda bit: (path, bit))
                continue
            for port, it in self.modules[cell["type"]]["ports"].items():
                for inner, outer in zip(it["bits"], cell["connections"].get(port, []), strict=False):
                    ends = (path, outer), (below, inner)
                    self.graph.link(*(ends if it["direction"] == "input" else ends[::-1]))
            self._open(cell["type"], below, self.slrs[below])

    def long_ways(self) -> list[str]:
        """One for each two cells."""
        reached: dict[Node, dict[Slrs, str]] = defaultdict(dict)
        todo = list(self.starts)
        while todo:
            node, slrs, begin = todo.pop()
            if isinstance(node, tuple) and not isinstance(node[1], int):
                slrs = tuple(sorted({*slrs, *self.slrs[node[0]]}))
            if slrs not in reached[node]:
                reached[node][slrs] = begin
                todo += [(behind, slrs, begin) for behind in self.graph.edges.get(node, ())]
        found = {
            (begin.partition(" ")[0], cell): f"{begin} leads to {_tell(cell, port)} over two borders"
            for cell, port in self.graph.ends
            for slrs, begin in reached[cell, port].items()
            if reach(slrs) > 1
        }
        return [found[ends] for ends in sorted(found)]


def _tell(cell: str, port: str | None) -> str:
    return cell if port is None else f"{cell} ({port})"


def _register_names(module: dict[str, Any]) -> dict[str, str]:
    """Cells of registers, and what the source calls them."""
    nets = {bit: net for net, it in module["netnames"].items() if not it.get("hide_name") for bit in it["bits"]}
    registers = {name: cell for name, cell in module["cells"].items() if REGISTER.match(cell["type"])}
    return {name: nets.get(cell["connections"]["Q"][0], name) for name, cell in registers.items()}


@click.command()
@click.argument("chip", type=click.Choice(CHIPS))
@click.argument("rtl", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(chip: str, rtl: Path) -> None:
    """Follow all ways of CHIP's core in folder RTL, on each board."""
    boards = [Board.load(name) for name in Board.names()]
    with TemporaryDirectory() as work:
        found = problems(boards, chip, rtl, Path(work))
    for problem in found:
        click.echo(problem, err=True)
    if not found:
        click.echo(f"{chip}: no way crosses two borders")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
