"""Shared by the tests that run whole boxes: where things are, and one call that puts frames through a box."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from scapy.packet import Packet, Raw
from scapy.utils import EDecimal, PcapWriter, RawPcapReader

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def built_suites() -> list[str]:
    """The suites that the simulated crypto chip says it has."""
    from sallyport.simulator import Simulator

    with Simulator(boxes=1, threads=None, seed=1) as sim:
        return sim.suites(0)


@pytest.fixture(scope="session")
def office_lan() -> Path:
    """The real capture, or a skip that says what is missing."""
    path = SHARED / "pcaps" / "office-lan.pcap"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this clone (../shared/pcaps)")
    return path


def sallyport(*args: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run ./sallyport; with `check` a non-zero exit fails the test with what it printed. Trials are made, never looked up."""
    fresh = ("--no-cache",) if args[0] == "rfc2544" else ()
    done = subprocess.run(
        [str(ROOT / "sallyport"), *map(str, args), *fresh], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if check and done.returncode != 0:
        pytest.fail(f"sallyport {' '.join(map(str, args))} exited {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


@dataclass
class Outcome:
    """What one replay left: frames out of the far port, punted frames, counters by chip and name."""

    out: list[bytes]
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
    """One simulated box with a batch file; `red` and `black` put frames into a port and return what came of it."""

    def __init__(self, folder: Path, batch: str) -> None:
        self.folder = folder
        self.batch = folder / "box.xfrm"
        self.batch.write_text(batch)
        self.runs = 0

    def red(self, frames: list[bytes | Packet] | Path, *options: object) -> Outcome:
        return self._run("red", "black.pcapng", frames, options)

    def black(self, frames: list[bytes | Packet] | Path, *options: object) -> Outcome:
        return self._run("black", "red.pcapng", frames, options)

    def _run(self, port: str, capture: str, frames: list[bytes | Packet] | Path, options: tuple) -> Outcome:
        self.runs += 1
        out = self.folder / f"run{self.runs}"
        source = frames
        if not isinstance(frames, Path):
            source = self.folder / f"run{self.runs}.pcap"
            write_frames(source, frames)
        sallyport("replay", "--xfrm", self.batch, f"--{port}", source, "--out", out, *options)
        counters = json.loads((out / "counters.json").read_text())
        return Outcome(read_frames(out / capture), {chip: counters[chip] for chip in ("inner", "crypto", "outer")}, out)


def read_frames(path: Path) -> list[bytes]:
    """Frames of a pcap or pcapng file, as they stand in the file."""
    with RawPcapReader(str(path)) as reader:
        return [data for data, _ in reader]


def write_frames(path: Path, frames: Iterable[bytes | Packet]) -> None:
    """A pcap of Ethernet frames, none of them touched, a microsecond apart."""
    with PcapWriter(str(path), linktype=1) as writer:
        for number, frame in enumerate(frames):
            record = Raw(bytes(frame))
            record.time = EDecimal(number) / 1_000_000
            writer.write(record)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium, or a skip that says what is missing."""
    from tests.support.browsers import headless_chromium

    with headless_chromium() as chromium:
        yield chromium


@pytest.fixture
def make_box(tmp_path: Path):
    """`make_box(batch_text)` gives a [Box] in this test's folder."""
    return lambda batch: Box(tmp_path, batch)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A lab of the stand-in for TRex (tests/trex/lab.py), whose backends are closed behind the test."""
    from tests.trex.lab import Lab

    made = Lab(tmp_path, monkeypatch)
    yield made
    for backend in made.backends:
        backend.close()


@pytest.fixture(scope="session")
def charons(tmp_path_factory: pytest.TempPathFactory):
    """Two charons with the plugin of mgmt/strongswan and a simulated box each (tests/ike/charons.py)."""
    from tests.ike.charons import two_charons

    with two_charons(tmp_path_factory.mktemp("ike")) as both:
        yield both


@pytest.fixture
def fresh(charons):
    """The same without an IKE_SA, and nothing of one is left in the boxes behind the test."""
    from tests.ike.control_relay import nothing_refused

    for charon in charons:
        charon.mark()
    yield charons
    for charon in charons:
        charon.box.relay.refuse = nothing_refused
        charon.terminate()
        charon.load("")
    for charon in charons:
        charon.box.wait_until_empty()
