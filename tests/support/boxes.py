# SPDX-License-Identifier: Apache-2.0
"""One or two simulated boxes with frames into any of the tester's ports at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scapy.packet import Packet

from sallyport.simulator import Simulator
from tests.support.frames import read_frames, write_frames
from tests.support.replay import quiet_cycles

CHIPS = ("inner", "crypto", "outer")


@dataclass(frozen=True)
class Seen:
    """Frames out of each port that was asked for, and by box the punts, drops and injected frames
    that are not 0, as "chip.name"."""

    out: dict[str, list[bytes]]
    named: list[dict[str, int]]


# Frames of a test, or of another box whose address no test knows, are to a router that takes all.
TAKE_ALL = "link set red promisc on\nlink set black promisc on\n"


def next_hops(sim: Simulator, box: int = 0) -> None:
    """What no policy's or tunnel's next hop names goes to the tester."""
    sim.face_tester(box)


def run(
    batches: list[str],
    frames: dict[str, list[bytes | Packet]],
    watch: list[str],
    folder: Path,
    before: Callable[[Simulator], None] | None = None,
    pacing: str = "line-rate",
    quiet: int | None = None,
) -> Seen:
    """A box of each batch, `frames` into ports and inject streams by name, and what leaves the
    ports and punt streams of `watch`.

    With the pacing `original` frames start a microsecond apart. Every counter balances. `quiet` is
    for tests of what happens later than packets of the batches' suites are through.
    """
    with Simulator(boxes=len(batches), threads=None, seed=1) as sim:
        for box, text in enumerate(batches):
            batch = folder / f"box{box}.xfrm"
            batch.write_text(text)
            sim.sallyctl(box, "-batch", batch)
        if before:
            before(sim)
        captures = {port: folder / f"{port}.pcapng" for port in watch}
        for port, path in captures.items():
            sim.command("capture", port=port, direction="out", file=str(path))
        inputs = []
        for port, these in frames.items():
            path = folder / f"{port}-in.pcap"
            write_frames(path, these)
            inputs.append({"port": port, "file": str(path), "pacing": pacing})
        cycles = quiet or quiet_cycles(*batches)
        assert sim.command("replay", inputs=inputs, quiet_cycles=cycles)["quiescent"]
        counters = [sim.counters(box) for box in range(len(batches))]
        sim.command("quit")
    for each in counters:
        assert all(path["balanced"] for path in each["conservation"]["paths"])
    named = [
        {
            f"{chip}.{name}": count
            for chip in CHIPS
            for name, count in each[chip].items()
            if count and name.startswith(("drop_", "punt_", "inject_"))
        }
        for each in counters
    ]
    return Seen({port: read_frames(path) for port, path in captures.items()}, named)
