# SPDX-License-Identifier: Apache-2.0
"""The server behind the stand-in: its ports, the wires, and two boxes between them that do as they
are told.

TREX_STAND_IN is a JSON object of the fields of `World`; a field left out means that all is well.
"""

import itertools
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

HALF_SECOND = 0.5  # between two updates of the server's averages


@dataclass
class Port:
    mac: str
    box_mac: str  # of the box's red port behind it
    up: bool = True
    speed: float = 100.0  # Gb/s
    virtual: bool = False
    driver: str = "net_mlx5"
    promiscuous: bool = True  # whether it can be
    owner: str = ""


@dataclass
class World:
    version: str = "v3.08"
    mode: str = "stl"  # that the server was started in: stl, or astf with --astf
    reachable: bool = True
    mismatch: bool = False
    ports: list = field(
        default_factory=lambda: [
            Port("02:00:00:00:01:00", "02:00:00:00:02:00"),
            Port("02:00:00:00:01:01", "02:00:00:00:02:01"),
        ]
    )
    arp: dict = field(default_factory=dict)  # address: MAC of who answers
    neighbours: dict = field(default_factory=dict)  # link-local address: MAC
    vlan: int | None = None  # in which ARP is answered
    old_vlan: int | None = None  # of all ports, that an earlier user of the server left there
    # one box between the ports: a file with what its sallyctl was given (gateway.py)
    sas: str = ""
    wrong: str = ""  # what it does wrong: "key", "number" or "clear" text
    shares: bool = True  # the server has the folders that callers name
    bridge: bool = False  # boxes pass frames for the other port, and take none of their own
    # what streams are to send so soon after a start leaves at once, at that time
    catch_up_s: float = 0.02
    # of each direction; more frames wait, and are lost when the queue is full
    capacity_fps: float | None = None
    queue: int = 0  # frames
    lose: dict = field(default_factory=dict)  # frames lost of a group, by its number
    double: dict = field(default_factory=dict)  # frames that arrive twice of a group, by its number
    # from, to: seconds since traffic started last, in which nothing passes
    outage: list | None = None
    # value and its weight
    latency_us: list = field(default_factory=lambda: [[3, 9000], [25, 900], [140, 100]])
    software: bool = False  # started with --software: no filters in NICs
    hardware_counts: bool = True  # NICs count flows, as X710s do
    hdrh: bool = False  # started with --hdrh: latency has a histogram by hdrhistogram.org too
    out_of_order: int = 0
    bad_hdr: int = 0
    ierrors: int = 0
    cpu_util: float = 20.0  # percent
    rx_cpu_util: float = 10.0
    queue_full: int = 0  # packets that TRex could not send at once
    unsent: int = 0  # frames of a port's bulk that its streams count and its driver loses
    uncounted: int = 0  # those that reach the far port and that the receiving core does not see
    strangers: int = 0  # frames of others at each port, such as LLDP, which belong to no group
    extra: int = 0  # frames of somebody else, received as the bulk's
    # of the rate that it should: its core is late, and leaves no frame out
    sends: float = 1.0
    # "method:n": its n-th call ends the client's process; with "lost:method:n" the server goes away
    die_at: str = ""
    slow: str = ""  # "method:n": its n-th call takes 30 s
    refuse: dict = field(default_factory=dict)  # method: what the server says instead of doing it
    fail: int = 0  # connections of a stateful trial that give up
    errors: dict = field(default_factory=dict)  # further counters of the servers of such a trial
    # a file with the time in seconds, for tests that let it pass; else time passes by itself
    clock: str = ""
    log: str = ""  # a file for all calls and streams, a JSON object a line


def load():
    text = json.loads(os.environ.get("TREX_STAND_IN", "{}"))
    world = World(**text)
    if world.sas:
        from .gateway import Gateway  # scapy, which takes a second to load

        world.gateway = Gateway(world)
    if "ports" in text:
        plain = World().ports
        world.ports = [Port(**vars(plain[n % 2]) | each) for n, each in enumerate(text["ports"])]
    return world


