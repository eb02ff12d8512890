"""How fast the simulator is on this machine: simulated cycles a second, chip by chip and for whole topologies."""

from __future__ import annotations

import os
import platform
from contextlib import closing

from rich.console import Console
from rich.table import Table

from sallyport import suites
from sallyport.backend import Setup, Trial
from sallyport.sim_backend import SimBackend
from sallyport.simulator import Simulator

IDLE_CYCLES = 200_000
LOADED = ({"frame": 1400}, {"frame": 64})


def run() -> dict:
    """Measure; wall-clock figures, so expect ±20 % on a shared machine."""
    rows = []
    for boxes in (1, 2):
        for threads in (1, 2):
            rows.append(_idle(boxes, threads))
            rows += [_loaded(boxes, threads, load["frame"]) for load in LOADED]
    return {"cpu": _cpu(), "cores": os.cpu_count(), "machine": platform.machine(), "rows": rows}


def _row(boxes: int, threads: int, traffic: str, simulation: dict) -> dict:
    return {
        "chips": 3 * boxes,
        "threads": threads,
        "traffic": traffic,
        "sim_cycles": simulation["sim_cycles"],
        "wall_s": round(simulation["wall_s"], 3),
        "cycles_per_s": round(simulation["cycles_per_s"]),
        "chip_cycles_per_s": {chip["name"]: round(chip["clocks_per_s"]) for chip in simulation["chips"]},
    }


def _idle(boxes: int, threads: int) -> dict:
    with Simulator(boxes, threads, seed=1) as sim:
        return _row(boxes, threads, "idle", sim.command("idle", cycles=IDLE_CYCLES)["simulation"])


def _loaded(boxes: int, threads: int, frame: int) -> dict:
    suite = suites.parse("aes256gcm16")
    direction = "both" if boxes == 2 else "encrypt"
    setup = Setup({frame: 1}, suite, boxes, direction, threads=threads, warmup_ns=10_000, measure_ns=40_000)
    with closing(SimBackend()) as tester:
        simulation = tester.run_trial(Trial(setup, setup.ceiling * setup.line_fps)).simulation
        assert simulation is not None
        return _row(boxes, threads, f"{frame} B, {direction}, full load", simulation)


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:  # noqa: PTH123 - a kernel file
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def table(result: dict) -> None:
    """Print the figures."""
    grid = Table(title=f"simulator speed on {result['cores']} cores of {result['cpu']}", title_justify="left")
    for name in ("chips", "threads", "traffic", "cycles/s", "slowest chip alone"):
        grid.add_column(name, justify="left" if name == "traffic" else "right")
    for row in result["rows"]:
        slowest = min(row["chip_cycles_per_s"].items(), key=lambda item: item[1])
        grid.add_row(
            str(row["chips"]), str(row["threads"]), row["traffic"], f"{row['cycles_per_s']:,}",
            f"{slowest[0]} {slowest[1]:,}",
        )  # fmt: skip
    Console(width=120).print(grid)
