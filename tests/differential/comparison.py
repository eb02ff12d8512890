"""What the box did against what it must do: counters, punted frames and frames sent, exactly."""

from __future__ import annotations

import struct
from collections import Counter, deque
from dataclasses import dataclass

from .black_frame import esp_of, fault
from .box import Observed
from .esp import Peer
from .ethernet import Frame
from .outcome import Clear, Outcome

RECEIVED = {"red": "inner.rx_frames", "black": "outer.rx_frames"}
FAR = {"red": "black", "black": "red"}
CHIP = {"red": "inner", "black": "outer"}


@dataclass(frozen=True)
class Mismatch:
    """`index` of the frame that came in at `port`; None where only a count says that something is wrong.

    `overflow`: a queue was full, so frames came too fast, and what else differs says nothing.
    """

    port: str
    index: int | None
    expected: str
    got: str
    overflow: bool = False


def compare(frames: dict[str, list[Frame]], outcomes: dict[str, list[Outcome]], observed: Observed) -> Mismatch | None:
    """An overflow, else the first difference that names a frame, else one that does not."""
    overflows = {name: count for name, count in observed.counters.items() if name.endswith("_overflow")}
    if overflows:
        return Mismatch("", None, "room for every frame at this load", str(overflows), overflow=True)
    for port in frames:
        found = _punted(port, frames[port], outcomes[port], observed) or _sent(port, outcomes[port], observed)
        if found:
            return found
    expected = Counter(name for these in outcomes.values() for outcome in these for name in outcome.counters)
    for port, these in frames.items():
        expected[RECEIVED[port]] = len(these)
    got = Counter({name: count for name, count in observed.counters.items() if _compared(name)})
    if +expected != got:
        return Mismatch("", None, str(dict(expected - got)), str(dict(got - expected)))
    if not observed.balanced:
        return Mismatch("", None, "a box at rest, received = sent + punted + drops", str(observed.counters))
    return None


def _compared(name: str) -> bool:
    """Counters of frames and packets that came in from outside, were sent, punted, dropped or lost."""
    counter = name.split(".")[1]
    if counter in ("rx_frames", "tx_frames", "tx_protect", "tx_bypass", "tx_esp", "black_tx_packets", "red_tx_packets"):
        return True
    return counter.startswith(("drop_", "punt_")) or counter.endswith("_lost")


def _punted(port: str, frames: list[Frame], outcomes: list[Outcome], observed: Observed) -> Mismatch | None:
    got = deque(observed.punted[CHIP[port]])
    for index, outcome in enumerate(outcomes):
        if outcome.punt:
            reason, data = got.popleft() if got else ("", b"")
            if (reason.removeprefix("punt: ").replace(" ", "_"), data) != (outcome.punt, frames[index].data):
                return Mismatch(port, index, f"punt {outcome.punt}", f"{reason or 'no punt'} {data.hex()}")
    if got:
        return Mismatch(port, None, "no more punted frames", str([(reason, data.hex()) for reason, data in got]))
    return None


def _sent(port: str, outcomes: list[Outcome], observed: Observed) -> Mismatch | None:
    """Frames keep their order within each of two classes (docs/decisions/0005); each is the next of one of them."""
    waiting = {True: deque(), False: deque()}
    for index, outcome in enumerate(outcomes):
        if outcome.sent:
            waiting[outcome.fast].append((index, outcome.sent))
    peers: dict[int, Peer] = {}
    identification = None
    for place, frame in enumerate(observed.sent[FAR[port]]):
        for queue in waiting.values():
            if queue and _is_next(queue[0][1], frame):
                index, wanted = queue.popleft()
                break
        else:
            heads = [(index, _text(wanted)) for queue in waiting.values() for index, wanted in list(queue)[:1]]
            index = min((index for index, _ in heads), default=None)
            return Mismatch(port, index, f"next of either class: {heads}", f"frame {place}: {frame.hex()}")
        if not isinstance(wanted, Clear):
            peer = peers.setdefault(wanted.sa.spi, Peer(wanted.sa))
            wrong, identification = fault(frame, wanted, peer, identification)
            if wrong:
                return Mismatch(port, index, f"{_text(wanted)}: {wrong}", frame.hex())
    left = [(index, _text(wanted)) for queue in waiting.values() for index, wanted in queue]
    if left:
        index, wanted = min(left)
        return Mismatch(port, index, wanted, f"no frame; {len(left)} are missing")
    return None


def _is_next(wanted, frame: bytes) -> bool:
    if isinstance(wanted, Clear):
        return frame == wanted.frame
    esp = esp_of(frame)
    return esp is not None and struct.unpack("!LL", esp[:8]) == (wanted.sa.spi, wanted.number & 0xFFFFFFFF)


def _text(wanted) -> str:
    if isinstance(wanted, Clear):
        return wanted.frame.hex()
    return f"ESP spi {wanted.sa.spi:#x} {wanted.sa.suite_name} number {wanted.number} around {wanted.payload.hex()}"
