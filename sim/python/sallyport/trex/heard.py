# SPDX-License-Identifier: Apache-2.0
"""What the charon of a box says while a test goes on, with the moments when it said that."""

from __future__ import annotations

import re
import subprocess
import threading
import time

from sallyport.trex import ssh as far
from sallyport.trex.lab import Box, Ssh


class Heard:
    """`swanctl --log` of a box: charon's log at its levels 0 and 1. A line has the time of this
    machine at which it came.

    swanctl keeps lines back unless it writes to a terminal, so it gets one. Every question may
    raise [far.Unanswered].
    """

    def __init__(self, box: Box, ssh: Ssh) -> None:
        self._command, self._name = f"{ssh.swanctl} --log", box.name
        self._lines: list[tuple[float, str]] = []
        try:
            self._process = subprocess.Popen(
                far.words(box, ssh, self._command, terminal=True),
                stdin=subprocess.PIPE,  # whose end would be the terminal's
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise far.Unanswered(f"ssh cannot be run ({error.strerror})") from None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.append((time.time(), line.rstrip()))

    def _all(self) -> list[tuple[float, str]]:
        if self._process.poll() is not None:
            self._thread.join()
            said = far.last("\n".join(line for _, line in self._lines))
            raise far.Unanswered(f"{self._name}: '{self._command}' ended ({said})")
        return [*self._lines]

    def said_at(self, pattern: str, after: float) -> float | None:
        """When a line with the pattern first came since `after`, in seconds since the epoch."""
        return next((at for at, line in self._all() if at >= after and re.search(pattern, line)), None)

    def count(self, pattern: str) -> int:
        """Lines with the pattern so far."""
        return sum(bool(re.search(pattern, line)) for _, line in self._all())

    def close(self) -> None:
        """Hear no more."""
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()
