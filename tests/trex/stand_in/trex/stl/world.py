"""The server behind the stand-in: its ports, the wires, and two boxes between them that do as they are told.

TREX_STAND_IN is a JSON object of the fields of `World`; what is left out is as if all were well.
"""

import itertools
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Port:
    mac: str
    box_mac: str  # of the box's red port behind it
    up: bool = True
    speed: float = 100.0
    virtual: bool = False
    promiscuous: bool = True  # whether it can be
    owner: str = ""


@dataclass
class World:
    version: str = "v3.08"
    reachable: bool = True
    mismatch: bool = False
    ports: list = field(
        default_factory=lambda: [
            Port("02:00:00:00:01:00", "02:00:00:00:02:00"),
            Port("02:00:00:00:01:01", "02:00:00:00:02:01"),
        ]
    )
    arp: dict = field(default_factory=dict)  # address: MAC of who answers
    bridge: bool = False  # boxes pass frames for the other port, and take none of their own
    capacity_fps: float | None = None  # of each direction; what is above is lost
    lose: dict = field(default_factory=dict)  # frames lost of a group, by its number
    outage: list | None = None  # from, to: seconds since traffic started last, in which nothing passes
    latency_us: list = field(default_factory=lambda: [[3, 9000], [25, 900], [140, 100]])  # value and its weight
    out_of_order: int = 0
    dup: int = 0
    bad_hdr: int = 0
    ierrors: int = 0
    extra: int = 0  # frames of somebody else, received as the bulk's
    sends: float = 1.0  # of what it should
    never_ends: bool = False
    die_at: str = ""  # "method:n": its n-th call ends the client's process; with "lost:method:n" the server goes away
    slow: str = ""  # a method that takes 30 s
    refuse: dict = field(default_factory=dict)  # method: what the server says instead of doing it
    clock: str = ""  # a file with the time in seconds, for tests that let it pass; else time passes by itself
    log: str = ""  # a file for all calls and streams, a JSON object a line


def load():
    text = json.loads(os.environ.get("TREX_STAND_IN", "{}"))
    world = World(**text)
    if "ports" in text:
        plain = World().ports
        world.ports = [Port(**vars(plain[n % 2]) | each) for n, each in enumerate(text["ports"])]
    return world


def clock(world):
    if not world.clock:
        return time.monotonic()
    return float(Path(world.clock).read_text())


class Traffic:
    """What one port sends, from a moment on, at a factor that may change."""

    def __init__(self, world, streams, duration):
        self.world, self.streams, self.began = world, streams, clock(world)
        self.steps = [(0.0, 1.0)]  # since when, at which factor
        self.ended = None
        self.duration = duration
        bursts = [stream.mode.total_pkts / stream.mode.pps for stream in streams if stream.mode.total_pkts]
        if duration < 0 and len(bursts) == len(streams):
            self.duration = max(bursts)

    def now(self):
        elapsed = clock(self.world) - self.began if self.ended is None else self.ended
        return min(elapsed, self.duration) if self.duration >= 0 else elapsed

    def active(self):
        return self.ended is None and (self.world.never_ends or self.duration < 0 or self.now() < self.duration)

    def stop(self):
        self.ended = self.now()

    def _rates(self):
        """Seconds from, to, factor, and the part of it that a box forwards."""
        edges = {0.0, self.now(), *(since for since, _ in self.steps), *(self.world.outage or [])}
        edges = sorted(edge for edge in edges if edge <= self.now())
        for begin, end in itertools.pairwise(edges):
            factor = [factor for since, factor in self.steps if since <= begin][-1]
            total = sum(stream.mode.pps * (1 if fixed(stream) else factor) for stream in self.streams)
            out = self.world.outage and self.world.outage[0] <= begin < self.world.outage[1]
            passes = 0.0 if out else min(1.0, (self.world.capacity_fps or total) / total)
            yield begin, end, factor, passes

    def counts(self, stream):
        """Frames sent and arrived by now."""
        limit = stream.mode.total_pkts or float("inf")
        sent = arrived = 0.0
        for begin, end, factor, passes in self._rates():
            rate = stream.mode.pps * (1 if fixed(stream) else factor) * self.world.sends
            frames = min(rate * (end - begin), limit - sent)
            sent, arrived = sent + frames, arrived + frames * passes
        if stream.mode.total_pkts and not self.active():
            sent, arrived = limit, arrived * limit / sent if sent else limit
        return round(sent), round(arrived)


def fixed(stream):
    """Multipliers do not apply to latency streams."""
    return stream.stats is not None and stream.stats.latency
