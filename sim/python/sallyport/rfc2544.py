"""RFC 2544 rows: one search or one trial a frame size, against the theoretical maximum of the black wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from fractions import Fraction

from sallyport import limits, search
from sallyport.backend import Setup, TrafficBackend, TrialResult
from sallyport.errors import InputError

# TRex's IMIX (stl/imix.py), as {frame size: weight}.
IMIX = {64: 7, 594: 4, 1518: 1}
TESTS = ("throughput", "latency", "loss")
LOSS_STEPS = range(100, 0, -10)


def parse_sizes(text: str) -> list[tuple[str, dict[int, int]]]:
    """`"64,1400,imix"` as a list of (label, mix); InputError names the entry that is wrong."""
    sizes = []
    for entry in text.split(","):
        label = entry.strip()
        if label == "imix":
            sizes.append((label, IMIX))
            continue
        if not label.isdigit() or not limits.MIN_FRAME <= int(label) <= limits.MAX_FRAME:
            raise InputError(
                f"--frame-size {label!r}: give sizes of {limits.MIN_FRAME} to {limits.MAX_FRAME} bytes or imix"
            )
        sizes.append((label, {int(label): 1}))
    return sizes


def row(label: str, test: str, setup: Setup, trial: TrialResult, intended: float, trials: int) -> dict:
    """One row of `--json`: the contract's columns, and how they were obtained."""
    mean = limits.mean_frame(setup.mix)
    line = limits.line_rate_fps(mean)
    theoretical = limits.theoretical_fraction(setup.mix, setup.suites, setup.mode)
    achieved = trial.intended_fps / line if trial.passed else 0
    ports = 2 if setup.direction == "both" else 1
    return {
        "frame_size": int(label) if label.isdigit() else label,
        "suite": ",".join(suite.name for suite in setup.suites),
        "mode": setup.mode,
        "ip": 4,
        "direction": setup.direction,
        "test": test,
        "boxes": setup.boxes,
        "sas": setup.sas,
        "flows_used": setup.sas,  # a direction: each SA has a five-tuple of its own
        "tables": setup.tables,
        "load_pct": round(100 * intended, 4),
        "theoretical_pct": round(float(100 * theoretical), 4),
        "throughput_pct": round(float(100 * achieved), 4),
        "ratio": round(float(achieved / theoretical), 6),
        "mpps": round(float(achieved * line) / 1e6, 6),
        "gbps_l2": round(float(achieved * line * mean * 8) / 1e9, 4),
        "ports": ports,
        "tx_frames": trial.tx_frames,
        "rx_frames": trial.rx_frames,
        "lost": trial.lost,
        "loss_pct": round(100 * trial.lost / trial.tx_frames, 6) if trial.tx_frames else 0.0,
        "reordered": trial.reordered,
        "rekeys": trial.rekeys,
        "passed": trial.passed,
        "latency_ns": {key: round(value, 1) for key, value in asdict(trial.latency_ns).items()},
        "latency_type": "LIFO (RFC 1242 store and forward)",
        "simulated": True,
        "trials": trials,
        "sim_cycles": trial.simulation["sim_cycles"],
        "wall_s": round(trial.simulation["wall_s"], 3),
        "cycles_per_s": round(trial.simulation["cycles_per_s"]),
    }


def run(
    backend: TrafficBackend,
    base: Setup,
    sizes: list[tuple[str, dict[int, int]]],
    test: str,
    load_pct: Fraction,
    share_pct: Fraction,
    on_trial: Callable[[str, float], None],
) -> Iterator[dict]:
    """Rows of `test` over `sizes`; `on_trial(label, load in percent)` is called before each trial.

    Throughput never tries a load above the theoretical maximum, where the black wire must lose; `load_pct` (percent of
    line rate) and `share_pct` (percent of the theoretical maximum) lower that bound. Latency runs at it, loss at loads of its own.
    """
    for label, mix in sizes:
        setup = replace(base, mix=mix)
        backend.configure(setup)
        line = limits.line_rate_fps(limits.mean_frame(mix))
        theoretical = limits.theoretical_fraction(mix, setup.suites, setup.mode)
        bound = min(theoretical * share_pct / 100, load_pct / 100)

        def trial(fps, label=label, line=line) -> TrialResult:
            on_trial(label, float(100 * fps / line))
            return backend.run_trial(fps)

        if test == "throughput":
            best, trials = search.throughput(trial, line * bound)
            shown = best or trials[-1]
            yield row(label, test, setup, shown, float(shown.intended_fps / line), len(trials))
        elif test == "latency":
            yield row(label, test, setup, trial(line * bound), float(bound), 1)
        else:
            clean = 0
            recorded = setup.boxes == 1 and setup.direction != "encrypt"
            for step in LOSS_STEPS:
                if recorded and Fraction(step, 100) > theoretical:
                    continue  # the tester's black port itself carries no more
                result = trial(line * step / 100)
                yield row(label, test, setup, result, step / 100, 1)
                clean = clean + 1 if result.lost == 0 else 0
                if clean == 2:  # RFC 2544 26.3: until two trials in a row lose nothing
                    break
