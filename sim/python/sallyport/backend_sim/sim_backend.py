# SPDX-License-Identifier: Apache-2.0
"""The co-simulation as a tester: a [TrafficBackend] whose trials all begin with the same,
configured boxes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from sallyport import limits, suites
from sallyport.backend import Capabilities, Setup, Trial, TrialResult
from sallyport.backend_sim import attack, ike
from sallyport.backend_sim.rekey import Rekeys
from sallyport.backend_sim.reset import RESETS, Reset
from sallyport.backend_sim.result import result, sends_ns
from sallyport.backend_sim.streams import streams
from sallyport.errors import CheckFailed, InputError
from sallyport.simulator import Simulator, simulation
from sallyport.tunnels import Tunnels, check_count

# Largest IP packet of a 9600 B black frame.
BLACK_MTU = limits.MAX_FRAME - limits.ETHERNET_BYTES
# More time than a trial's, so that mixes of sizes and suites that come out a little smaller still
# fill the trial.
RECORDING_MARGIN = 1.02


class SimBackend:
    """Trials in simulated time. Each is a branch of a simulation that was configured once, so it
    depends on its arguments alone."""

    def __init__(self, on_progress: Callable[[float, float], None] | None = None) -> None:
        """`on_progress(done, cycles per second)` is called during a trial, `done` from 0 to 1."""
        self._on_progress = on_progress
        self._configured: Setup | None = None  # what the running simulations were configured for
        self._recorded: Trial | None = None  # what the recording of ESP is enough for
        self._sims: dict[int, Simulator] = {}  # by the first of their boxes
        self._folder = tempfile.TemporaryDirectory(prefix="sallyport-batch-")

    def close(self) -> None:
        self._end_simulations()
        self._folder.cleanup()

    def _end_simulations(self) -> None:
        while self._sims:
            self._sims.popitem()[1].close()

    def capabilities(self) -> Capabilities:
        return Capabilities(
            name="sim",
            simulated=True,
            suites=tuple(suites.SUITES),
            boxes=(1, 2),
            resets=RESETS,
            attacks=attack.KINDS,
            warmup_ns=50_000,
            measure_ns=200_000,
            latency_measure_ns=200_000,
            repeatable=True,
            ike=tuple(ike.MEASURES),
        )

    def check(self, setup: Setup, tests: Collection[str] = ()) -> None:
        largest = max(setup.mix)
        if _outer(setup, largest) > limits.MAX_FRAME:
            most = limits.largest_frame(setup.suites, setup.mode, setup.ip, setup.nat_t, limits.MAX_FRAME)
            raise InputError(
                f"--frame-size {largest}: its ESP frame of {_outer(setup, largest)} B exceeds {limits.MAX_FRAME} B; choose at most {most}"
            )
        smallest = min(setup.mix)
        if smallest < limits.smallest_frame(setup.ip):
            raise InputError(
                f"--frame-size {smallest}: over IPv{setup.ip} a test frame needs {limits.smallest_frame(setup.ip)} B for its headers and "
                "signature"
            )
        check_count(setup)
        if any(test in ike.MEASURES for test in tests):
            ike.check(setup)
        simulation(setup.crypto, setup.chips, setup.tables)

    def run_trial(self, trial: Trial) -> TrialResult:
        setup = trial.setup
        self.check(setup, [trial.ike] if trial.ike else [])
        if trial.ike:
            return ike.run(trial, BLACK_MTU)
        tunnels = Tunnels(setup)
        self._configure(setup, tunnels)
        decrypts_alone = setup.boxes == 1 and setup.direction != "encrypt"
        if decrypts_alone and not _enough(self._recorded, trial):
            self._record(trial, tunnels)
        sim = self._simulator(setup, setup.boxes)
        with sim.branch():
            software = Reset(sim, trial, tunnels, BLACK_MTU) if trial.reset else Rekeys(sim, setup, tunnels)
            answer = sim.trial(**software.turns(), **streams(trial, tunnels, self._file("recorded.pcapng")))
            counters = [sim.counters(box) for box in range(setup.boxes)]
            software.finish(answer)
        return result(trial, answer, counters, software.done)

    def _configure(self, setup: Setup, tunnels: Tunnels) -> None:
        """Let the simulations be of `setup`; they start when they are needed."""
        if self._configured and _boxes_of(self._configured) == _boxes_of(setup):
            return
        self._end_simulations()
        self._configured, self._recorded = setup, None
        for box in (0, 1):
            self._file(f"box{box}.xfrm").write_text(tunnels.batch(box, BLACK_MTU))

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name

    def _record(self, trial: Trial, tunnels: Tunnels) -> None:
        """Let the far box encrypt as many frames as the trial sends: what the tester gives a box
        that decrypts alone."""
        setup = trial.setup
        alone = replace(
            setup, boxes=1, direction="encrypt", warmup_ns=0, measure_ns=int(sends_ns(trial) * RECORDING_MARGIN)
        )
        sim = self._simulator(setup, 1, first=1)
        with sim.branch():
            sim.command("capture", port="box0.black", direction="out", file=str(self._file("recorded.pcapng")))
            answer = sim.trial(**streams(replace(trial, setup=alone, attack=None), tunnels, None, way=1))
        if answer["total"]["lost_total"]:
            raise CheckFailed(
                "the box that encrypts for a box that decrypts alone lost frames; see --direction encrypt"
            )
        if trial.attack:
            attack.make(trial.attack, self._file("recorded.pcapng"), self._file(f"{trial.attack}.pcap"))
        self._recorded = trial

    def _simulator(self, setup: Setup, boxes: int, first: int = 0) -> Simulator:
        """The simulation of boxes `first`, `first` + 1 … with their tunnels."""
        if first in self._sims:
            return self._sims[first]
        sim = Simulator(
            boxes,
            setup.threads,
            setup.seed,
            self._on_progress,
            setup.tables,
            crypto=setup.crypto,
            chips=setup.chips,
            core_mhz=setup.core_mhz,
            lock_step=setup.lock_step,
        )
        try:
            built = sim.suites(0)
            for suite in setup.suites:
                if suite.built not in built:
                    raise InputError(
                        f"suite {suite.name!r} is not built into the simulated chip: it has {', '.join(built)}"
                    )
            for box in range(boxes):
                # Before the SAs: later, sallyctl would go through tens of thousands of them again.
                sim.face_tester(box)
                sim.sallyctl(box, "-batch", self._file(f"box{first + box}.xfrm"))
        except BaseException:
            sim.close()
            raise
        self._sims[first] = sim
        return sim


def _outer(setup: Setup, size: int) -> int:
    """Bytes of the longest black frame of a red one."""
    return max(limits.esp_frame_bytes(size, suite, setup.mode, setup.ip, setup.nat_t) for suite in setup.suites)


def _boxes_of(setup: Setup) -> Setup:
    """What of a setup the boxes and their tunnels depend on."""
    return replace(setup, mix={}, direction="both", warmup_ns=0, measure_ns=0, rekeys=0)


def _enough(recorded: Trial | None, trial: Trial) -> bool:
    """True if the record of one trial has all frames of another."""
    if recorded is None or (recorded.setup.mix, recorded.attack) != (trial.setup.mix, trial.attack):
        return False
    return recorded.fps * Fraction(sends_ns(recorded)) >= trial.fps * Fraction(sends_ns(trial))
