# SPDX-License-Identifier: Apache-2.0
"""Frames through both ports of one simulated box at once, and all that can be seen of it then."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scapy.utils import RawPcapReader, RawPcapWriter

from sallyport.simulator import Simulator
from sallyport.suites import SUITES

from .configuration import Configuration
from .ethernet import Frame

# Percent of line rate at which nothing overflows, whatever the suites and sizes of packets
# (docs/explanation/performance.md, Mixed sizes).
LOAD = 50
# A packet of 9,000 bytes is inside a lane for 20,500 cycles with SM3
# (docs/explanation/performance.md), and may be the last.
QUIET_CYCLES = 24_000
# Of one simulation; on more processors, run several seeds side by side.
THREADS = 1
CHIPS = ("inner", "crypto", "outer")


@dataclass(frozen=True)
class Observed:
    """`sent` by port; `punted` by chip, each frame with its reason; `counters` that are not 0, as
    "chip.name"."""

    sent: dict[str, list[bytes]]
    punted: dict[str, list[tuple[str, bytes]]]
    counters: dict[str, int]
    balanced: bool
    cycles: int


def suites() -> list[str]:
    """The names of every suite that the simulated crypto chip has been built with, with each length
    of its ICV."""
    with Simulator(boxes=1, threads=THREADS, seed=1) as sim:
        built = sim.suites(0)
    return [name for name, suite in SUITES.items() if suite.built in built]


def run(configuration: Configuration, frames: dict[str, list[Frame]], folder: Path, seed: int = 1) -> Observed:
    """`frames` by port, "red" and "black"."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "box.xfrm").write_text(configuration.batch())
    captures = {
        name: folder / f"{name.replace('.', '-')}.pcapng" for name in ("red", "black", "inner.punt", "outer.punt")
    }
    with Simulator(boxes=1, threads=THREADS, seed=seed) as sim:
        sim.sallyctl(0, "-batch", folder / "box.xfrm")
        # How many frames may be punted depends on when they come: tests/box/test_cpu_frames.py
        # counts those.
        sim.sallyctl(0, "punt", "set", "all", "rate", "unlimited")
        for device, mac in configuration.paths.defaults.items():
            sim.sallyctl(0, "next-hop", "default", "dev", device, "lladdr", mac)
        # Who passes whom is not judged here, and packets of one SA stay in order.
        sim.sallyctl(0, "qos", "set", "dscp", "none")
        for name, path in captures.items():
            sim.command("capture", port=f"box0.{name}", direction="out", file=str(path))
        inputs = [_input(port, these, folder) for port, these in frames.items() if these]
        answer = sim.command("replay", inputs=inputs, quiet_cycles=QUIET_CYCLES)
        counters = sim.counters(0)
        sim.command("quit")
    return Observed(
        {port: [data for data, _ in _read(captures[port])] for port in ("red", "black")},
        {chip: [(reason, data) for data, reason in _read(captures[f"{chip}.punt"])] for chip in ("inner", "outer")},
        {f"{chip}.{name}": count for chip in CHIPS for name, count in counters[chip].items() if count},
        answer["quiescent"] and all(path["balanced"] for path in counters["conservation"]["paths"]),
        answer["simulation"]["sim_cycles"],
    )


def _input(port: str, frames: list[Frame], folder: Path) -> dict:
    path = folder / f"{port}-in.pcap"
    with RawPcapWriter(str(path), linktype=1) as writer:
        writer.write_header(None)
        for frame in frames:
            writer.write_packet(frame.data)
    bad = [number for number, frame in enumerate(frames, start=1) if frame.bad_fcs]
    return {"port": f"box0.{port}", "file": str(path), "pad": False, "bad_fcs": bad, "load_pct": LOAD}


def _read(path: Path) -> list[tuple[bytes, str]]:
    """Frames and comments."""
    with RawPcapReader(str(path)) as reader:
        return [(data, b" ".join(getattr(meta, "comments", None) or []).decode()) for data, meta in reader]
