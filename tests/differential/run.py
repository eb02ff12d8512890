# SPDX-License-Identifier: Apache-2.0
"""One configuration, its frames, the box's deeds and the model's, compared; and the frame to blame
if they differ."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from . import (
    black_frames,
    box,
    bump_configuration,
    configuration,
    hairpin_configuration,
    lost_configuration,
    red_frames,
    vrf_configuration,
    vrf_frames,
)
from .black_judge import BlackJudge
from .bump_red_judge import BumpRedJudge
from .comparison import Mismatch, compare
from .configuration import Configuration
from .ethernet import Frame
from .outcome import Outcome
from .reassembly import Reassembly, without_incomplete
from .red_judge import RedJudge

Frames = dict[str, list[Frame]]
# Boxes of one sort, none of them a bump in the wire: with networks apart, and with ways between
# tunnels.
KINDS = {"vrfs": vrf_configuration, "hairpin": hairpin_configuration}


@dataclass(frozen=True)
class Case:
    """Frames by port, and what the model says of each."""

    config: Configuration
    frames: Frames
    outcomes: dict[str, list[Outcome]]


@dataclass(frozen=True)
class Result:
    """`report` says what differs; "" if nothing does. `seconds` are processor time but for the
    simulation's."""

    packets: int
    report: str
    cycles: int
    seconds: dict[str, float]
    counters: dict[str, int]


def make(seed: int, number: int, packets: int, suite_names: list[str], kind: str = "") -> tuple[Case, dict[str, float]]:
    """The case of that number under a seed, half of its packets to each port; and how long
    it took. `kind` is one of KINDS."""
    name = f"{seed}/{number}/{kind}" if kind else f"{seed}/{number}"
    dice = random.Random(name)
    start = time.process_time()
    of_box = KINDS[kind] if kind else bump_configuration if is_bump(number) else configuration
    # Dice of its own: the cases of old seeds stay what they were.
    config = lost_configuration.change(random.Random(f"{name} lost"), of_box.make(dice, suite_names))
    half = packets // 2
    from_red = (vrf_frames if config.vrfs else red_frames).make(dice, config, half)
    frames = {"red": from_red, "black": black_frames.make(dice, config, packets - half)}
    frames = {port: complete(these, port, config) for port, these in frames.items()}
    made = time.process_time()
    case = Case(config, frames, judge(config, frames))
    return case, {"generator": made - start, "reference": time.process_time() - made}


def complete(frames: list[Frame], port: str, config: Configuration) -> list[Frame]:
    """The frames but those for which a box would wait: of some datagrams a fragment is missing, of
    others one is dropped before it can be put together, or none comes first out of a tunnel."""
    frames = without_incomplete(frames, Reassembly.at(port, config, whole=True))
    while held := _held(frames, port, config):
        frames = [frame for number, frame in enumerate(frames) if number not in held]
    return frames


def _held(frames: list[Frame], port: str, config: Configuration) -> set[int]:
    judge = judges(config)[port]
    judge.reassembly.foresee(frames)
    outcomes = [judge(frame) for frame in frames]
    waiting = {n for n, outcome in enumerate(outcomes) if outcome.later and outcome.later() is None}
    parts = judge.reassembly.fragments.items()
    return waiting | {n for n, piece in parts if judge.reassembly.key(piece) in judge.reassembly.open}


def judges(config: Configuration) -> dict[str, RedJudge | BlackJudge]:
    return {"red": (BumpRedJudge if config.bump else RedJudge)(config), "black": BlackJudge(config)}


def is_bump(number: int) -> bool:
    """Every other run has a bump in the wire between hosts, the rest a router with tunnels."""
    return number % 2 == 1


def run(seed: int, number: int, packets: int, suite_names: list[str], folder: Path, kind: str = "") -> Result:
    """Puts a case through a box, whose configuration, captures and input stay in `folder`."""
    case, seconds = make(seed, number, packets, suite_names, kind)
    begun = time.monotonic()
    observed = box.run(case.config, case.frames, folder)
    simulated, checking = time.monotonic(), time.process_time()
    found = compare(case.frames, case.outcomes, observed)
    seconds |= {"simulation": simulated - begun, "comparison": time.process_time() - checking}
    report = ""
    if found:
        found = narrow(case, folder / "narrowed") if found.index is None and not found.overflow else found
        report = f"seed {seed}, run {number} {kind} of {packets} packets: {describe(found, case)}\nconfiguration: {folder / 'box.xfrm'}"
    return Result(packets, report, observed.cycles, seconds, observed.counters)


def judge(config: Configuration, frames: Frames) -> dict[str, list[Outcome]]:
    outcomes = {}
    for port, these in frames.items():
        judge_of = judges(config)[port]
        judge_of.reassembly.foresee(these)
        outcomes[port] = [_settled(outcome) for outcome in [judge_of(frame) for frame in these]]
    return outcomes


def _settled(outcome: Outcome) -> Outcome:
    """Of a fragment that waits on, nothing becomes."""
    return (outcome.later() or Outcome(())) if outcome.later else outcome


def narrow(case: Case, folder: Path) -> Mismatch:
    """Only counters differ: the shortest beginning of one port's frames with which something does;
    its last frame is to blame."""

    def differs(some: Frames) -> Mismatch | None:
        return compare(some, judge(case.config, some), box.run(case.config, some, folder))

    last = Mismatch("", None, "no difference", "one that only both directions together show")
    for port, these in case.frames.items():
        alone = differs({port: these})
        if not alone:
            continue
        good, bad = 0, len(these)
        last = alone
        while bad - good > 1:
            middle = (good + bad) // 2
            found = differs({port: complete(these[:middle], port, case.config)})
            good, bad, last = (good, middle, found) if found else (middle, bad, last)
        return Mismatch(port, bad - 1 if last.index is None else last.index, last.expected, last.got)
    return last


def describe(found: Mismatch, case: Case) -> str:
    text = f"expected {found.expected}\ngot {found.got}"
    if found.index is None:
        return text
    frame, outcome = case.frames[found.port][found.index], case.outcomes[found.port][found.index]
    fcs = " with a bad FCS" if frame.bad_fcs else ""
    model = " -> ".join(outcome.counters)
    return f"{found.port} frame {found.index}, {frame.data.hex()}{fcs}; the model says {model}\n{text}"
