# SPDX-License-Identifier: Apache-2.0
"""Compares the box with the model: counters, punted frames and frames sent, exactly."""

from __future__ import annotations

import re
from collections import Counter, deque

from .box import Observed
from .ethernet import Frame
from .mismatch import CHIP, FAR, RECEIVED, Mismatch
from .outcome import HAIRPIN, Outcome
from .sent import Place, sent


def compare(frames: dict[str, list[Frame]], outcomes: dict[str, list[Outcome]], observed: Observed) -> Mismatch | None:
    """An overflow, else the first difference that names a frame, else one that does not."""
    overflows = {name: count for name, count in observed.counters.items() if name.endswith("_overflow")}
    if overflows:
        return Mismatch("", None, "room for every frame at this load", str(overflows), overflow=True)
    expected: Counter[str] = Counter()
    lapsed: set[Place] = set()
    for port in FAR:
        found, these = sent(port, outcomes, observed.sent[FAR[port]])
        found = _punted(port, frames.get(port, []), outcomes.get(port, []), observed) or found
        if found:
            return found
        lapsed |= these
    for port, these in outcomes.items():
        for index, outcome in enumerate(these):
            expected.update(outcome.lapsed if (port, index) in lapsed else outcome.counters)
    for port in FAR:
        if found := _delivered(port, outcomes.get(port, []), observed):
            return found
    for port, these in frames.items():
        expected[RECEIVED[port]] = len(these)
    got = Counter({name: count for name, count in observed.counters.items() if _compared(name)})
    if +expected != got:
        return Mismatch("", None, str(dict(expected - got)), str(dict(got - expected)))
    if not observed.balanced:
        return Mismatch("", None, "a box at rest, received = sent + punted + drops", str(observed.counters))
    return None


def _compared(name: str) -> bool:
    """Counters of frames and packets that came in from outside, were put together or cut, sent,
    punted, dropped, lost or odd."""
    counter = name.split(".")[1]
    if counter.startswith(("reasm_", "frag_", "red_frag_")) or counter in (
        "rx_frames",
        "tx_frames",
        "tx_hairpin",
        "rx_hairpin",
        "tx_protect",
        "tx_bypass",
        "tx_esp",
        "ecn_unexpected",
        "black_tx_packets",
        "red_tx_packets",
    ):
        return True
    return counter.startswith(("drop_", "punt_")) or counter.endswith("_lost")


# Reasons of packets from the other port that a chip gives the CPU.
DELIVERED = {
    "inner": (
        *(f"{way}{why}" for way in ("tunnel", "clear") for why in ("", "_mtu", "_ttl", "_host", "_route")),
        *(f"{HAIRPIN} {why}" for why in ("mtu", "policy")),
    ),
    "outer": ("clear_host", "clear_route"),
}


# A frame for the CPU: why, in which network, and its bytes.
Punt = tuple[str, int, bytes]


def _read(punt: tuple[str, bytes]) -> Punt:
    """What a capture's comment says, with a word in front of the reason of packets between
    tunnels."""
    comment, data = punt
    reason = comment.removeprefix("punt: ").split(",")[0].replace(" ", "_")
    network = re.search(r", network (\d+)", comment)
    return (
        f"{HAIRPIN} {reason}" if ", for another tunnel" in comment else reason,
        int(network[1]) if network else 0,
        data,
    )


def _delivered(port: str, outcomes: list[Outcome], observed: Observed) -> Mismatch | None:
    """Packets that came in at a port and that the chip of the other one gives the CPU, in any
    order."""
    chip = CHIP[FAR[port]]
    got = Counter(punt for punt in map(_read, observed.punted[chip]) if punt[0] in DELIVERED[chip])
    for index, outcome in enumerate(outcomes):
        for name, data in outcome.delivered:
            wanted = name, outcome.network, data
            got[wanted] -= 1
            if got[wanted] < 0:
                return Mismatch(port, index, text(wanted), "no such frame for the CPU")
    if left := +got:
        return Mismatch(port, None, "no further frame for the CPU", text(left.most_common(1)[0][0]))
    return None


def _punted(port: str, frames: list[Frame], outcomes: list[Outcome], observed: Observed) -> Mismatch | None:
    """Frames keep their order on each way; each is the next of one of them."""
    waiting: dict[str, deque[tuple[int, Punt]]] = {}
    for index, outcome in enumerate(outcomes):
        if outcome.punt:
            wanted = (outcome.punt, outcome.network, outcome.whole or frames[index].data)
            waiting.setdefault(outcome.way, deque()).append((index, wanted))
    for got in map(_read, observed.punted[CHIP[port]]):
        if got[0] in DELIVERED[CHIP[port]]:
            continue
        queue = next((queue for queue in waiting.values() if queue and queue[0][1] == got), None)
        if queue is None:
            heads = [queue[0] for queue in waiting.values() if queue]
            index = min((index for index, _ in heads), default=None)
            expected = [(index, text(wanted)) for index, wanted in heads]
            return Mismatch(port, index, f"next punt of any way: {expected}", text(got))
        queue.popleft()
    left = [head for queue in waiting.values() for head in queue]
    if left:
        index, (name, *_) = min(left)
        return Mismatch(port, index, f"punt {name}", f"no punt; {len(left)} are missing")
    return None


def text(punt: Punt) -> str:
    reason, network, data = punt
    return f"{reason}{f' in network {network}' if network else ''} {data.hex()}"
