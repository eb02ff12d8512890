# SPDX-License-Identifier: Apache-2.0
"""TRex's client as a child process (client.py): calls of its API by name, and what becomes of them
if it or its server goes away."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import re
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from sallyport.errors import CheckFailed, InputError
from sallyport.trex.lab import Lab

PROGRAM = Path(__file__).with_name("client.py")
VARIABLE = "TREX_CLIENT"
STATELESS, STATEFUL = "stl", "astf"  # modes of a server
# for the slowest call: streams by the thousand, or a server that does not answer
ANSWER_SECONDS = 60.0
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Refused(Exception):
    """TRex's own reason for a refused request."""


class Lost(Exception):
    """The client's process, or TRex's server, is gone."""


def folder(lab: Lab) -> Path:
    """Where the package `trex` is: as the environment says, else the lab file."""
    named = os.environ.get(VARIABLE)
    path = Path(named).expanduser() if named else lab.tester.client
    if path is None:
        raise InputError(
            f"{lab.file}: trex.client: neither this field nor {VARIABLE} says where TRex's Python client is; name the folder "
            "automation/trex_control_plane/interactive of a TRex release"
        )
    source = f"{VARIABLE}={named}" if named else f"{lab.file}: trex.client: {path}"
    if not (path / "trex" / "stl" / "api.py").is_file():
        raise InputError(
            f"{source}: it has no trex/stl/api.py; name the folder automation/trex_control_plane/interactive of a TRex release"
        )
    return path.resolve()


class Client:
    """A running client of a server in `mode`, stl or astf. Its calls are short, so that an
    interrupted one is not waited for; answers that come late are dropped."""

    def __init__(self, lab: Lab, mode: str = STATELESS) -> None:
        self.mode = mode
        path = folder(lab)
        self._errors = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115 - as long as the process
        try:
            self._process = subprocess.Popen(
                [lab.tester.python, str(PROGRAM), str(path), mode],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                start_new_session=True,  # Ctrl-C is ours: we stop the traffic through it
            )
        except OSError as error:
            self._errors.close()
            raise InputError(
                f"{lab.file}: trex.python: {lab.tester.python} cannot be run ({error.strerror}); name a Python 3"
            ) from None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._numbers = itertools.count(1)
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self.python = self._answer(0)
        except (Refused, Lost) as error:
            self.close()
            raise InputError(
                f"the TRex client in {path} cannot be loaded by {lab.tester.python} ({error}); "
                "name another Python in the lab file's trex.python, or another release's client"
            ) from None

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def call(self, name: str, **arguments: object) -> Any:
        """The result of method `name` of the client, as JSON has it; [Refused] or [Lost]."""
        number = next(self._numbers)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"id": number, "call": name, "args": arguments}) + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise Lost(self._epitaph()) from None
        return self._answer(number)

    def _answer(self, number: int) -> Any:
        while True:
            try:
                line = self._answers.get(timeout=ANSWER_SECONDS)
            except queue.Empty:
                raise Lost(f"no answer in {ANSWER_SECONDS:.0f} s") from None
            if not line:
                self._answers.put("")  # for the next request
                raise Lost(self._epitaph())
            answer = json.loads(line)
            if answer["id"] != number:
                continue
            if "error" not in answer:
                return answer["result"]
            text = " ".join(_COLOUR.sub("", answer["error"]).split()).strip(" *")
            raise Lost(text) if answer["kind"] == "lost" else Refused(text)

    def _epitaph(self) -> str:
        """What the process left on its standard error: the last line of it."""
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "without a word")
        return f"its client ended with status {status}: {last}"

    def close(self) -> None:
        """End the process, which stops traffic and gives ports back; a second call does nothing."""
        if self._errors.closed:
            return
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


def lost(lab: Lab, error: Lost) -> CheckFailed:
    """The sentence for a trial that ended in the middle."""
    return CheckFailed(
        f"{lab.where} was lost in the middle of a trial ({error}); see whether it still runs there, and go on with --resume"
    )