def clock(world):
    if not world.clock:
        return time.monotonic()
    return float(Path(world.clock).read_text())


def delay(stream):
    """Seconds from the start to the stream's first frame."""
    return stream.isg / 1e6


class Traffic:
    """What one port sends, from a moment on, at a factor that may change; and the box behind it, a
    queue and a rate."""

    def __init__(self, world, streams, duration, seen):
        self.world, self.streams, self.began, self.seen = world, streams, clock(world), seen
        self.steps = [(0.0, 1.0)]  # since when, at which factor
        self.ended = None
        self.duration = duration
        bursts = [
            delay(each) + each.mode.total_pkts / (each.mode.pps * world.sends)
            for each in streams
            if each.mode.total_pkts
        ]
        if duration < 0 and len(bursts) == len(streams):
            self.duration = max(bursts)
        elif duration >= 0 and streams:  # its end is due among the frames, so it is late like them
            first = min(delay(each) for each in streams)
            self.duration = first + (duration - first) / world.sends

    def elapsed(self):
        return clock(self.world) - self.began

    def now(self):
        """Seconds of the traffic that are over."""
        elapsed = self.elapsed() if self.ended is None else self.ended
        return min(elapsed, self.duration) if self.duration >= 0 else elapsed

    def end(self):
        """When it ended, by the clock."""
        return self.began + self.now()

    def active(self):
        return self.ended is None and (self.duration < 0 or self.now() < self.duration)

    def stop(self):
        self.ended = self.now()

    def sent(self, stream, until):
        """Frames up to a moment. The scheduler is late when traffic starts: frames that are due by
        then leave once it has caught up."""
        if until < self.world.catch_up_s:
            return 0.0
        if stream.mode.total_pkts and self.ended is None and until == self.duration:
            return float(stream.mode.total_pkts)
        frames, ends = 0.0, [since for since, _ in self.steps[1:]] + [until]
        for (since, factor), end in zip(self.steps, ends, strict=True):
            seconds = max(0.0, min(end, until) - max(since, delay(stream)))
            frames += seconds * stream.mode.pps * (1 if fixed(stream) else factor) * self.world.sends
        return min(frames, stream.mode.total_pkts or frames)

    def frames(self):
        """The frames that were sent so far, field engine and all."""
        for stream in self.streams:
            variables = {each.name: each for each in stream.packet.vm if hasattr(each, "low")}
            for number in range(round(self.sent(stream, self.now()))):
                frame = bytearray(stream.packet.buffer)
                for each in stream.packet.vm:
                    if hasattr(each, "name") and each.name in variables and hasattr(each, "at"):
                        var = variables[each.name]
                        value = var.low + number % (var.high - var.low + 1)
                        frame[each.at : each.at + var.size] = value.to_bytes(var.size, "big")
                    elif hasattr(each, "udp"):
                        frame[each.at :] = self.world.gateway.summed(bytes(frame[each.at :]))
                yield bytes(frame)

    def captured(self, bpf_filter, asks):
        """When frames of its bursts left, by the clock, if captures see those at all; and its own
        ARP, which it repeats where it asked (`asks`), unless the filter is for UDP."""
        for stream in self.streams if self.seen else ():
            tagged = stream.packet.buffer[12:14] == b"\x81\x00"
            if bpf_filter and tagged != bpf_filter.startswith("vlan"):
                continue
            for number in range(round(self.sent(stream, self.now()))):
                yield self.began + max(self.world.catch_up_s, delay(stream) + number / stream.mode.pps)
        if asks and not bpf_filter:
            yield self.began

    def counts(self):
        """Frames of each stream that were sent, that arrived, and that were lost before those that
        arrived: TRex sees a gap in the numbers by the frame behind it.

        What lacks is a whole number, too: parts of frames may not make it one more and one less."""
        sent, box = self._box(self.elapsed())
        arrived = [round(each) - round(each - gone) for each, gone in zip(sent, box.gone, strict=True)]
        return [round(each) for each in sent], arrived, [round(each) for each in box.missed]

    def waits(self):
        """Seconds that frames waited in the box on average, in each half second so far with any."""
        if not self.world.capacity_fps:
            return []
        middles = [(n + 0.5) * HALF_SECOND for n in range(int(self.elapsed() / HALF_SECOND))]
        waiting = [(at, self._box(at)[1].waiting()) for at in middles]
        return [frames / self.world.capacity_fps for at, frames in waiting if frames or at < self.now()]

    def _box(self, elapsed):
        """The box so long after the start, and the frames of each stream that were sent by then."""
        until = min(elapsed, self.now())
        edges = {0.0, self.world.catch_up_s, until, *(since for since, _ in self.steps)}
        edges |= {delay(each) for each in self.streams} | set(self.world.outage or [])
        edges = sorted(edge for edge in edges if edge <= until)
        box = Box(self.world, len(self.streams))
        before = [0.0] * len(self.streams)
        for begin, end in itertools.pairwise(edges):
            sent = [self.sent(each, end) for each in self.streams]
            came, before = [now - then for now, then in zip(sent, before, strict=True)], sent
            if self.world.outage and self.world.outage[0] <= begin < self.world.outage[1]:
                box.drop(came)
            else:
                box.take(came, 0.0 if end == self.world.catch_up_s else end - begin)
        box.take([0.0] * len(before), max(0.0, elapsed - until))
        return before, box


