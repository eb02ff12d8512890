# SPDX-License-Identifier: Apache-2.0
"""The throughput of clusters of several sizes, beside N times the throughput of one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction

from sallyport import limits
from sallyport.backend import Setup, TrialResult
from sallyport.cluster.trials import Carried, Cluster
from sallyport.rfc2544 import search

Say = Callable[[str], None]
# No cluster carries more than so many times what its nodes carry each alone.
ABOVE_LINEAR = 1.1


@dataclass(frozen=True)
class Asked:
    """The searches: one for each number of nodes, of flows, dispatch and size."""

    nodes: list[int]
    modes: list[str]
    flows: list[int]  # SAs, each of one flow: many, or one elephant
    sizes: list[tuple[str, dict[int, int]]]
    window: int
    width: float  # of the searches, relative


def rows(setup: Setup, asked: Asked, say: Say) -> Iterator[dict]:
    """A row for each search, in the order of the table. One node has the filter off, whatever
    the modes are."""
    alone: dict[tuple, float] = {}
    for nodes in sorted(asked.nodes):
        modes = asked.modes if nodes > 1 else ["off"]
        for flows in asked.flows:
            with closing(Cluster(replace(setup, sas=flows), nodes, modes[0], asked.window)) as cluster:
                for mode in modes:
                    cluster.share(mode)
                    for label, mix in asked.sizes:
                        say(f"{nodes} nodes, {flows} flows, {mode}, {label}")
                        linear = nodes * alone.get((flows, label), 0.0)
                        row = _row(cluster, mix, asked, ABOVE_LINEAR * linear) | {
                            "flows": flows,
                            "dispatch": mode,
                            "frames": label,
                        }
                        if nodes == 1:
                            alone[flows, label] = linear = row["gbps"]
                        yield row | {"of_linear_pct": round(100 * row["gbps"] / linear, 1) if linear else None}


def _row(cluster: Cluster, mix: dict[int, int], asked: Asked, most_gbps: float) -> dict:
    """One search, up to `most_gbps` if that is not 0, or to what the wires hold."""
    setup = replace(cluster.setup, mix=mix)
    mean = limits.mean_frame(mix)
    made: dict[Fraction, Carried] = {}

    def run(fps: Fraction, measure_ns: int) -> TrialResult:
        made[fps] = cluster.run(mix, fps, measure_ns)
        return made[fps].result

    wire = setup.ceiling * setup.line_fps
    bound = min(wire, Fraction(most_gbps * 1e9) / (8 * mean)) if most_gbps else wire
    goal = replace(search.GOALS["rfc2544"], width=asked.width)
    found = search.throughput(run, bound, setup.measure_ns, goal)
    shown = made[found.shown.intended_fps]
    lossy = [made[fps] for fps in sorted(made) if fps > found.fps][:1]
    return {
        "nodes": cluster.nodes,
        "passed": found.best is not None,
        "fps": round(float(found.fps)),
        "gbps": round(float(found.fps * mean * 8) / 1e9, 3),
        "wire_gbps": round(float(wire * mean * 8) / 1e9, 3),
        "trials": len(found.trials),
        "tx_frames": shown.result.tx_frames,
        "lost": shown.result.lost,
        "duplicated": shown.result.duplicated,
        "reordered": shown.reordered,
        "shares": shown.shares,
        "dropped": shown.dropped,
        "switch_dropped": shown.switches,
        "checks": _broken([each.result for each in made.values()]),
        # Of the trial with the lowest load that did not pass: what came first.
        "next": [{"reasons": each.result.reasons, "dropped": each.dropped, "switch": each.switches} for each in lossy],
    }


def _broken(trials: list[TrialResult]) -> list[str]:
    """What no trial may show, whatever its load: a frame twice, a number twice, a packet that is
    not accounted for."""
    found = [f"{trial.duplicated} frames arrived twice" for trial in trials if trial.duplicated]
    return found + [check for trial in trials for check in trial.checks]
