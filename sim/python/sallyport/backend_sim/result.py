# SPDX-License-Identifier: Apache-2.0
"""What the engine's answer to a trial and the boxes' counters say, as every backend says it."""

from __future__ import annotations

from fractions import Fraction

from sallyport.backend import Latency, Trial, TrialResult


def sends_ns(trial: Trial) -> float:
    """How long the tester sends in a trial."""
    if trial.burst:
        return float(1e9 * trial.burst / trial.fps)
    return trial.setup.warmup_ns + trial.setup.measure_ns * (1.5 if trial.then_fps else 1)


def _latency(figures: dict) -> Latency:
    return Latency(**{name: figures.get(name, 0.0) for name in ("min", "avg", "p50", "p90", "p99", "p99_99", "max")})


def result(trial: Trial, answer: dict, counters: list[dict], rekeys: int) -> TrialResult:
    """From the engine's answer and each box's counters behind the trial, as sallyctl has them."""
    setup = trial.setup
    # The counters show the fate of a hostile sender's frames; the trial measures the other streams.
    rows = [row for row in answer["streams"] if row["expect"] != "count"]
    total = answer["total"]
    ports = 2 if setup.direction == "both" else 1
    sent_s = sends_ns(trial) / 1e9 if trial.burst else (sends_ns(trial) - setup.warmup_ns) / 1e9
    last_loss = total["last_loss_ns"]
    return TrialResult(
        intended_fps=trial.fps,
        offered_fps=Fraction(total["tx_frames"]) / Fraction(sent_s) / ports,
        tx_frames=total["tx_frames"],
        rx_frames=total["rx_frames"],
        lost=total["lost"],
        reordered=total["reordered"],
        duplicated=total["duplicated"],
        corrupted=total["corrupted"],
        queue_grew=any(row["queue"]["growing"] for row in rows) and not (trial.burst or trial.then_fps or trial.reset),
        lifo_ns=_latency(total["latency_ns"]["lifo"]),
        fifo_ns=_latency(total["latency_ns"]["fifo"]),
        jitter_ns=total["jitter_ns"],
        histogram=[(end, count) for end, count in total["histogram"]],
        first_lost=total["first_lost"],
        last_loss_ns=None if last_loss is None else last_loss - setup.warmup_ns,
        outage_ns=total["longest_gap_ns"] if trial.reset else None,
        dropped=dropped(counters),
        rekeys=rekeys,
        checks=unbalanced(counters),
        simulation=answer["simulation"],
    )


def dropped(counters: list[dict]) -> dict[str, int]:
    """Of boxes' counters those that count drops and punts, as [TrialResult] has them."""
    return {
        f"box{box}.{chip}.{name}": count
        for box, chips in enumerate(counters)
        for chip, values in chips.items()
        if chip != "conservation"
        for name, count in values.items()
        if count and name.startswith(("drop_", "punt_"))
    }


def unbalanced(counters: list[dict]) -> list[str]:
    """A sentence on each chip and path of boxes whose packets are not accounted for."""
    return [
        f"box {box}, {path['chip']}, {path['path']}: received {path['received']} is not accounted for"
        for box, chips in enumerate(counters)
        for path in chips["conservation"]["paths"]
        if not path["balanced"]
    ]
