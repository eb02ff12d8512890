# SPDX-License-Identifier: Apache-2.0
"""How fast the simulator is on this machine, beside plain single-threaded Verilator: the same
chips, all of them a cycle at a time."""

from __future__ import annotations

import os
import platform
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import track
from rich.table import Table

from sallyport.backend import Setup, Trial
from sallyport.backend_sim import SimBackend
from sallyport.errors import CheckFailed
from sallyport.simulator import CRYPTO, program
from sallyport.suites import Suite

WARMUP_NS, MEASURE_NS = 10_000, 40_000
# What runs the chips: their threads, and whether they are lock-stepped.
ENGINES = {"lock-step": (1, True), "1 thread": (1, False), "2 threads": (2, False)}


@dataclass
class Contender:
    """One way to simulate a topology, and what its trials took."""

    chips: int
    crypto: str
    engine: str
    backend: SimBackend
    runs: list[dict] = field(default_factory=list)
    seen: object = None

    def run(self, mix: dict[int, int], suite: tuple[Suite, ...]) -> None:
        """One trial at the theoretical maximum."""
        threads, lock_step = ENGINES[self.engine]
        boxes = self.chips // 3
        setup = Setup(
            mix,
            suite,
            boxes,
            "both" if boxes == 2 else "encrypt",
            crypto=self.crypto,
            lock_step=lock_step,
            threads=threads,
            warmup_ns=WARMUP_NS,
            measure_ns=MEASURE_NS,
        )
        result = self.backend.run_trial(Trial(setup, setup.ceiling * setup.line_fps))
        assert result.simulation is not None
        self.seen = (result.tx_frames, result.rx_frames, result.lost, result.lifo_ns)
        self.runs.append(result.simulation)

    def row(self, frames: str) -> dict:
        """The best of its runs, by wall clock and by processor time."""
        return {
            "chips": self.chips,
            "crypto": self.crypto,
            "engine": self.engine,
            "frames": frames,
            "sim_cycles": self.runs[0]["sim_cycles"],
            "cycles_per_s": round(max(run["cycles_per_s"] for run in self.runs)),
            # Of all chips together: what one thread makes of one processor that it has to itself.
            "cycles_per_cpu_s": round(max(run["sim_cycles"] / _busy(run) for run in self.runs)),
            "chip_cycles_per_s": {
                chip["name"]: round(max(run["chips"][i]["clocks_per_s"] for run in self.runs))
                for i, chip in enumerate(self.runs[0]["chips"])
            },
        }


def _busy(simulation: dict) -> float:
    return sum(chip["busy_s"] for chip in simulation["chips"])


def run(suite: tuple[Suite, ...], sizes: list[tuple[str, dict[int, int]]], cryptos: list[str], rounds: int) -> dict:
    """Measure. Contenders take turns, so that what else the machine does meets all of them; the
    best of `rounds` counts."""
    for crypto in cryptos:
        program(CRYPTO[crypto])  # or a sentence, before anything runs
    rows = []
    for chips in (3, 6):
        for label, mix in sizes:
            with ExitStack() as stack:
                contenders = [
                    Contender(chips, crypto, engine, stack.enter_context(closing(SimBackend())))
                    for crypto in cryptos
                    for engine in ENGINES
                ]
                turns = [contender for _ in range(rounds) for contender in contenders]
                for contender in track(turns, f"{chips} chips, {label}", transient=True, console=Console(stderr=True)):
                    contender.run(mix, suite)
            if any(contender.seen != contenders[0].seen for contender in contenders):
                raise CheckFailed(f"{chips} chips, {label}: the contenders' trials differ")
            rows += [contender.row(label) for contender in contenders]
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "suite": ",".join(each.name for each in suite),
        "rounds": rounds,
        "rows": rows,
        "ratios": _ratios(rows, cryptos),
    }


def _ratios(rows: list[dict], cryptos: list[str]) -> list[dict]:
    """What threads gain over lock-step, and what the model gains over the pipes, by topology
    and frames."""
    by = {(row["chips"], row["frames"], row["crypto"], row["engine"]): row for row in rows}
    ratios = []
    for chips, frames in dict.fromkeys((row["chips"], row["frames"]) for row in rows):
        ratio: dict[str, object] = {"chips": chips, "frames": frames}
        for crypto in cryptos:
            of = {engine: by[chips, frames, crypto, engine] for engine in ENGINES}
            ratio[f"two_threads_to_lock_step_{crypto}"] = _ratio(of["2 threads"], of["lock-step"], "cycles_per_s")
        if len(cryptos) == 2:
            model, rtl = (by[chips, frames, crypto, "1 thread"] for crypto in ("model", "rtl"))
            ratio["model_to_rtl"] = _ratio(model, rtl, "cycles_per_cpu_s")
            speeds = [row["chip_cycles_per_s"]["box0.crypto"] for row in (model, rtl)]
            ratio["model_to_rtl_crypto_chip"] = round(speeds[0] / speeds[1], 2)
        ratios.append(ratio)
    return ratios


def _ratio(above: dict, below: dict, figure: str) -> float:
    return round(above[figure] / below[figure], 2)


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:  # noqa: PTH123 - a kernel file
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def table(result: dict) -> None:
    """Print the figures."""
    console = Console(width=120)
    title = f"simulator speed on {result['cores']} cores of {result['cpu']}, {result['suite']} at full load"
    grid = Table(title=title, title_justify="left")
    for name in (
        "chips",
        "frames",
        "crypto",
        "engine",
        "cycles/s",
        "of processor time",
        "inner",
        "crypto chip",
        "outer",
    ):
        grid.add_column(name, justify="left" if name in ("crypto", "engine") else "right")
    for row in result["rows"]:
        speeds = [f"{row['chip_cycles_per_s'][f'box0.{chip}']:,}" for chip in ("inner", "crypto", "outer")]
        figures = [f"{row['cycles_per_s']:,}", f"{row['cycles_per_cpu_s']:,}", *speeds]
        grid.add_row(str(row["chips"]), row["frames"], row["crypto"], row["engine"], *figures)
    console.print(grid)
    for ratio in result["ratios"]:
        parts = [
            f"{ratio[key]} x {what}"
            for key, what in (
                ("two_threads_to_lock_step_rtl", "lock-step with two threads"),
                ("two_threads_to_lock_step_model", "the same of the model"),
                ("model_to_rtl", "RTL crypto with the model"),
                ("model_to_rtl_crypto_chip", "the crypto chip alone"),
            )
            if key in ratio
        ]
        console.print(f"{ratio['chips']} chips, {ratio['frames']}: {', '.join(parts)}", soft_wrap=True)
