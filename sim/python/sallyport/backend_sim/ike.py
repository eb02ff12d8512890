# SPDX-License-Identifier: Apache-2.0
"""Simulated boxes and their tester for tests of IKE ([sallyport.ike.gateways.OwnBoxes]).

IKE itself goes between the two charons by a cable of Linux, past the chips. Between trials the
simulated clock advances with register accesses alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from sallyport.backend import Setup, Trial, TrialResult
from sallyport.backend_sim.result import dropped, result, unbalanced
from sallyport.backend_sim.streams import streams
from sallyport.ike import MEASURES, check_charon, check_rights, check_setup
from sallyport.ike.charon import NO_COOKIES
from sallyport.ike.flooding import Flood, flood
from sallyport.ike.gateways import Arrival, Done, Gateways
from sallyport.ike.local import LocalGateway, local
from sallyport.ike.spaces import Space
from sallyport.simulator import TESTER_MAC, Simulator
from sallyport.tunnels import Tunnels

# How long the tester waits for the last frame: through two boxes 9000 B take 13.6 µs, and 145 µs
# under SM3. A lost frame costs this, so one frame is not waited for as long.
DRAIN_US, SHORT_DRAIN_US = 200, 20
SPACING_PERCENT = 10  # load of the frames that show that each tunnel carries traffic
PAUSE_S = 0.1  # between frames: a simulation that sends is slow to answer at its registers


def check(setup: Setup) -> None:
    """[InputError] if IKE cannot make such tunnels between simulated boxes on this machine."""
    check_setup(setup)
    check_rights()
    check_charon()


def run(trial: Trial, mtu: int) -> TrialResult:
    """One run of the measure `trial.ike`, with a simulation, daemons and charons of its own."""
    setup = trial.setup
    assert trial.ike
    with (
        Simulator(
            2,
            setup.threads,
            setup.seed,
            tables=setup.tables,
            crypto=setup.crypto,
            chips=setup.chips,
            core_mhz=setup.core_mhz,
        ) as sim,
        tempfile.TemporaryDirectory(prefix="sallyport-ike-") as folder,
    ):
        made = MEASURES[trial.ike](trial, SimulatedBoxes(sim, trial, mtu, Path(folder)))
        counters = [sim.counters(box) for box in (0, 1)]
    return replace(made, dropped=dropped(counters), checks=[*made.checks, *unbalanced(counters)])


class SimulatedBoxes:
    """Two boxes back to back of a simulation that nothing else uses."""

    clock = "simulated"

    def __init__(self, sim: Simulator, trial: Trial, mtu: int, folder: Path) -> None:
        """`folder` is empty, and for what gateways write."""
        self._sim, self._trial, self._mtu, self._folder = sim, trial, mtu, folder
        self._tunnels = Tunnels(trial.setup)
        self._spaces: list[Space] = []

    @contextmanager
    def gateways(self, timers: str = "", cookies: int = NO_COOKIES) -> Iterator[Gateways[LocalGateway]]:
        with local(self._trial.setup, self, self._folder, timers, cookies) as both:
            self._spaces = [each.space for each in both]
            yield Gateways(self._trial.setup, *both)

    def flood(self, rate: int) -> AbstractContextManager[Flood]:
        return flood(self._spaces[0], self._spaces[1], self._trial.setup.ip, rate)

    def registers(self, box: int) -> Path:
        return self._sim.socket(box)

    def configure(self, box: int) -> list[str]:
        facing = [f"next-hop default dev {device} lladdr {mac}" for device, mac in TESTER_MAC.items()]
        return [
            *self._tunnels.network(box, self._mtu),
            *facing,
            *(f"link set dev {device} promisc on" for device in TESTER_MAC),
        ]

    def reset(self, box: int) -> None:
        """In the turn of a trial of one frame, which a reset needs. Box 0 drops the frame: no
        policy is for such a packet. What software kept of the box goes too."""

        def turn() -> dict[str, float]:
            self._sim.command("reset", box=box)
            return {}

        stray = {"src_ip": "198.51.100.1", "dst_ip": "198.51.100.2"}
        stream = {"from": "box0.red", "to": "box1.red", "frames": 1, "frame_size": 128, "flows": stray}
        self._sim.trial(
            turn, software_after_us=0, warmup_us=0, measure_us=1, drain_us=SHORT_DRAIN_US, seed=1, streams=[stream]
        )
        self._sim.forget(box)

    def each_tunnel(self, frames: int) -> TrialResult:
        fps = self._trial.setup.line_fps * Fraction(SPACING_PERCENT, 100)
        return self._send(self._quiet(fps, burst=frames * self._trial.setup.sas), drain_us=DRAIN_US)

    def until_one_arrives(self, patience_s: float) -> Arrival:
        """One frame after the other. The last one's trial has the counts of all."""
        began, sent = time.monotonic(), 0
        while True:
            result = self._one_frame()
            now, sent = time.monotonic(), sent + 1
            if result.rx_frames or now > began + patience_s:
                whole = replace(result, tx_frames=sent, lost=sent - result.rx_frames)
                return Arrival(whole, began, now, "wall")
            time.sleep(PAUSE_S)

    def _one_frame(self) -> TrialResult:
        trial = self._quiet(self._trial.setup.line_fps, burst=1)
        return self._send(
            replace(trial, setup=replace(trial.setup, direction="encrypt")), drain_us=SHORT_DRAIN_US, registers="live"
        )

    def load(self) -> TrialResult:
        trial = replace(self._trial, setup=replace(self._trial.setup, warmup_ns=0), ike=None)
        return self._send(trial, drain_us=DRAIN_US, registers="live")

    def loaded(self, work: Callable[[], Done]) -> tuple[list[TrialResult], Done]:
        pieces = []
        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(work)
            while not working.done():
                pieces.append(self.load())
            return pieces, working.result()

    def blocked_ns(self, calm: TrialResult, pieces: list[TrialResult]) -> float:
        """How much longer the longest pause between two frames of a stream was."""
        gaps = [each.longest_gap_ns or 0.0 for each in (calm, *pieces)]
        return max(0.0, max(gaps[1:]) - gaps[0])

    def _quiet(self, fps: Fraction, burst: int) -> Trial:
        return Trial(replace(self._trial.setup, warmup_ns=0), fps, burst=burst)

    def _send(self, trial: Trial, drain_us: int, registers: str = "defer") -> TrialResult:
        fields = streams(trial, self._tunnels, None)
        for stream in fields["streams"]:
            stream["flows"]["order"] = "round-robin"  # as many frames in each tunnel
        answer = self._sim.trial(**fields, drain_us=drain_us, registers=registers)
        made = result(trial, answer, [], rekeys=0)  # the counters are the daemons' until these end
        gaps = [row["longest_gap_ns"] or 0.0 for row in answer["streams"]]
        return replace(made, longest_gap_ns=max(gaps, default=0.0))
