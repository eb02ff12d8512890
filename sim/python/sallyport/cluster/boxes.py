# SPDX-License-Identifier: Apache-2.0
"""The boxes of a cluster and of its far gateway, configured: each node of a side has the same SAs,
and sends with them as one node of a power of two (decision 16)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sallyport.backend import Setup
from sallyport.cluster import dispatch
from sallyport.errors import InputError
from sallyport.simulator import Simulator
from sallyport.tunnels import Tunnels

MOST_NODES = 128


def parse_nodes(text: str) -> list[int]:
    """`"1,2,6"` as numbers of nodes; [InputError] names the entry that is wrong."""
    found: list[int] = []
    for entry in text.split(","):
        if not entry.strip().isascii() or not entry.strip().isdigit() or not 1 <= int(entry) <= MOST_NODES:
            raise InputError(f"--nodes {entry.strip()!r}: give 1 to {MOST_NODES}, several with commas")
        found += [int(entry)] if int(entry) not in found else []
    return found


def numbered(nodes: int) -> int:
    """Of how many nodes the SAs of a side's nodes are."""
    return 1 << (nodes - 1).bit_length()


def lines(tunnels: Tunnels, side: int, node: int, nodes: int, window: int) -> Iterator[str]:
    """The lines that add the SAs and policies of both directions to a node of side 0 (near) or
    1 (far)."""
    place = f" dir out node {node} of {numbered(nodes)} reqid " if nodes > 1 else " reqid "
    for way in (side, 1 - side):
        for number, state in enumerate(tunnels.states(way)):
            with_window = state.replace("replay-window 1024", f"replay-window {window}")
            yield with_window.replace(" reqid ", place, 1) if way == side else with_window
            yield tunnels.policy(side, way, number)


def configure(sim: Simulator, setup: Setup, nodes: int, mode: str, window: int, mtu: int, folder: Path) -> None:
    """Give every box of a fresh simulation its SAs and its share of the frames."""
    tunnels = Tunnels(setup)
    for box in range(2 * nodes):
        side, node = divmod(box, nodes)
        sim.face_tester(box)
        batch = folder / f"box{box}.xfrm"
        every = [*tunnels.network(side, mtu), *lines(tunnels, side, node, nodes, window)]
        batch.write_text("".join(f"{line}\n" for line in every))
        sim.sallyctl(box, "-batch", batch)
    share(sim, nodes, mode, setup.seed)


def share(sim: Simulator, nodes: int, mode: str, seed: int) -> None:
    """Let the nodes of each side share the frames by `mode`."""
    for box in range(2 * nodes):
        dispatch.write(sim.socket(box), mode if nodes > 1 else "off", box % nodes, nodes, seed)
