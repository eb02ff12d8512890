# SPDX-License-Identifier: Apache-2.0
"""One box alone between two ports of TRex: SAs with the tester's keys in it, and loads for both of
its sides.

TRex knows its frames by what it wrote into them, and a box alone sends them out as others. So its
ports count them, and nothing has a latency.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from sallyport.backend import Setup, Trial
from sallyport.backend_sim.attack import KINDS
from sallyport.errors import InputError
from sallyport.trex import boxes, encrypted, frames, streams
from sallyport.trex.encrypted import WAY, Sender
from sallyport.trex.lab import Lab
from sallyport.trex.streams import Load, Way
from sallyport.tunnels import Tunnels

WITHOUT = ("latency", "recovery", "reset")  # tests that need frames which come out as they went in
FLUSH = ("xfrm policy flush", "xfrm state flush")
RESERVE = 2  # times the frames of a trial, for the numbers of an SA


def attacks(lab: Lab) -> tuple[str, ...]:
    """The hostile senders that the lab can be."""
    return KINDS if lab.alone and lab.tester.captures else ()


def counted(trial: Trial) -> Trial:
    """The trial as a number of frames, which is what ports can tell of."""
    if trial.burst is not None:
        return trial
    return replace(trial, burst=max(1, round(trial.fps * Fraction(trial.setup.measure_ns, 10**9))))


def hidden(lab: Lab, lost: int, dropped: dict[str, int]) -> list[str]:
    """A sentence if the box dropped more than ports miss: they count frames of others, too."""
    counted = sum(count for name, count in dropped.items() if name.split(".")[-1].startswith("drop_"))
    name = lab.boxes[0].name
    if counted <= lost:
        return []
    return [
        f"{name} counted {counted} drops, and TRex's ports miss {lost} frames: others hide lost ones, or were dropped"
    ]


def red_tag(lab: Lab) -> int:
    """Bytes of the tag of red frames."""
    return frames.VLAN if lab.ends[0].vlan else 0


class Alone:
    """The box's SAs, and who sends to it. Every call may raise [boxes.Unanswered]."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._written: Setup | None = None  # what the box's SAs are of
        self._tunnels: Tunnels | None = None  # these
        self._sender: Sender | None = None
        self._file: Path | None = None

    def close(self) -> None:
        """Leave no file."""
        if self._file:
            with contextlib.suppress(OSError):
                self._file.unlink(missing_ok=True)
        self._file = None

    def prepare(self, setup: Setup, count: int = 0) -> None:
        """Let the box have the SAs of a setup, and numbers for so many frames. New SAs have new
        keys: with one that a box has sent before it would repeat nonces, so it refuses that."""
        sas = replace(setup, mix={}, direction="both", warmup_ns=0, measure_ns=0)
        if sas == self._written and self._sender and self._sender.room(RESERVE * count):
            return
        self._written, tunnels = None, Tunnels(sas, secrets.token_hex(32))
        boxes.write(self._lab, "".join(f"{line}\n" for line in [*FLUSH, *tunnels.associations(0)]))
        self._written, self._tunnels = sas, tunnels
        self._sender = Sender(sas, tunnels, self._lab.order, red_tag(self._lab))

    @property
    def tunnels(self) -> Tunnels:
        """The SAs that the box has, with their keys."""
        assert self._tunnels
        return self._tunnels

    def way(self, way: Way, trial: Trial) -> Way:
        """A direction whose frames ports count."""
        assert trial.burst is not None
        pushed = trial.burst if way.number == WAY else 0
        return replace(way, by_port=True, pushed=pushed, parts=2 if trial.attack else 1)

    def load(self, way: Way, trial: Trial) -> Load:
        """What TRex sends in one direction: clear frames by a stream, ESP by a file.

        [InputError] if the file would be too long.
        """
        setup, count = trial.setup, trial.burst
        assert count is not None and self._sender
        if way.number != WAY:
            return streams.burst(self._lab, setup, way, count, trial.fps)
        needed = encrypted.length(setup, way, count, way.parts)
        if needed > self._lab.tester.capture_mib << 20:
            raise InputError(
                f"{count:,} frames of ESP are a file of {needed >> 20:,} MiB, and {self._lab.file} allows "
                f"{self._lab.tester.capture_mib:,} (trex.capture_mib); choose a shorter --measure-us or a lower --load"
            )
        sent = self._sender.frames(setup.mix, way, count)
        made = encrypted.attacked(sent, trial.attack) if trial.attack else (frame for frame, _ in sent)
        file = self._kept()
        encrypted.write(file, made)
        return Load([], [], Fraction(0), trial.fps, file, float(10**6 / trial.fps / way.parts))

    def _kept(self) -> Path:
        """The file of frames, the same for all trials, which the server's user may read."""
        folder = self._lab.tester.captures
        assert folder
        if not self._file:
            try:
                descriptor, name = tempfile.mkstemp(".pcap", "sallyport-", folder)
            except OSError as error:
                raise InputError(
                    f"{self._lab.file}: trex.captures: no file can be made in {folder} ({error.strerror}); name another folder"
                ) from None
            os.fchmod(descriptor, 0o644)
            os.close(descriptor)
            self._file = Path(name)
        return self._file
