# SPDX-License-Identifier: Apache-2.0
"""The co-simulation as a child process (docs/reference/simulator.md), with its boxes configured
through the real `sallyctl`."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from sallyport.errors import CheckFailed, InputError

ROOT = Path(__file__).resolve().parents[3]
# What programs of the simulation are built into, by the size of the chips' tables, and what
# builds them.
TABLES = {
    "standard": (ROOT / "build" / "bin", "make sim mgmt"),
    "full": (ROOT / "build" / "full" / "bin", "make sim TABLES=full"),
    "slow": (ROOT / "build" / "slow" / "bin", "make sim TABLES=slow"),  # standard, one lane
}
# The simulation's program, by the model of the crypto chip's lanes: their RTL, or C++ with the same
# outputs in the same cycles.
CRYPTO = {"rtl": "sallyport-sim", "model": "sallyport-sim-model"}
# The environment's choice of these, where there is no other.
CRYPTO_VARIABLE = "SALLYPORT_CRYPTO"
# What of a chip is simulated: its core, or with a board's shell around that.
CHIPS = ("core", "shell")
SHELL = {"rtl": "sallyport-sim-shell", "model": "sallyport-sim-shell-model"}

# Clocks that the cores may have, in MHz.
CORE_MHZ = (150, 300)


def core_clock(mhz: float) -> float:
    """The fastest clock that the simulator has and that is no faster, in MHz."""
    return round(37_500 / math.ceil(round(37_500 / mhz, 6)), 6)


# The tester's own addresses, the far end of every wire that has no other box on it.
TESTER_MAC = {"red": "02:00:00:00:00:01", "black": "02:00:00:00:00:02"}


def program(name: str, tables: str = "standard") -> str:
    """Path of a program that `make` builds; a sentence if it was not built."""
    folder, how = TABLES[tables]
    if name in SHELL.values():
        how = "make sim-shell" if tables == "standard" else f"make sim-shell TABLES={tables}"
    if name in (CRYPTO["model"], SHELL["model"]):
        how = f"{how.removesuffix(' mgmt')} CRYPTO=model"
    path = folder / name
    if not path.exists():
        raise InputError(f"{path.relative_to(ROOT)} is not built; run '{how}' first")
    return str(path)


def simulation(crypto: str | None, chips: str, tables: str) -> str:
    """Path of the simulation's program; a sentence if there is none."""
    if crypto is None:
        crypto = os.environ.get(CRYPTO_VARIABLE, "rtl")
        if crypto not in CRYPTO:
            raise InputError(f"{CRYPTO_VARIABLE}={crypto}: choose {' or '.join(CRYPTO)}")
    return program((CRYPTO if chips == "core" else SHELL)[crypto], tables)


