# SPDX-License-Identifier: Apache-2.0
"""Rows made by hand, of every test, for the tests of reports and comparisons: what a runner hands
over, without a simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sallyport import limits, rows, suites
from sallyport.backend import Latency, Setup, TrialResult

IMIX = {64: 7, 594: 4, 1518: 1}
SIZES = {"64": {64: 1}, "512": {512: 1}, "1400": {1400: 1}, "1518": {1518: 1}, "imix": IMIX}
SETUP = Setup({64: 1}, suites.parse("aes256gcm16"))


def latency(base: float) -> Latency:
    """Percentiles above `base` nanoseconds."""
    return Latency(base, base + 11.3, base + 10.2, base + 20.5, base + 31.7, base + 42.9, base + 55.1)


def histogram(figures: Latency) -> list[tuple[float, int]]:
    """Buckets of 6.4 ns; one in the middle is empty and left out."""
    buckets = round((figures.max - figures.min) / 6.4)
    shape = [(figures.min + 6.4 * (n + 1), round(2000 * math.exp(-(((n - 2) / 2) ** 2))) + 1) for n in range(buckets)]
    return shape[:4] + shape[5:]


def result(**more) -> TrialResult:
    """A trial of 10 frames."""
    fields = (
        dict.fromkeys(("lost", "reordered", "duplicated", "corrupted"), 0) | {"tx_frames": 10, "rx_frames": 10} | more
    )
    return TrialResult(
        Fraction(1), Fraction(1), queue_grew=False, lifo_ns=None, fifo_ns=None, jitter_ns=None, histogram=[], **fields
    )


def row(
    label: str, test: str, share: float = 1.0, setup: Setup = SETUP, lost: int = 0, simulated: bool = True, **more
) -> dict:
    """A row of `test` at `share` of the theoretical maximum; `more` are columns of its own."""
    setup = replace(setup, mix=SIZES[label])
    mean = limits.mean_frame(setup.mix)
    line = limits.line_rate_fps(mean)
    fps = Fraction(share) * limits.theoretical_fraction(setup.mix, setup.suites, setup.mode) * line
    sent = int(fps * setup.measure_ns / 1_000_000_000) * (2 if setup.direction == "both" else 1)
    lifo = latency(2400 + float(mean) * 1.2 + 300 * share)
    trial = TrialResult(
        intended_fps=fps,
        offered_fps=fps * Fraction("0.99998"),
        tx_frames=sent,
        rx_frames=sent - lost,
        lost=lost,
        reordered=0,
        duplicated=0,
        corrupted=0,
        queue_grew=False,
        lifo_ns=lifo,
        fifo_ns=latency(lifo.min + 8e9 * float(mean) / limits.WIRE_BITS_PER_SECOND),
        jitter_ns=3.4,
        histogram=histogram(lifo),
        simulation={"sim_cycles": 80_000, "wall_s": 3.25, "cycles_per_s": 24_615.4} if simulated else None,
    )
    return rows.make(label, test, setup, trial, more.pop("trials", 1), **more)


def throughput(**more) -> list[dict]:
    return [row(label, "throughput", trials=3, **more) for label in SIZES]


def tunnels() -> list[dict]:
    return [
        row(label, "tunnels", setup=replace(SETUP, sas=sas))
        for label in ("64", "imix")
        for sas in (1, 2, 16, 128, 1024)
    ]


def of_latency(**more) -> list[dict]:
    return [
        row(label, "latency", share / 100, of_throughput_pct=share, **more)
        for label in ("64", "512", "1400", "imix")
        for share in (10, 50, 90, 100)
    ]


def loss() -> list[dict]:
    """100 % of line rate and down, until two loads in a row lose nothing."""
    found = []
    for label in SIZES:
        setup = replace(SETUP, mix=SIZES[label])
        limit, clean = limits.theoretical_fraction(setup.mix, setup.suites), 0
        for load in range(100, 0, -10):
            line = limits.line_rate_fps(limits.mean_frame(setup.mix))
            over = max(Fraction(0), Fraction(load, 100) - limit)
            lost = int(over * line * setup.measure_ns / 1_000_000_000) * 2
            found.append(row(label, "loss", float(Fraction(load, 100) / limit), lost=lost))
            found[-1]["load_pct"] = float(load)
            clean = clean + 1 if lost == 0 else 0
            if clean == 2:
                break
    return found


def bursts() -> list[dict]:
    """One with a limit, one that none was found of."""
    limited = {
        "burst_frames": 3071.5, "burst_min": 3068, "burst_max": 3075, "burst_sd": 3.5, "burst_s": 2.064048e-05, "burst_runs": [3068, 3075],
        "corrected_frames": 1201.9, "corrected_bytes": 76_922, "corrected_us": 8.077, "throughput_fps": 90_579_710.145, "unlimited": False,
    }  # fmt: skip
    free = {
        "burst_frames": 20000, "burst_min": 20000, "burst_max": 20000, "burst_sd": 0.0, "burst_s": 0.0022720, "burst_runs": [20000],
        "corrected_frames": None, "corrected_bytes": None, "corrected_us": None, "throughput_fps": 8_479_844.15, "unlimited": True,
    }  # fmt: skip
    return [row("64", "back-to-back", **limited), row("1400", "back-to-back", **free)]


def recovery() -> list[dict]:
    share = {"overload_pct": 110.0, "then_pct": 50.0}
    return [
        row("64", "recovery", lost=812, recovery_ns=4312.5, **share),
        row("512", "recovery", lost=90, recovery_ns=0.0, **share),
        row("1400", "recovery", lost=70, recovery_ns=None, **share),
    ]


def resets() -> list[dict]:
    return [row("64", "reset", 0.5, lost=1932, reset=way, outage_ns=21_327.4) for way in ("software", "hardware")]


def attacks() -> list[dict]:
    dropped = {"replay": "drop_replay", "bad-icv": "drop_icv", "unknown-spi": "drop_unknown_spi"}
    return [
        row("64", "attack", 0.5, attack=name, attack_pct=30.4, dropped={f"box1.inner.{counter}": 9058})
        for name, counter in dropped.items()
    ]


def ike() -> list[dict]:
    """One that never happened, and runs whose figures differ."""
    setup, own = replace(SETUP, sas=16), {"simulated": True, "trials": 3, "throughput": Fraction(0)}
    rate = {
        "figure_name": "tunnels set up",
        "figure": 8.25,
        "unit": "1/s",
        "clock": "wall",
        "figure_runs": [8.25, 7.5, 8.5],
    }
    again = {"figure_name": "requests sent again", "figure": 0, "unit": "count", "clock": "", "figure_runs": [0, 0, 0]}
    first = {
        "figure_name": "first packet",
        "figure": 1426.913,
        "unit": "ms",
        "clock": "wall",
        "figure_runs": [1400.0, 1426.913, 1500.0],
    }
    never = {
        "figure_name": "IKE and its SAs",
        "figure": None,
        "unit": "ms",
        "clock": "wall",
        "figure_runs": [310.0, 320.0],
    }
    blocked = {
        "figure_name": "blocked",
        "figure": 106.667,
        "unit": "ns",
        "clock": "simulated",
        "figure_runs": [106.667] * 3,
    }
    dead = {
        "figure_name": "peer found dead",
        "figure": 2660.05,
        "unit": "ms",
        "clock": "wall",
        "figure_runs": [2660.05] * 3,
    }
    half_open = {
        "figure_name": "half-open IKE_SAs at most",
        "figure": 24,
        "unit": "count",
        "clock": "",
        "figure_runs": [24, 23, 26],
    }
    return [
        *(row("512", "ike-tunnels", setup=setup, **own, **figure) for figure in (rate, again)),
        *(row("512", "ike-first-packet", setup=setup, lost=34, **own, **figure) for figure in (first, never)),
        row("512", "ike-rekeys", setup=setup, **own, **blocked),
        row("512", "ike-dead-peer", setup=setup, lost=12, **own, **dead),
        row("512", "ike-half-open", setup=setup, **own, **half_open),
    ]


def connections() -> list[dict]:
    """Rates of a real tester, one that no load had."""

    def figure(test: str, size: int, name: str, value: float | None, unit: str, runs: list[float], **more) -> dict:
        own = {"figure_name": name, "figure": value, "unit": unit, "clock": "tester", "figure_runs": runs, "trials": 8}
        return row("1400", test, setup=replace(SETUP, object_bytes=size), simulated=False, **own, **more)

    return [
        figure("http-connections", 1024, "connections", 31_877.25, "1/s", [31_500.5, 31_877.25, 32_001.0]),
        figure("http-connections", 65_536, "connections", 1762.8, "1/s", [1750.25, 1762.8, 1770.0]),
        figure("http-throughput", 65_536, "answers", 0.935, "Gb/s", [0.93, 0.935, 0.94]),
        figure("tcp-throughput", 1_048_576, "answers", None, "Gb/s", [], lost=3, passed=False),
    ]


def every() -> list[dict]:
    """Rows of all tests, in the order of the matrix."""
    frames = [*throughput(), *tunnels(), *of_latency(), *loss(), *bursts(), *recovery(), *resets(), *attacks()]
    return [*frames, *ike(), *connections()]
