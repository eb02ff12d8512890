# SPDX-License-Identifier: Apache-2.0
"""A row of `--json`: the figures of one trial, or of one search, as the contract in
docs/reference/rfc2544.md has them."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction

from sallyport import limits
from sallyport.backend import Latency, Setup, TrialResult
from sallyport.mixes import genome

# Of the rows. A number more whenever a column goes or its meaning changes; not when one is added.
SCHEMA = 2
LATENCY_TYPES = {"lifo": "LIFO (RFC 1242 store and forward)", "fifo": "FIFO (RFC 1242 bit forwarding)"}


def _figures(latency: Latency | None) -> dict[str, float] | None:
    return latency and {key: round(value, 1) for key, value in asdict(latency).items()}


# Columns of the subject of a row: its test, frames, suites and boxes.
MEASURED = (
    "test",
    "frame_size",
    "suite",
    "mode",
    "ip",
    "nat_t",
    "direction",
    "boxes",
    "sas",
    "tables",
)
# Those that tell cases apart, of one command and of others.
_KEY = (
    *MEASURED,
    "crypto",
    "chips",
    "core_mhz",
    "seed",
    "line_rate_gbps",
    "duration_s",
    "object_bytes",
    "goal",
    "max_load_pct",
    "max_share_pct",
)


def key(row: dict) -> tuple:
    """The case of a command that a row belongs to."""
    return tuple(row.get(name) for name in _KEY)


def identity(label: str, test: str, setup: Setup) -> dict:
    """The columns that say what a case measures, before it does."""
    return {
        "schema": SCHEMA,
        "test": test,
        "frame_size": int(label) if label.isdigit() else label,
        "mean_frame_size": round(float(limits.mean_frame(setup.mix)), 3),
        "mix": genome(setup.mix) if len(setup.mix) > 1 else "",
        "suite": ",".join(suite.name for suite in setup.suites),
        "mode": setup.mode,
        "ip": setup.ip,
        "nat_t": setup.nat_t,
        "direction": setup.direction,
        "boxes": setup.boxes,
        "sas": setup.sas,
        "flows_used": setup.sas,  # a direction: each SA has a five-tuple of its own
        "tables": setup.tables,
        "crypto": setup.crypto,
        "chips": setup.chips,
        "core_mhz": setup.core_mhz,
        "seed": setup.seed,
        "line_rate_gbps": setup.line_gbps,
        "duration_s": setup.measure_ns / 1e9,
        **({"object_bytes": setup.object_bytes} if setup.object_bytes else {}),
    }


def make(
    label: str,
    test: str,
    setup: Setup,
    trial: TrialResult,
    trials: int,
    throughput: Fraction | None = None,
    **more: object,
) -> dict:
    """The columns that rows of all tests have, and `more` of this test's own. `label` is the frame
    size as it was asked for.

    `throughput`, frames a second, is what the trial itself shows unless it is given: its load if
    it passed.
    """
    mean = limits.mean_frame(setup.mix)
    line, theoretical = setup.line_fps, setup.ceiling
    if throughput is None:
        throughput = trial.intended_fps if trial.passed else Fraction(0)
    achieved = throughput / line
    simulation = trial.simulation or {}
    kind, latency = ("lifo", trial.lifo_ns) if trial.lifo_ns else ("fifo", trial.fifo_ns)
    return {
        **identity(label, test, setup),
        "intended_fps": round(float(trial.intended_fps), 3),
        "load_pct": round(float(100 * trial.intended_fps / line), 4),
        "offered_pct": round(float(100 * trial.offered_fps / line), 4),
        "theoretical_pct": round(float(100 * theoretical), 4),
        "theoretical_fps": round(float(theoretical * line), 3),
        "throughput_pct": round(float(100 * achieved), 4),
        "ratio": round(float(achieved / theoretical), 6),
        "mpps": round(float(achieved * line) / 1e6, 6),
        "gbps_l2": round(float(achieved * line * mean * 8) / 1e9, 4),
        "gbps_l1": round(float(achieved * setup.line_gbps), 4),
        "ports": setup.pairs * (2 if setup.direction == "both" else 1),
        "tx_frames": trial.tx_frames,
        "rx_frames": trial.rx_frames,
        "lost": trial.lost,
        "loss_pct": float(f"{100 * trial.lost / trial.tx_frames:.6g}") if trial.tx_frames else 0.0,
        "reordered": trial.reordered,
        "duplicated": trial.duplicated,
        "corrupted": trial.corrupted,
        "queue_grew": trial.queue_grew,
        "checks": trial.checks,
        "rekeys": trial.rekeys,
        "passed": trial.passed,
        "latency_ns": _figures(latency),
        "latency_type": LATENCY_TYPES[kind],
        "latency_fifo_ns": _figures(trial.fifo_ns),
        "jitter_ns": None if trial.jitter_ns is None else round(trial.jitter_ns, 1),
        "histogram": [[round(end, 1), count] for end, count in trial.histogram],
        "simulated": trial.simulation is not None,
        "tester": trial.tester,
        **({"dropped": trial.dropped} if trial.tester else {}),
        "trials": trials,
        **more,
        "sim_cycles": simulation.get("sim_cycles", 0),
        "wall_s": round(simulation.get("wall_s", 0.0), 3),
        "cycles_per_s": round(simulation.get("cycles_per_s", 0)),
    }
