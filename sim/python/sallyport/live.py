# SPDX-License-Identifier: Apache-2.0
"""TAP devices as cables of simulated boxes, and recordings of such runs once more;
docs/reference/live.md is a tour of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from sallyport.errors import CheckFailed, InputError
from sallyport.replay import names_neighbour, names_promisc, readable
from sallyport.simulator import TESTER_MAC, Simulator

MAX_NAME = 15  # characters of a Linux device's name


def run(
    xfrm: tuple[Path, ...],
    red_taps: tuple[str, ...],
    black_taps: tuple[str, ...],
    replay: Path | None,
    record: Path | None,
    threads: int | None,
    crypto: str,
    chips: str,
    seed: int,
    socket_dir: Path | None,
) -> None:
    """Boxes on TAPs until Ctrl-C or SIGTERM, or a recording of such a run through boxes of their
    own; then a summary."""
    devices = _devices(len(xfrm), red_taps, black_taps, replay)
    for path in (*xfrm, *([replay] if replay else [])):
        readable(path)
    _recordable(record, replay)
    if socket_dir and not socket_dir.is_dir():
        raise InputError(f"--socket-dir {socket_dir}: there is no such folder; make it first")
    with (
        _terminable(),
        Simulator(
            boxes=len(xfrm),
            threads=threads,
            seed=seed,
            own_group=True,
            crypto=crypto,
            chips=chips,
            socket_dir=socket_dir,
        ) as sim,
    ):
        for box, path in enumerate(xfrm):
            sim.sallyctl(box, "-batch", path)
            _neighbours(sim, box, path, cabled=len(xfrm) == 2)
        recorded = str(record.resolve()) if record else ""
        if replay:
            answer = sim.live(replay=str(replay.resolve()), record=recorded)
        else:
            taps = [{"port": port, "device": device} for port, device in devices.items()]
            sockets = [sim.socket(box) for box in range(len(xfrm))]
            answer = sim.live(lambda taken: _invite(taken, sockets), taps=taps, record=recorded)
        counters = [sim.counters(box) for box in range(len(xfrm))]
    _summary(answer, counters)
    if record:
        touched = any(answer["software"].values())
        print(f"recorded: {record}" + (", which cannot be replayed: software took part" if touched else ""))
    _judge(answer, counters)


def _devices(boxes: int, red: tuple[str, ...], black: tuple[str, ...], replay: Path | None) -> dict[str, str]:
    """The TAP of each port that is not the simulated cable's, or the sentence that says
    what fits."""
    if not 1 <= boxes <= 2:
        raise InputError(f"live takes --xfrm FILE once, or twice for two boxes back to back, not {boxes} times")
    if replay:
        if red or black:
            raise InputError("--replay FILE takes the place of the TAPs: give no --red-tap and no --black-tap with it")
        return {}
    if boxes == 1 and (len(red), len(black)) != (1, 1):
        raise InputError(
            f"one box (--xfrm once) has one --red-tap and one --black-tap, not {len(red)} and {len(black)}: give NAME for each"
        )
    if boxes == 2 and (len(red), len(black)) != (2, 0):
        raise InputError(
            f"two boxes (--xfrm twice) have two --red-tap and no --black-tap, since their black ports are the simulated cable, "
            f"not {len(red)} and {len(black)}"
        )
    names = (*red, *black)
    for name in names:
        if len(name.encode()) > MAX_NAME:
            raise InputError(
                f"device name {name!r} is too long: Linux takes {MAX_NAME} characters, this has {len(name)}"
            )
    if len(set(names)) < len(names):
        raise InputError(f"device {names[0]!r} is named twice: each port needs a TAP of its own")
    ports = ("box0.red", "box0.black") if boxes == 1 else ("box0.red", "box1.red")
    return dict(zip(ports, names, strict=True))


def _recordable(record: Path | None, replay: Path | None) -> None:
    """The engine opens the file once all else is in order. This check reports certain failures
    before the run begins."""
    if not record:
        return
    if replay and record.resolve() == replay.resolve():
        raise InputError(f"--record {record} is the recording that --replay reads: choose another name")
    if record.is_dir() or not os.access(record if record.exists() else record.resolve().parent, os.W_OK):
        raise InputError(f"--record {record}: cannot be written; give a file in a folder that exists and is yours")


def _neighbours(sim: Simulator, box: int, path: Path, cabled: bool) -> None:
    """The far end of the simulated cable takes frames to any address. A host on a TAP does not, and
    no ARP request asks it yet.

    For the same reason a cabled box takes frames to any address from its cable.

    A replay must configure its boxes as the run that it repeats did, so this does not look at
    the TAPs."""
    for device, mac in TESTER_MAC.items():
        if names_neighbour(path, device):
            continue
        if not (cabled and device == "black"):
            Console(stderr=True).print(
                f"{path} names no neighbour on {device}, and chips do not ask by ARP: what they route out there reaches no "
                f"station; give 'neigh add ADDRESS lladdr MAC dev {device}', or run sallyportd with [taps]",
                soft_wrap=True,
                markup=False,
                highlight=False,
            )
        else:
            sim.sallyctl(box, "next-hop", "default", "dev", device, "lladdr", mac)
    if cabled and not names_promisc(path, "black"):
        sim.take_all_frames(box, "black")


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM is Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _invite(taps: list[dict], sockets: list[Path]) -> None:
    """The state of the run, and the command to type next."""
    for tap in taps:
        made = "made, and gone when this ends" if tap["created"] else "which was there"
        print(f"{tap['port']} is TAP {tap['device']} ({made})")
    if len({tap["port"][:4] for tap in taps}) == 2:
        print("box0.black and box1.black are the two ends of a simulated cable")
    for box, socket in enumerate(sockets):
        print(f"box{box}: build/bin/sallyctl --socket {socket}")
    print(
        "\nThe devices may be moved into namespaces now. In another shell, as root, with addresses of the --xfrm file:\n"
    )
    for number, tap in enumerate(taps, start=1):
        name, space = tap["device"], f"host{number}"
        print(
            f"  ip netns add {space}; ip link set {name} netns {space}; "
            f"ip -n {space} addr add ADDRESS/LENGTH dev {name}; ip -n {space} link set {name} up"
        )
    print("  ip netns exec host1 ping ADDRESS-OF-HOST2\n\nCtrl-C ends the run and prints a summary.", flush=True)


def _summary(answer: dict, counters: list[dict]) -> None:
    print("\nport          frames in  frames out")
    for row in answer["ports"]:
        where = f"  {row['device']}" if "device" in row else ""
        lost = f", {row['undelivered']} not taken by it (down?)" if row.get("undelivered") else ""
        print(f"{row['port']:12}  {row['in_frames']:9}  {row['out_frames']:10}{where}{lost}")
    print()
    for box, chips in enumerate(counters):
        for chip in ("inner", "crypto", "outer"):
            for name, count in chips[chip].items():
                if count and name.startswith(("drop_", "punt_")):
                    print(f"box{box} {chip:7} {name:32} {count}")
    simulation, asleep = answer["simulation"], answer["asleep_s"]
    awake = simulation["wall_s"] - asleep
    speed = simulation["sim_cycles"] / awake / 1000 if awake > 0 else 0.0
    print(
        f"simulated: {simulation['sim_cycles']} cycles, {simulation['sim_us'] / 1000:.3f} ms, in {simulation['wall_s']:.1f} s, "
        f"{asleep:.1f} s of them asleep; {speed:.1f} k cycles/s awake"
    )
    software = answer["software"]
    if any(software.values()):
        print(f"software: {software['requests']} register requests, {software['injected']} frames injected")


def _judge(answer: dict, counters: list[dict]) -> None:
    """The account of each chip and path, as after a replay."""
    wrong = [
        f"box{box} {path['chip']} {path['path']}"
        for box, chips in enumerate(counters)
        for path in chips["conservation"]["paths"]
        if not path["balanced"]
    ]
    if wrong:
        rest = "" if answer["quiescent"] else ", with frames still on their way"
        raise CheckFailed(f"received and injected is not sent + punted + dropped + held on: {', '.join(wrong)}{rest}")
    print("conservation: received, injected and split = sent + punted + dropped + merged + held on every chip and path")
    if "gone" in answer:
        raise CheckFailed(answer["gone"])
    if not answer["quiescent"]:
        print("the boxes were not at rest when the run ended: dummy packets, or a second Ctrl-C")
