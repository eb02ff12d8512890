# SPDX-License-Identifier: Apache-2.0
"""A `sallyportd` for a simulated box, and a client of its control socket
(docs/reference/control-socket.md)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import urllib.request
from pathlib import Path

from sallyport.simulator import program
from tests.support.namespaces import Host

# Two runs of the tests on one machine have other ports, below those that the kernel gives out.
METRICS_PORT = 20000 + os.getpid() * 8 % 12000


class Client:
    """One connection to a control socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(300)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rb")
        self._last = 0

    def next(self) -> dict:
        """The next line."""
        return json.loads(self._lines.readline())

    def ask(self, do: str, **fields: object) -> dict:
        """The answer to a request, whatever it is."""
        self._last += 1
        self._socket.sendall(json.dumps({"id": self._last, "do": do, **fields}).encode() + b"\n")
        answer = self.next()
        assert answer["id"] == self._last
        return answer

    def get(self, do: str, **fields: object) -> dict:
        """The answer to a request that must be carried out."""
        answer = self.ask(do, **fields)
        assert answer["ok"], answer
        return answer

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


class Daemon:
    """The daemon of the box whose registers answer at `registers`, in a namespace or not; `folder`
    is its own. `start` it; it may be killed and started again. Without a number the daemon serves
    no metrics."""

    def __init__(
        self, registers: Path, folder: Path, number: int | None = 0, more: str = "", inside: Host | None = None
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.registers = registers
        self.control, self.log_path, self.config = folder / "c.sock", folder / "log", folder / "sallyportd.toml"
        listen = "" if number is None else f"127.0.0.1:{METRICS_PORT + number}"
        self.metrics_url = f"http://{listen}/metrics"
        self.config.write_text(
            f'registers = "unix:{registers}"\n{more}\n[control]\npath = "{self.control}"\n[log]\nlevel = "debug"\n'
            f'[metrics]\nlisten = "{listen}"\n'
        )
        command = [program("sallyportd"), "--config", str(self.config)]
        self._command = inside.command(*command) if inside else command
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Return when the daemon answers."""
        with self.log_path.open("a") as log:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True)
        while True:
            assert self._process.poll() is None, self.log()
            try:
                client = Client(self.control)
            except OSError:
                continue
            client.get("capabilities")
            client.close()
            return

    def rights(self) -> set[str]:
        """The capabilities that its threads have, as the kernel prints them."""
        assert self._process is not None
        threads = Path(f"/proc/{self._process.pid}/task").iterdir()
        words = [line.split() for thread in threads for line in (thread / "status").read_text().splitlines()]
        return {word[1] for word in words if word and word[0] in ("CapPrm:", "CapEff:", "CapAmb:")}

    def kill(self) -> None:
        """SIGKILL, as a crash is."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(timeout=300)

    def log(self) -> str:
        return self.log_path.read_text()

    def sallyctl(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """`sallyctl` through the daemon."""
        return subprocess.run(
            [program("sallyctl"), "--daemon", str(self.control), *map(str, arguments)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def metrics(self) -> dict[str, float]:
        """What Prometheus reads, by name with labels."""
        with urllib.request.urlopen(self.metrics_url) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}
