# SPDX-License-Identifier: Apache-2.0
"""Frames through one box by `./sallyport replay`, and what that left."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from scapy.packet import Packet

from sallyport.cli import main
from tests.support.frames import read_frames, write_frames


def called(*args: object) -> Result:
    """What `./sallyport` does, in this process: it has loaded what another would load for each
    command anew, which takes longer than most commands."""
    return CliRunner().invoke(main, [*map(str, args)])


def sallyport(*args: object, check: bool = True) -> Result:
    """What `./sallyport` does; with `check` a non-zero exit fails the test with what it printed.
    Trials are made, never looked up."""
    fresh = ("--no-cache",) if args[0] == "rfc2544" else ()
    done = called(*args, *fresh)
    if check and done.exit_code != 0:
        pytest.fail(f"sallyport {' '.join(map(str, args))} exited {done.exit_code}:\n{done.stdout}{done.stderr}")
    return done


def quiet_cycles(*batches: str) -> int:
    """How long no beat crosses a port before a run is at its end. AES-GCM is done with the longest
    packet within 800 cycles, the slowest suite within 20,500 (LaneSpec); most of a run of one
    capture would be waiting for that."""
    slow = any(word in batch for batch in batches for word in ("auth", "chacha", "enc "))
    return 32768 if slow else 4096


@dataclass
class Outcome:
    """What one replay left: frames out of the far port, and back out of the port where frames went
    in, punted frames, counters by chip and name."""

    out: list[bytes]
    back: list[bytes]
    counters: dict[str, dict[str, int]]
    folder: Path

    def named(self) -> dict[str, int]:
        """Every punt and drop counter that is not zero, as "chip.name"."""
        return {
            f"{chip}.{name}": count
            for chip, values in self.counters.items()
            for name, count in values.items()
            if count and name.startswith(("drop_", "punt_"))
        }


class Box:
    """One simulated box with a batch file; `red` and `black` put frames into a port and return what
    came of it."""

    def __init__(self, folder: Path, batch: str) -> None:
        self.folder = folder
        self.batch = folder / "box.xfrm"
        self.batch.write_text(batch)
        self.runs = 0

    def red(self, frames: list[bytes | Packet] | Path, *options: object) -> Outcome:
        return self._run("red", "black", frames, options)

    def black(self, frames: list[bytes | Packet] | Path, *options: object) -> Outcome:
        return self._run("black", "red", frames, options)

    def _run(self, port: str, far: str, frames: list[bytes | Packet] | Path, options: tuple) -> Outcome:
        self.runs += 1
        out = self.folder / f"run{self.runs}"
        source = frames
        if not isinstance(frames, Path):
            source = self.folder / f"run{self.runs}.pcap"
            write_frames(source, frames)
        quiet = ("--quiet-cycles", quiet_cycles(self.batch.read_text()))
        done = called("replay", "--xfrm", self.batch, f"--{port}", source, "--out", out, *quiet, *options)
        if done.exit_code != 0:
            pytest.fail(f"sallyport replay of {source} exited {done.exit_code}:\n{done.output}")
        counters = json.loads((out / "counters.json").read_text())
        leaving, back = (read_frames(out / f"{name}.pcapng") for name in (far, port))
        return Outcome(leaving, back, {chip: counters[chip] for chip in ("inner", "crypto", "outer")}, out)
