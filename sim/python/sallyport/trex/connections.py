# SPDX-License-Identifier: Apache-2.0
"""The connections of one stateful trial on TRex's ports: they begin at a steady rate, which is
measured for a while, and the last ones get time to close."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sallyport.backend import Trial
from sallyport.stateful import Wire
from sallyport.trex import profile
from sallyport.trex.lab import Lab
from sallyport.trex.measure import number
from sallyport.trex.process import Client

LOOK_SECONDS = 0.2
SHORTEST_WAIT_SECONDS = 0.001  # that every clock tells
TAIL_SECONDS = 0.5  # of new connections behind the measured interval, so that it ends in full flow
CLOSE_SECONDS = 15.0  # for the last ones: some losses in a row, each for a longer timeout
SIDES = ("client", "server")
# Connections that TRex counts as closed although one side gave up.
GIVEN_UP = ("tcps_drops", "tcps_conndrops", "tcps_testdrops")


def sending_s(trial: Trial) -> float:
    """Seconds in which connections begin."""
    return (trial.setup.warmup_ns + trial.setup.measure_ns) / 1e9 + TAIL_SECONDS


@dataclass(frozen=True)
class Look:
    """TRex's counters at a moment, seconds since traffic began; those of neither side are 0."""

    at_s: float
    client: dict[str, float]
    server: dict[str, float]
    frames: tuple[int, int]  # sent and received by both ports

    @property
    def closed(self) -> float:
        """Connections that ended as they should."""
        return self.client.get("tcps_closed", 0) - sum(self.client.get(name, 0) for name in GIVEN_UP)

    @property
    def open(self) -> float:
        """Connections that have begun and not ended."""
        return self.client.get("m_active_flows", 0)

    def both(self, name: str) -> float:
        return self.client.get(name, 0) + self.server.get(name, 0)


@dataclass
class Connections:
    """The traffic of one trial; `looks` cover the measured interval, `last` is behind its end."""

    lab: Lab
    client: Client
    way: int  # the box behind which the clients are
    on_progress: Callable[[float, float], None] | None = None
    looks: list[Look] = field(default_factory=list)
    last: Look | None = None
    busiest: dict[str, float] = field(default_factory=dict)  # percent of TRex's cores
    queue_full: int = 0
    port_errors: int = 0

    def run(self, trial: Trial, wire: Wire) -> None:
        """Send and measure, and wait for the end."""
        port = self.lab.ends[self.way].port
        warm, measured = trial.setup.warmup_ns / 1e9, trial.setup.measure_ns / 1e9
        time.sleep(self.lab.settle_ms / 1000)  # RFC 2544 23: the box comes to rest
        self.client.call("load_profile", profile=profile.make(wire, self.way, trial.fps))
        self.client.call("clear_stats", ports=self.lab.ports)
        whole = sending_s(trial)
        self.client.call("start", mult=1, duration=whole, client_mask=1 << port)
        began = time.monotonic()
        time.sleep(warm)
        while (now := self._look(began)) < warm + measured:
            if self.on_progress:
                self.on_progress(now / whole, 0.0)
            time.sleep(min(LOOK_SECONDS, max(warm + measured - now, SHORTEST_WAIT_SECONDS)))
        while self.client.call("is_traffic_active", ports=self.lab.ports):
            if time.monotonic() - began > whole + CLOSE_SECONDS:
                self.stop()
                break
            time.sleep(LOOK_SECONDS)
        self.last = self._read(began)

    def stop(self) -> None:
        """End traffic at once."""
        self.client.call("stop")

    def _look(self, began: float) -> float:
        look = self._read(began)
        self.looks.append(look)
        return look.at_s

    def _read(self, began: float) -> Look:
        asked = time.monotonic()
        stats = self.client.call("get_stats", ports=self.lab.ports)
        at = (asked + time.monotonic()) / 2 - began
        traffic, everything = stats.get("traffic", {}), stats.get("global", {})
        for name in ("cpu", "rx_cpu"):
            self.busiest[name] = max(self.busiest.get(name, 0.0), number(everything.get(f"{name}_util")))
        self.queue_full = int(number(everything.get("queue_full")))
        self.port_errors = sum(
            int(number(stats.get(str(port), {}).get(name)))
            for port in self.lab.ports
            for name in ("ierrors", "oerrors")
        )
        sides = [{name: number(value) for name, value in traffic.get(side, {}).items()} for side in SIDES]
        frames = [
            sum(int(number(stats.get(str(port), {}).get(name))) for port in self.lab.ports)
            for name in ("opackets", "ipackets")
        ]
        return Look(at, sides[0], sides[1], (frames[0], frames[1]))
