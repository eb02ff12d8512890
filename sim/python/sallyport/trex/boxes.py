# SPDX-License-Identifier: Apache-2.0
"""The boxes under test, reached over ssh: configured by sallyctl before the first packet, their
drop counters around each trial."""

from __future__ import annotations

import json
import shlex
import subprocess

from sallyport.errors import CheckFailed, InputError
from sallyport.trex.lab import Box, Lab, Ssh
from sallyport.trex.ssh import ANSWER_SECONDS, Unanswered, last, run

COUNTED = ("drop_", "punt_")

Counters = dict[str, int]


def reached(lab: Lab) -> list[tuple[int, Box, Ssh]]:
    """The boxes that the lab file says how to reach, with their numbers."""
    return [(number, box, box.ssh) for number, box in enumerate(lab.boxes) if box.ssh]


def configure(lab: Lab) -> None:
    """Write each box's batch file and see that its counters can be read; [InputError] for the first
    box that fails."""
    for number, box, ssh in reached(lab):
        try:
            if ssh.configure:
                _run(box, ssh, "-batch", "-", given=ssh.configure.read_text())
            _counters(number, box, ssh)
        except OSError as error:
            raise InputError(
                f"{lab.file}: boxes[{number}].ssh.configure: {ssh.configure} cannot be read ({error.strerror}); "
                "name the box's ip -batch file"
            ) from None
        except Unanswered as error:
            raise InputError(
                f"{lab.file}: {error}; see boxes[{number}].ssh there, or leave it out and configure the box by hand"
            ) from None


def write(lab: Lab, batch: str) -> None:
    """Have a box alone carry out a batch, and send to TRex's ports; [Unanswered] if it does not."""
    box = lab.boxes[0]
    assert box.ssh
    for device, end in zip(("red", "black"), lab.ends, strict=True):
        # a command of sallyctl alone, which no batch file may hold
        _run(box, box.ssh, "next-hop", "default", "dev", device, "lladdr", end.mac)
    _run(box, box.ssh, "-batch", "-", given=batch)


def counters(lab: Lab) -> Counters:
    """Every drop and punt counter of every box, as "box0.outer.drop_replay"; [Unanswered] if one
    does not tell."""
    return {name: count for number, box, ssh in reached(lab) for name, count in _counters(number, box, ssh).items()}


def risen(before: Counters, after: Counters) -> Counters:
    """The counts since `before`, without zeros. A box that was reset begins at 0 again."""
    found = {name: count - (old if count >= (old := before.get(name, 0)) else 0) for name, count in after.items()}
    return {name: count for name, count in found.items() if count}


class Command:
    """A command of the lab file that runs on this machine while traffic goes on."""

    def __init__(self, lab: Lab, kind: str) -> None:
        self._words = shlex.split(lab.boxes[0].commands[kind])
        self._told = f"{lab.file}: boxes[0].commands.{kind}"
        self._process: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise CheckFailed(f"{self._told}: {self._words[0]} cannot be run ({error.strerror})") from None

    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process is not None and self._process.poll() is None

    def failure(self) -> str | None:
        """Why it failed, once traffic is over; None if it did not."""
        assert self._process
        try:
            _, errors = self._process.communicate(timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return f"{self._told} did not end within {ANSWER_SECONDS:.0f} s"
        if self._process.returncode:
            return f"{self._told} ended with status {self._process.returncode}: {last(errors)}"
        return None


def _counters(number: int, box: Box, ssh: Ssh) -> Counters:
    text = _run(box, ssh, "counters", "--json")
    try:
        chips = json.loads(text)
        return {
            f"box{number}.{chip}.{name}": int(count)
            for chip, values in chips.items()
            if chip != "conservation"
            for name, count in values.items()
            if name.startswith(COUNTED)
        }
    except (ValueError, TypeError, AttributeError):
        raise Unanswered(f"{box.name}: '{ssh.sallyctl} counters --json' gave no counters") from None


def _run(box: Box, ssh: Ssh, *arguments: str, given: str = "") -> str:
    return run(box, ssh, shlex.join([*shlex.split(ssh.sallyctl), *arguments]), given)
