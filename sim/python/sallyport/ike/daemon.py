# SPDX-License-Identifier: Apache-2.0
"""A sallyportd for a box, and questions to it (docs/reference/control-socket.md)."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from pathlib import Path

from sallyport.errors import CheckFailed
from sallyport.ike.spaces import Space
from sallyport.simulator import program

START_S = 30  # in which a daemon answers
ANSWER_S = 300  # of the slowest request, a list of full tables
SPI = re.compile(r"spi (0x[0-9a-f]{8})")


class Daemon:
    """The daemon of the box whose registers answer at `registers`; `folder` is its own.

    Its devices of Linux, without which it does not see the packets that wait for an SA, are in
    `space`.
    """

    def __init__(self, registers: Path, folder: Path, space: Space) -> None:
        self._folder = folder
        folder.mkdir()
        self.control = folder / "c.sock"
        config = folder / "sallyportd.toml"
        config.write_text(
            f'registers = "unix:{registers}"\n[control]\npath = "{self.control}"\n[metrics]\nlisten = ""\n'
            '[taps]\nred = "sp-red"\nblack = "sp-black"\n'
        )
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                space.command(program("sallyportd"), "--config", config), stdout=subprocess.DEVNULL, stderr=log
            )

    def wait_until_ready(self) -> None:
        """Return when it answers; [CheckFailed] with the end of its log if it does not."""
        end = time.monotonic() + START_S
        while True:
            try:
                self.ask("capabilities")
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > end:
                    said = (self._folder / "log").read_text().strip()[-500:]
                    raise CheckFailed(f"sallyportd did not start: {said}") from None
                time.sleep(0.02)

    def ask(self, do: str, **fields: object) -> dict:
        """The answer to one request; [CheckFailed] with the daemon's sentence if it refuses."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_S)
            connection.connect(str(self.control))
            connection.sendall(json.dumps({"id": 1, "do": do, **fields}).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline())
        if not answer["ok"]:
            raise CheckFailed(f"sallyportd refused {do}: {answer['error']}")
        return answer

    def spis(self) -> set[str]:
        """Those of all SAs of its box."""
        return {found[1] for item in self.ask("list", what="state")["items"] if (found := SPI.search(item))}

    def policies(self) -> int:
        """How many its box has."""
        return len(self.ask("list", what="policy")["items"])

    def kill(self) -> None:
        """As a crash ends it; a second call does nothing."""
        self._process.kill()
        self._process.wait()