class Simulator:
    """One running simulation. Use as a context manager; every call is deterministic for the same
    arguments and seed."""

    def __init__(
        self,
        boxes: int,
        threads: int | None,
        seed: int,
        on_progress: Callable[[float, float], None] | None = None,
        tables: str = "standard",
        own_group: bool = False,
        crypto: str | None = None,
        chips: str = "core",
        core_mhz: float = CORE_MHZ[1],
        lock_step: bool = False,
        socket_dir: Path | None = None,
        nodes: int = 0,
    ) -> None:
        """With `nodes` a cluster of so many boxes and as many far ones, whatever `boxes` is.

        `own_group`: a terminal's Ctrl-C is for this process alone. Without `crypto` the environment
        decides. Without `socket_dir` the folder of the sockets goes with it."""
        executable = simulation(crypto, chips, tables)
        self._on_progress = on_progress
        self._temporary = None if socket_dir else tempfile.TemporaryDirectory(prefix="sallyport-")
        self._sockets = socket_dir or Path(self._temporary.name if self._temporary else "")
        topology = ["--nodes", nodes] if nodes else ["--boxes", boxes]
        arguments = [executable, *topology, "--threads", threads or 0, "--seed", seed]
        if core_mhz != CORE_MHZ[1]:
            arguments += ["--core-mhz", core_mhz]
        if lock_step:
            arguments += ["--lock-step"]
        self._process = subprocess.Popen(
            [*map(str, arguments), "--socket-dir", str(self._sockets)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0 if own_group else None,
        )
        self.ready = self._read()

    def __enter__(self) -> Simulator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        status = self.close()
        if status and kind is None:
            raise CheckFailed(f"the simulation ended with status {status} when it was told to end")

    def close(self) -> int:
        """End the simulation; its exit status."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()  # the end of its input ends the simulation
        self._process.stdout.close()
        status = self._process.wait()
        if self._temporary:
            self._temporary.cleanup()
        return status

    def _read(self) -> dict:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CheckFailed(f"the simulation ended unexpectedly with status {self._process.wait()}")
        return json.loads(line)

    def _send(self, cmd: str, **fields: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"cmd": cmd, **fields}) + "\n")
        self._process.stdin.flush()

    def command(self, cmd: str, **fields: object) -> dict:
        """Send one command and return its result; [InputError] with the engine's sentence if
        it refuses."""
        self._send(cmd, **fields)
        return self._result()

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Commands inside leave no trace, neither in the boxes nor in the state that `sallyctl`
        keeps for them.

        An exception inside ends the simulation.
        """
        memories = {path: path.read_bytes() for path in self._remembered()}
        self.command("branch")
        try:
            yield
        except BaseException:
            self.close()
            raise
        self.command("join")
        for path in self._remembered():
            if path not in memories:
                path.unlink()
        for path, content in memories.items():
            path.write_bytes(content)

    def _remembered(self) -> list[Path]:
        """What software keeps of the boxes beside their sockets: state, journals, marks of
        used keys."""
        return [path for path in self._sockets.iterdir() if path.is_file()]

    def forget(self, box: int) -> None:
        """Remove what software keeps of a box, which no program may have meanwhile: then it is
        another box, new to software."""
        for path in self._remembered():
            if path.name.startswith(f"{self.socket(box).name}."):
                path.unlink()

    def trial(self, on_turn: Callable[[], dict[str, float]] | None = None, **fields: object) -> dict:
        """The command `trial`. `on_turn` is what software does in its turns; it gives the fields of
        `continue`."""
        self._send("trial", **fields)
        return self._result(on_turn)

    def live(self, on_ready: Callable[[list[dict]], None] | None = None, **fields: object) -> dict:
        """The command `live`. `on_ready` is told of the TAPs once frames are taken. SIGINT and
        SIGTERM end the run, and a second one ends it at once."""
        assert self._process.stdin is not None
        engine = self._process.stdin.fileno()

        def stop(*_: object) -> None:
            os.write(engine, b'{"cmd":"stop"}\n')

        self._send("live", **fields)
        handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            return self._result(on_ready=on_ready)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _result(
        self,
        on_turn: Callable[[], dict[str, float]] | None = None,
        on_ready: Callable[[list[dict]], None] | None = None,
    ) -> dict:
        while True:
            answer = self._read()
            if answer["event"] == "turn":
                assert on_turn is not None, "software_after_us is for trials with on_turn"
                self._send("continue", **on_turn())
                continue
            if answer["event"] == "live":
                if on_ready:
                    on_ready(answer["taps"])
                continue
            if answer["event"] == "error":
                raise InputError(answer["message"])
            if answer["event"] == "result":
                return answer
            if self._on_progress:
                self._on_progress(answer["done"], answer.get("cycles_per_s", 0.0))

    def batch(self, box: int, lines: Iterable[str]) -> None:
        """Let `sallyctl` carry out lines of an `ip -batch` file, all or none."""
        self.sallyctl(box, "-batch", "-", stdin="".join(f"{line}\n" for line in lines))

    def socket(self, box: int) -> Path:
        """Where the registers of a box answer (docs/reference/simulator-sockets.md); sallyctl keeps
        its state beside it."""
        return self._sockets / f"box{box}.sock"

    def take_all_frames(self, box: int, *devices: str) -> None:
        """A router's ports take frames to other stations, too: captures and the tester have
        addresses of their own."""
        self.batch(box, [f"link set dev {device} promisc on" for device in devices])

    def face_tester(self, box: int) -> None:
        """The tester is the next hop of all that no other is named for, and sends to no address of
        the box."""
        for device, mac in TESTER_MAC.items():
            self.sallyctl(box, "next-hop", "default", "dev", device, "lladdr", mac)
        self.take_all_frames(box, *TESTER_MAC)

    def sallyctl(self, box: int, *arguments: object, stdin: str = "") -> str:
        """Run `sallyctl` on a box; its sentence becomes an [InputError] if it exits with 2."""
        done = subprocess.run(
            [program("sallyctl"), "--socket", str(self.socket(box)), *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 2:
            raise InputError(done.stderr.strip().removeprefix("sallyctl: "))
        if done.returncode != 0:
            raise CheckFailed(f"box {box}: {done.stderr.strip()}")
        return done.stdout

    def suites(self, box: int) -> list[str]:
        """What the crypto chip of a box says it was built with, by strongSwan's names
        ([sallyport.suites.Suite.built])."""
        return json.loads(self.sallyctl(box, "id", "--json"))["crypto"]["capabilities"].get("suites", [])

    def counters(self, box: int) -> dict:
        """Every counter of every chip of a box by name, and the account that received = sent +
        punted + dropped."""
        return json.loads(self.sallyctl(box, "counters", "--json"))
