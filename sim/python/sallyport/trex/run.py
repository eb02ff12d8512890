# SPDX-License-Identifier: Apache-2.0
"""One trial's traffic on TRex's ports: add streams, start, read the counters until the end, wait
for frames on their way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sallyport.backend import Setup
from sallyport.trex import measure, streams
from sallyport.trex.lab import Lab
from sallyport.trex.measure import Sample
from sallyport.trex.process import Client
from sallyport.trex.streams import Load, Way

# TRex forgets the highest latency of each 0.5 s, so it must be read in time.
LOOK_SECONDS = 0.2
LEARNING_FPS = Fraction(1000)
BURST_LOOKS = 20  # of a burst, to tell how long it took
# After a change of load looks are close together, and then a tenth of the time since: a recovery is
# known to so much. A look takes 2.4 ms with TRex v3.08.
CLOSEST_LOOK_SECONDS, SINCE_CHANGE = 0.02, 0.1
LONGEST_DRAIN_SECONDS = 60.0
# that traffic may go on after its end: a core that is too slow leaves no frame out, and goes on
LATE_SECONDS = 5.0
LATE_LOOK_SECONDS = 0.05


class Run:
    """Traffic of one trial. `samples` cover its measured part and its drain; `stats` are the
    counters after it.

    Times count from the first frame on, which TRex sends `start_ms` after it was told to start.
    """

    def __init__(
        self, lab: Lab, client: Client, ways: list[Way], on_progress: Callable[[float, float], None] | None
    ) -> None:
        self._lab, self._client, self._ways, self._on_progress = lab, client, ways, on_progress
        self._tx_ports = [way.tx_port for way in ways]
        self._groups: list[list[int]] = []
        self.samples: list[Sample] = []
        self.at_change: Sample | None = None  # the counters when the load changed
        self.stats: dict = {}
        self.highest_us: dict[int, float] = {}
        # TRex's averages of each group whenever frames had arrived: each is one of the latest half
        # seconds alone, and their mean is that of the trial
        self.averages_us: dict[int, list[float]] = {}
        self.busiest: dict[str, float] = {}  # percent of TRex's sending and receiving cores
        self._start_s = lab.start_ms / 1000
        self._turn: Callable[[float], None] | None = None

    def warm_up(self, loads: list[Load], seconds: float) -> None:
        """The same load, without counting."""
        self._load(loads)
        self._client.call("start", ports=self._tx_ports, mult="1", duration=seconds + self._start_s)
        self._until_idle(seconds + self._start_s)
        time.sleep(self._lab.drain_ms / 1000)  # no call may take so long
        self._client.call("wait_on_traffic", ports=self._tx_ports, rx_delay_ms=0)

    def learn(self, setup: Setup, ways: list[Way]) -> None:
        """Short bursts of every port, of the most frequent size, without counting."""
        ports, frames = [way.tx_port for way in ways], self._lab.learning_frames
        size = replace(setup, mix={max(setup.mix, key=lambda each: setup.mix[each]): 1})
        loads = [streams.burst(self._lab, size, way, frames, LEARNING_FPS) for way in ways]
        self._client.call("remove_all_streams", ports=ports)
        for way, load in zip(ways, loads, strict=True):
            self._client.call("add_streams", streams=load.streams, ports=[way.tx_port])
        self._client.call("start", ports=ports, mult="1")
        self._client.call("wait_on_traffic", ports=ports, rx_delay_ms=0)

    def burst(self, loads: list[Load], seconds: float) -> None:
        """Streams and files that end by themselves, after about `seconds`."""
        self._load(loads)
        began = send(self._client, self._ways, loads, self._start_s)
        self._watch(began, seconds, look=min(LOOK_SECONDS, max(seconds / BURST_LOOKS, LATE_LOOK_SECONDS / 10)))

    def measured(
        self,
        loads: list[Load],
        seconds: float,
        multipliers: list[str],
        then: Callable[[], None] | None,
        turn: Callable[[float], None],
    ) -> None:
        """`seconds` of load, and half as long again with `multipliers` of it if there are any;
        `then` is called at the beginning, `turn` at each look with the seconds since."""
        self._turn = turn
        self._load(loads)  # anew, so that no counter or extreme of a warm-up is left
        duration = 1.5 * seconds if multipliers else seconds
        self._client.call("start", ports=self._tx_ports, mult="1", duration=duration + self._start_s)
        if then:
            then()
        self._watch(time.monotonic() + self._start_s, duration, seconds if multipliers else None, multipliers)

    def until(self, loads: list[Load], seconds: float, done: Callable[[Sample], bool]) -> float:
        """Load until a look is `done`, or for so many seconds. The moment of the first frame, by
        the monotonic clock."""
        self._load(loads)
        self._client.call("start", ports=self._tx_ports, mult="1", duration=seconds + self._start_s)
        began = time.monotonic() + self._start_s
        while self._client.call("is_traffic_active", ports=self._tx_ports):
            if done(self._look(began)):
                self._client.call("stop", ports=self._tx_ports)
                break
            if self._stopped(time.monotonic() - began, seconds):
                break
            time.sleep(CLOSEST_LOOK_SECONDS)
        self._drain(began)
        return began

    def stop(self) -> None:
        """End traffic at once and leave no stream."""
        self._client.call("stop", ports=self._lab.ports)
        self._client.call("remove_all_streams", ports=self._lab.ports)

    def silent(self) -> bool:
        """Whether some direction received nothing while the last of it was sent."""
        sent = [each for each in self.samples[:-1] if each.tx != self.samples[-1].tx]
        if len(sent) < 2:
            return True
        return any(later == earlier for later, earlier in zip(sent[-1].rx, sent[-2].rx, strict=True))

    def _load(self, loads: list[Load]) -> None:
        time.sleep(self._lab.settle_ms / 1000)  # RFC 2544 23: the box comes to rest
        self._client.call("remove_all_streams", ports=self._lab.ports)
        for way, load in zip(self._ways, loads, strict=True):
            if load.streams:
                self._client.call("add_streams", streams=load.streams, ports=[way.tx_port])
        self._client.call("clear_stats", ports=self._lab.ports)
        self._groups = [load.latency_groups for load in loads]

    def _watch(
        self,
        began: float,  # when the first frame leaves
        seconds: float,
        change_at: float | None = None,
        multipliers: list[str] | None = None,
        look: float = LOOK_SECONDS,
    ) -> None:
        while True:
            now = time.monotonic() - began
            if change_at is not None and now >= change_at:
                self.at_change = self._look(began)
                for way, multiplier in zip(self._ways, multipliers or [], strict=True):
                    self._client.call("update", ports=[way.tx_port], mult=multiplier)
                change_at = None
            if not self._client.call("is_traffic_active", ports=self._tx_ports):
                break
            if self._stopped(now, seconds):
                break
            if self._turn:
                self._turn(now)
            self._look(began)
            if self._on_progress:
                self._on_progress(max(0.0, min(1.0, now / seconds)) if seconds else 1.0, 0.0)
            time.sleep(_pause((seconds if change_at is None else change_at) - now, self._apart(look, now)))
        self._drain(began)

    def _apart(self, look: float, now: float) -> float:
        """Seconds until the next look."""
        if not self.at_change:
            return look
        return min(look, max(CLOSEST_LOOK_SECONDS, SINCE_CHANGE * (now - self.at_change.at_ns / 1e9)))

    def _look(self, began: float) -> Sample:
        asked = (time.monotonic() - began) * 1e9
        self.stats = self._client.call("get_stats", ports=self._lab.ports)
        each = measure.sample(self.stats, self._ways, self._groups, asked, (time.monotonic() - began) * 1e9)
        arrived = not self.samples or each.rx != self.samples[-1].rx
        self.samples.append(each)
        for group in (group for groups in self._groups for group in groups):
            latency = self.stats.get("latency", {}).get(str(group), {}).get("latency", {})
            highest = max(measure.number(latency.get("total_max")), measure.number(latency.get("last_max")))
            self.highest_us[group] = max(self.highest_us.get(group, 0.0), highest)
            if arrived and (average := measure.number(latency.get("average"))):
                self.averages_us.setdefault(group, []).append(average)
        for name in ("cpu_util", "rx_cpu_util"):
            percent = measure.number(self.stats.get("global", {}).get(name))
            self.busiest[name] = max(self.busiest.get(name, 0.0), percent)
        return each

    def _until_idle(self, seconds: float) -> None:
        began = time.monotonic()
        while self._client.call("is_traffic_active", ports=self._tx_ports):
            now = time.monotonic() - began
            if self._stopped(now, seconds):
                break
            time.sleep(_pause(seconds - now, LOOK_SECONDS))

    def _stopped(self, now: float, seconds: float) -> bool:
        """Whether traffic was much too late, and is over now."""
        late = now > seconds + LATE_SECONDS
        if late:
            self._client.call("stop", ports=self._tx_ports)
        return late

    def _drain(self, began: float) -> None:
        """Late frames arrive: until none has for `drain_ms` (RFC 2544 23: two seconds). Then TRex's
        filters may go."""
        drain, ended = self._lab.drain_ms / 1000, time.monotonic()
        moved, arrived = ended, self._look(began).rx
        while (now := time.monotonic()) < min(moved + drain, ended + LONGEST_DRAIN_SECONDS):
            time.sleep(_pause(moved + drain - now, LOOK_SECONDS))
            if (rx := self._look(began).rx) != arrived:
                moved, arrived = time.monotonic(), rx
        self._client.call("wait_on_traffic", ports=self._tx_ports, rx_delay_ms=0)


def send(client: Client, ways: list[Way], loads: list[Load], start_s: float, force: bool = False) -> float:
    """Start bursts, and files of frames when those begin; `force` in a service mode. The moment of
    the first frame."""
    ports = [way.tx_port for way, load in zip(ways, loads, strict=True) if load.streams]
    files = [(way.tx_port, load) for way, load in zip(ways, loads, strict=True) if load.file]
    if ports:
        client.call("start", ports=ports, mult="1", **({"force": True} if force else {}))
    began = time.monotonic() + (start_s if ports else 0.0)
    if ports and files:
        time.sleep(start_s)
    for port, load in files:
        # By force, or TRex would want to know the next hop; the frames have their own addresses.
        macs = {"src_mac_pcap": True, "dst_mac_pcap": True}
        client.call("push_remote", pcap_filename=str(load.file), ports=[port], ipg_usec=load.gap_us, force=True, **macs)
    return began


def _pause(left: float, look: float) -> float:
    """Seconds until the next look, when `left` remain."""
    return min(look, left if left > 1e-6 else LATE_LOOK_SECONDS)
