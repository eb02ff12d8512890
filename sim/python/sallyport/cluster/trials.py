# SPDX-License-Identifier: Apache-2.0
"""Trials through a cluster: what the engine is told, and what a trial shows of each node."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from sallyport import limits
from sallyport.backend import Setup, Trial, TrialResult
from sallyport.backend_sim.result import result
from sallyport.backend_sim.streams import streams
from sallyport.cluster import boxes, numbers
from sallyport.errors import InputError
from sallyport.simulator import Simulator
from sallyport.tunnels import Tunnels, check_count

BLACK_MTU = limits.MAX_FRAME - limits.ETHERNET_BYTES
# The tester is at the switches, and not at the boxes of a setup without them.
PORTS = {"box0.red": "near.red", "box1.red": "far.red"}
# How much the latency may grow in a trial, of its measured time. Chance decides which node has the
# next packet, so queues grow and shrink by more than those of one box.
GROWTH_LIMIT = 0.02


@dataclass(frozen=True)
class Carried:
    """A trial, and figures that only a cluster has."""

    result: TrialResult
    reordered: int  # frames of the stream; packets of one flow may take any node with mode packet
    shares: list[int]  # packets that each near node sent to black
    dropped: dict[str, int]  # by the name of the counter, all boxes together, but for the filters'
    switches: dict[str, int]  # frames that an output's full queue dropped


class Cluster:
    """A running cluster of `nodes` boxes and as many far ones; its trials begin with the same
    boxes."""

    def __init__(
        self,
        setup: Setup,
        nodes: int,
        mode: str,
        window: int,
        on_progress: Callable[[float, float], None] | None = None,
    ) -> None:
        check_count(setup)
        self.setup, self.nodes = setup, nodes
        self._tunnels = Tunnels(setup)
        self._folder = tempfile.TemporaryDirectory(prefix="sallyport-cluster-")
        # What each near node sent to black in the last trial.
        self.captures = [Path(self._folder.name) / f"black{node}.pcapng" for node in range(nodes)]
        self._sim = Simulator(
            0,
            setup.threads,
            setup.seed,
            on_progress,
            setup.tables,
            crypto=setup.crypto,
            core_mhz=setup.core_mhz,
            lock_step=setup.lock_step,
            nodes=nodes,
        )
        try:
            built = self._sim.suites(0)
            for suite in setup.suites:
                if suite.built not in built:
                    raise InputError(
                        f"suite {suite.name!r} is not built into the simulated chip: it has {', '.join(built)}"
                    )
            boxes.configure(self._sim, setup, nodes, mode, window, BLACK_MTU, Path(self._folder.name))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the simulation."""
        self._sim.close()
        self._folder.cleanup()

    def share(self, mode: str) -> None:
        """Let the nodes share the frames by `mode` from now on."""
        boxes.share(self._sim, self.nodes, mode, self.setup.seed)

    def run(self, mix: dict[int, int], fps: Fraction, measure_ns: int | None = None) -> Carried:
        """One trial of a mix at so many frames a second."""
        setup = replace(self.setup, mix=mix, measure_ns=measure_ns or self.setup.measure_ns)
        trial = Trial(setup, fps)
        asked = streams(trial, self._tunnels, None)
        for stream in asked["streams"]:
            stream |= {"from": PORTS[stream["from"]], "to": PORTS[stream["to"]]}
        with self._sim.branch():
            for node, file in enumerate(self.captures):
                self._sim.command("capture", port=f"box{node}.black", direction="out", file=str(file))
            answer = self._sim.trial(growth_limit_ns=GROWTH_LIMIT * setup.measure_ns, **asked)
            counters = [self._sim.counters(box) for box in range(2 * self.nodes)]
        found = result(trial, answer, counters, 0)
        checks = [*found.checks, *numbers.repeated(self.captures, min(suite.iv for suite in setup.suites))]
        return Carried(
            replace(found, reordered=0, checks=checks),
            found.reordered,
            [sum(1 for _ in numbers.frames(file)) for file in self.captures],
            _dropped(found.dropped),
            {row["output"]: row["dropped_queue_full"] for row in answer["switches"] if row["dropped_queue_full"]},
        )


def _dropped(by_box: dict[str, int]) -> dict[str, int]:
    """Drops and punts by chip and counter, without those of frames that are another node's."""
    found: dict[str, int] = {}
    for name, count in by_box.items():
        counter = name.partition(".")[2]
        if not counter.endswith(".drop_dispatch"):
            found[counter] = found.get(counter, 0) + count
    return found
