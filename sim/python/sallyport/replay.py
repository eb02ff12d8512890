# SPDX-License-Identifier: Apache-2.0
"""Real frames through one box, and from its management CPU: captures of the frames that come out,
and every counter by name."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path

from rich.console import Console
from scapy.error import Scapy_Exception
from scapy.packet import Raw
from scapy.utils import PcapWriter, RawPcapReader

from sallyport import faults as faults_module
from sallyport.errors import CheckFailed, InputError
from sallyport.faults import UNDERSIZE_BYTES, Faults
from sallyport.simulator import CORE_MHZ, TESTER_MAC, Simulator

MINIMUM_BYTES = 60  # of a frame without its FCS
PUNT_PORTS = ("inner", "outer")
PORTS = {"inner": "red", "outer": "black"}  # of the interface chips


def run(
    xfrm: Path,
    red: Path | None,
    black: Path | None,
    injected: dict[str, Path],
    out: Path,
    faults: tuple[str, ...],
    threads: int | None,
    seed: int,
    crypto: str | None = None,
    chips: str = "core",
    core_mhz: float = CORE_MHZ[1],
    quiet_cycles: int = 32768,
) -> None:
    """Send a capture into one port of one box, and others from the management CPU (`injected`, by
    chip); see docs/reference/commands.md for what DIR holds afterwards."""
    if (red and black) or not (red or black or injected):
        raise InputError(
            "replay takes one capture (--red FILE or --black FILE) and frames to inject (--inject-inner FILE, "
            "--inject-outer FILE): give at least one of these"
        )
    capture, into = (red, "red") if red else (black, "black")
    todo = faults_module.parse(faults)
    for path in (xfrm, capture, *injected.values()):
        if path:
            readable(path)
    frames = _frames(capture) if capture else []
    for path in injected.values():
        _frames(path)
    for number in todo.bad_fcs + todo.undersize:
        if number > len(frames):
            raise InputError(
                f"--fault names frame {number}, but {capture or 'no capture into a port'} holds {len(frames)}"
            )
    with Simulator(boxes=1, threads=threads, seed=seed, crypto=crypto, chips=chips, core_mhz=core_mhz) as sim:
        sim.sallyctl(0, "-batch", xfrm)
        _flip(sim, todo.upsets)
        _tester_as_neighbour(sim, xfrm)
        if devices := [device for device in TESTER_MAC if not names_promisc(xfrm, device)]:
            sim.take_all_frames(0, *devices)
        out.mkdir(parents=True, exist_ok=True)
        for port in PORTS.values():
            sim.command("capture", port=f"box0.{port}", direction="out", file=str(out / f"{port}.pcapng"))
        for chip in PUNT_PORTS:
            sim.command("capture", port=f"box0.{chip}.punt", direction="out", file=str(out / f"punt-{chip}.pcapng"))
        _inject(sim, todo, seed)
        sources = [
            {"port": f"box0.{chip}.inject", "file": str(path.resolve())} for chip, path in sorted(injected.items())
        ]
        if capture:
            source = {"port": f"box0.{into}", "file": str(capture.resolve()), "bad_fcs": todo.bad_fcs}
            if todo.undersize:
                cut = out / "cut.pcap"
                _write_cut(cut, frames, todo.undersize)
                source |= {"file": str(cut), "pad": False}
            sources.append(source)
        answer = sim.command("replay", inputs=sources, quiet_cycles=quiet_cycles)
        counters = sim.counters(0)
        sim.command("quit")
    if todo.undersize:
        (out / "cut.pcap").unlink()
    (out / "counters.json").write_text(json.dumps(counters, indent=2, sort_keys=True) + "\n")
    _say(counters)
    if not answer["quiescent"]:
        raise CheckFailed("the box did not come to rest")
    wrong = [path for path in counters["conservation"]["paths"] if not path["balanced"]]
    if wrong:
        names = ", ".join(f"{path['chip']} {path['path']}" for path in wrong)
        raise CheckFailed(
            f"received and injected is not sent + punted + dropped + held on: {names} (see {out / 'counters.json'})"
        )


def readable(path: Path) -> None:
    """A file that can be read, or a sentence."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a file that can be read") from None


def _frames(path: Path) -> list[bytes]:
    try:
        with RawPcapReader(str(path)) as reader:
            return [data for data, _ in reader]
    except (Scapy_Exception, EOFError, ValueError) as error:
        raise InputError(f"{path}: not a pcap or pcapng capture of Ethernet frames ({error})") from None


def _write_cut(path: Path, frames: list[bytes], undersize: list[int]) -> None:
    """The capture with some frames cut short; the others are padded here, since the engine then
    must not."""
    with PcapWriter(str(path), linktype=1) as writer:
        for number, frame in enumerate(frames, start=1):
            short = number in undersize
            writer.write(Raw(frame[:UNDERSIZE_BYTES] if short else frame.ljust(MINIMUM_BYTES, b"\0")))


def _tester_as_neighbour(sim: Simulator, xfrm: Path) -> None:
    """Where the batch names no neighbour on a device, the frames go to the tester: say so."""
    for device, mac in TESTER_MAC.items():
        if not names_neighbour(xfrm, device):
            sim.sallyctl(0, "next-hop", "default", "dev", device, "lladdr", mac)
            Console(stderr=True).print(
                f"{xfrm} names no neighbour on {device}: using the tester's {mac}", soft_wrap=True
            )


def names_neighbour(xfrm: Path, device: str) -> bool:
    """True if a batch names a neighbour on a device, or needs none: a bridge has no next hops."""
    text = xfrm.read_text(errors="replace")
    patterns = (r"^\s*link\s.*\bmaster\b", rf"^\s*neigh\w*\s.*\bdev\s+{device}\b")
    return any(re.search(pattern, text, re.MULTILINE) for pattern in patterns)


def names_promisc(xfrm: Path, device: str) -> bool:
    """True if a batch says whether a port takes frames to other stations; a bridge does."""
    text = xfrm.read_text(errors="replace")
    patterns = (r"^\s*link\s.*\bmaster\b", rf"^\s*link\s.*\b{device}\b.*\bpromisc\b")
    return any(re.search(pattern, text, re.MULTILINE) for pattern in patterns)


def _flip(sim: Simulator, upsets: list[dict[str, str | int]]) -> None:
    """Flips bits of memories; an [InputError] if one is not there."""
    names = [memory["name"] for memory in sim.command("memories")["memories"]] if upsets else []
    for upset in upsets:
        if upset["upset"] not in names:
            near = ", ".join(difflib.get_close_matches(str(upset["upset"]), names, cutoff=0.3)) or names[0]
            raise InputError(f"--fault upset: there is no memory {upset['upset']!r}; there are {near}")
        sim.command("fault", **upset)


def _inject(sim: Simulator, faults: Faults, seed: int) -> None:
    if faults.links:
        for link in sim.ready["links"]:
            sim.command("fault", link=link, seed=seed, **faults.links)
    if faults.tamper:
        sim.command("tamper", box=0, on=True)


def _say(counters: dict) -> None:
    """Every counter that moved, chip by chip, on standard output."""
    for chip in ("inner", "crypto", "outer"):
        for name, count in counters[chip].items():
            if count:
                print(f"{chip:7} {name:32} {count}")