class Pushed(Traffic):
    """What one port sends from a file of the server, each frame once, and what a box alone makes
    of it."""

    def __init__(self, world, file, gap_s, own_macs):
        super().__init__(world, [], 0.0, False)
        self._frames = world.gateway.read(file) if world.shares and file.exists() else []
        if not own_macs:
            self._frames = [bytes(12) + data[12:] for data in self._frames]
        self._gap, self.out, self._seen = gap_s / world.sends, [], 0
        self.duration = len(self._frames) * self._gap

    def pushed(self):
        """Frames that left, which the box has taken by now."""
        left = min(len(self._frames), round(self.now() / self._gap))
        for data in self._frames[self._seen : left]:
            self.out.append(self.world.gateway.decrypt(data))
        self._seen = max(self._seen, left)
        return left

    def arrived(self):
        self.pushed()
        return [data for data in self.out if data is not None]


class Box:
    """Frames of each stream that have gone out of it. Those that wait keep their order: `queue` has
    them as they came, each time with those that the box lost among them. `missed` are the lost ones
    before those that have gone out."""

    def __init__(self, world, streams):
        self.world, self.queue, self.gone, self.missed = world, [], [0.0] * streams, [0.0] * streams

    def waiting(self):
        return sum(sum(kept) for kept, _ in self.queue)

    def take(self, came, seconds):
        """Frames that come at a steady rate, or at once where no time passes."""
        there, total = self.waiting() + sum(came), sum(came)
        out = there if self.world.capacity_fps is None else min(there, self.world.capacity_fps * seconds)
        lost = max(0.0, there - out - self.world.queue) / total if total else 0.0
        self.queue.append(([(1 - lost) * each for each in came], [lost * each for each in came]))
        while self.queue:
            kept, missed = self.queue.pop(0)
            if not self.queue and not sum(kept):  # a later frame would show the gap
                self.queue.append((kept, missed))
                break
            share = min(1.0, out / sum(kept)) if sum(kept) else 1.0
            out -= share * sum(kept)
            self.gone = [before + share * each for before, each in zip(self.gone, kept, strict=True)]
            self.missed = [before + share * each for before, each in zip(self.missed, missed, strict=True)]
            if share < 1.0:
                self.queue.insert(0, tuple([each - share * each for each in part] for part in (kept, missed)))
                break

    def drop(self, came):
        """Frames that nothing takes."""
        self.queue.append(([0.0] * len(came), came))


def fixed(stream):
    """Multipliers do not apply to latency streams."""
    return stream.stats is not None and stream.stats.latency
