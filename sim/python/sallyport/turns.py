# SPDX-License-Identifier: Apache-2.0
"""Whose turn a frame is, by four rules, where each node of a cluster loses some frames by itself.

    python -m sallyport.turns --nodes 6 --loss 1e-3

A model without chips. Round-robin and the shortest queue are the rules of the literature, in which
a node decides by all the frames that it has seen. The hashes are those of the chips
(docs/explanation/clusters.md): a frame's own bytes decide.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

BUCKETS = 256
MEAN, DEVIATION, SHORTEST, LONGEST = 1188, 525, 64, 1518  # bytes of a frame
FLOWS = 100


@dataclass(frozen=True)
class Frame:
    """One that the switch sends to all nodes: its size, its flow, and other bits for a hash."""

    size: int
    flow: int
    content: int


class Rule(Protocol):
    """How one node decides. It is asked about each frame that the node has received, in order."""

    def mine(self, frame: Frame, /) -> bool: ...


class RoundRobin:
    """Each node counts the frames that it has received, and takes each N-th."""

    def __init__(self, node: int, nodes: int) -> None:
        self._node, self._nodes, self._seen = node, nodes, -1

    def mine(self, _: Frame) -> bool:
        self._seen += 1
        return self._seen % self._nodes == self._node


class ShortestQueue:
    """Each node follows the bytes that wait at every node; of equal queues the first is next."""

    def __init__(self, node: int, nodes: int) -> None:
        self._node, self._waiting = node, [0.0] * nodes

    def mine(self, frame: Frame) -> bool:
        # All nodes together send as much as comes.
        sent = frame.size / len(self._waiting)
        self._waiting = [max(0.0, waiting - sent) for waiting in self._waiting]
        shortest = self._waiting.index(min(self._waiting))
        self._waiting[shortest] += frame.size
        return shortest == self._node


class Hash:
    """A bucket's owner takes its frames."""

    def __init__(self, node: int, nodes: int, key: Callable[[Frame], tuple[int, ...]]) -> None:
        self._node, self._nodes, self._key = node, nodes, key

    def mine(self, frame: Frame) -> bool:
        return random.Random(repr(self._key(frame))).randrange(BUCKETS) % self._nodes == self._node


RULES: dict[str, Callable[[int, int], Rule]] = {
    "round-robin": RoundRobin,
    "shortest queue": ShortestQueue,
    "session hash": lambda node, nodes: Hash(node, nodes, lambda frame: (frame.flow,)),
    "packet hash": lambda node, nodes: Hash(node, nodes, lambda frame: (frame.flow, frame.content)),
}


@dataclass(frozen=True)
class Outcome:
    """Of all frames, the shares that no node took, and that more than one took; and the busiest
    node's bytes over the mean."""

    untaken: float
    twice: float
    busiest: float


def frames(count: int, seed: int) -> Iterator[Frame]:
    """Of lengths around the mean, at random flows."""
    dice = random.Random(seed)
    for number in range(count):
        size = round(min(LONGEST, max(SHORTEST, dice.gauss(MEAN, DEVIATION))))
        yield Frame(size, dice.randrange(FLOWS), number)


def outcome(rule: str, nodes: int, loss: float, count: int, seed: int) -> Outcome:
    """What the nodes do by a rule, where each loses each frame with a probability."""
    deciders = [RULES[rule](node, nodes) for node in range(nodes)]
    dice = random.Random(f"{seed} lost")
    taken, load = [0, 0, 0], [0] * nodes
    for frame in frames(count, seed):
        takers = [node for node in range(nodes) if dice.random() >= loss and deciders[node].mine(frame)]
        taken[min(2, len(takers))] += 1
        for node in takers:
            load[node] += frame.size
    return Outcome(taken[0] / count, taken[2] / count, max(load) * nodes / sum(load))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--loss", type=float, default=1e-3)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.nodes < 1 or args.frames < 1 or not 0 <= args.loss < 1:
        parser.error("--nodes and --frames are at least 1, and --loss is from 0 to below 1")
    print("| rule | taken by no node | taken by several | busiest node |\n|---|---|---|---|")
    for rule in RULES:
        found = outcome(rule, args.nodes, args.loss, args.frames, args.seed)
        print(f"| {rule} | {100 * found.untaken:.3f} % | {100 * found.twice:.3f} % | {found.busiest:.3f} of the mean |")


if __name__ == "__main__":
    main()
