"""The co-simulation as a tester: a [TrafficBackend] whose trials all begin with the same, configured boxes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType

from sallyport import limits, suites, tunnels
from sallyport.backend import Latency, Setup, TrialResult
from sallyport.errors import CheckFailed, InputError
from sallyport.rekey import Rekeys
from sallyport.simulator import TESTER_MAC, Simulator, program

# Largest IP packet of a 9600 B black frame.
BLACK_MTU = limits.MAX_FRAME - limits.ETHERNET_BYTES

# The boxes behind which a direction's streams begin.
WAYS = {"both": (0, 1), "encrypt": (0,), "decrypt": (1,)}
# What a black tester port knows of frames: that they are ESP, and their order.
ENCRYPTED = {"expect": "esp"}
# More time than a trial's, so that mixes of sizes and suites that come out a little smaller still fill the trial.
RECORDING_MARGIN = 1.02


class SimBackend:
    """Trials in simulated time. Each is a branch of a simulation that was configured once, so it depends on nothing but its arguments."""

    def __init__(self, on_progress: Callable[[float, float], None] | None = None) -> None:
        self._on_progress = on_progress
        self._setup: Setup | None = None
        self._recorded = Fraction(0)  # the load that the recording of ESP is enough for, frames a second
        self._sims: dict[int, Simulator] = {}  # by the first of their boxes
        self._folder = tempfile.TemporaryDirectory(prefix="sallyport-batch-")

    def __enter__(self) -> SimBackend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._folder.cleanup()

    def _close(self) -> None:
        while self._sims:
            self._sims.popitem()[1].close()

    def capabilities(self) -> dict[str, object]:
        return {"name": "sim", "figures": "simulated", "suites": list(suites.SUITES), "boxes": 2}

    def configure(self, setup: Setup) -> None:
        largest = max(setup.mix)
        outer = max(limits.esp_frame_bytes(largest, suite, setup.mode) for suite in setup.suites)
        if outer > limits.MAX_FRAME:
            raise InputError(
                f"--frame-size {largest}: its ESP frame of {outer} B exceeds {limits.MAX_FRAME} B; "
                f"choose at most {largest - (outer - limits.MAX_FRAME)}"
            )
        program("sallyport-sim", setup.tables)  # or a sentence, before anything is worked out
        configured, self._setup = self._setup, setup
        self._recorded = Fraction(0)
        if configured and _boxes_of(configured) == _boxes_of(setup):
            return
        self._close()
        for box in (0, 1):
            text = tunnels.batch(box, setup.sas, setup.suites, BLACK_MTU, setup.seed, setup.mode)
            self._file(f"box{box}.xfrm").write_text(text)

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name

    def run_trial(self, fps: Fraction) -> TrialResult:
        setup = self._setup
        assert setup is not None, "configure() comes first"
        if setup.boxes == 1 and setup.direction != "encrypt" and fps > self._recorded:
            self._record(setup, fps)
        sim = self._simulator(setup, setup.boxes)
        with sim.branch():
            rekeys = Rekeys(sim, setup)
            answer = sim.trial(
                **rekeys.turns(),
                warmup_us=setup.warmup_ns / 1000,
                measure_us=setup.measure_ns / 1000,
                seed=setup.seed,
                streams=[
                    part for way in WAYS[setup.direction] for part in _by_suite(self._stream(setup, way, fps), setup)
                ],
            )
            checks = [
                f"box {box}, {path['chip']}, {path['path']}: received {path['received']} is not accounted for"
                for box in range(setup.boxes)
                for path in sim.counters(box)["conservation"]["paths"]
                if not path["balanced"]
            ]
            rekeys.finish(answer)
        return _result(fps, answer, rekeys.done, checks)

    def _record(self, setup: Setup, fps: Fraction) -> None:
        """Let the far box encrypt as many frames as a trial at `fps` sends: what the tester gives a box that decrypts alone."""
        sim = self._simulator(setup, 1, first=1)
        with sim.branch():
            sim.command("capture", port="box0.black", direction="out", file=str(self._file("recorded.pcapng")))
            answer = sim.command(
                "trial",
                warmup_us=0,
                measure_us=(setup.warmup_ns + setup.measure_ns) / 1000 * RECORDING_MARGIN,
                seed=setup.seed,
                streams=[
                    self._stream(replace(setup, boxes=2), 1, fps) | {"from": "box0.red", "to": "box0.black"} | ENCRYPTED
                ],
            )
        if answer["total"]["lost_total"]:
            raise CheckFailed(
                "the box that encrypts for a box that decrypts alone lost frames; see --direction encrypt"
            )
        self._recorded = fps

    def _simulator(self, setup: Setup, boxes: int, first: int = 0) -> Simulator:
        """The simulation of boxes `first`, `first` + 1 … with their tunnels."""
        if first in self._sims:
            return self._sims[first]
        sim = Simulator(boxes, setup.threads, setup.seed, self._on_progress, setup.tables)
        try:
            built = sim.suites(0)
            for suite in setup.suites:
                if suite.built not in built:
                    raise InputError(
                        f"suite {suite.name!r} is not built into the simulated chip: it has {', '.join(built)}"
                    )
            for box in range(boxes):
                # Before the SAs, of which sallyctl would otherwise go through tens of thousands again.
                for device, mac in TESTER_MAC.items():
                    sim.sallyctl(box, "next-hop", "default", "dev", device, "lladdr", mac)
                sim.sallyctl(box, "-batch", self._file(f"box{first + box}.xfrm"))
        except BaseException:
            sim.close()
            raise
        self._sims[first] = sim
        return sim

    def _stream(self, setup: Setup, way: int, fps: Fraction) -> dict:
        """The stream over all tunnels from behind box `way`, as the boxes at hand let it be sent."""
        first = tunnels.flow(way, 0)
        load = fps / limits.line_rate_fps(limits.mean_frame(setup.mix))
        stream = {
            "id": way,
            "from": f"box{way}.red",
            "to": f"box{1 - way}.red",
            "load_pct": float(100 * load),
            "sizes": [{"size": size, "weight": weight} for size, weight in setup.mix.items()],
            "bridged": setup.mode == "transport",
            "flows": {
                "count": setup.sas,
                "order": "random" if setup.sas > 1 else "round-robin",
                "src_ip": str(first.src),
                "dst_ip": str(first.dst),
                "src_ip_step": 1,
                "dst_ip_step": 1,
                "src_port": first.src_port,
                "dst_port": first.dst_port,
                "src_port_step": 0,
            },
        }
        if setup.boxes == 2:
            return stream
        if way == 0:
            return stream | {"to": "box0.black"} | ENCRYPTED
        black_load = 100 * load / limits.theoretical_fraction(setup.mix, setup.suites, setup.mode)
        recorded = {
            "file": str(self._file("recorded.pcapng")),
            "expect": "signature",
            "load_pct": min(float(black_load), 100.0),
        }
        return stream | {"from": "box0.black", "to": "box0.red"} | recorded


def _boxes_of(setup: Setup) -> Setup:
    """What of a setup the boxes and their tunnels depend on."""
    return replace(setup, mix={}, direction="both", warmup_ns=0, measure_ns=0, rekeys=0)


def _by_suite(stream: dict, setup: Setup) -> list[dict]:
    """A stream's parts, one of each suite: boxes keep the order of each SA, not that between suites of different classes."""
    each = len(setup.suites)
    if setup.boxes == 1 or each == 1:
        return [stream]
    flows = stream["flows"]
    return [
        stream
        | {
            "id": stream["id"] * each + number,
            "load_pct": stream["load_pct"] / each,
            "flows": flows
            | {
                "count": setup.sas // each,
                "order": "random" if setup.sas > each else "round-robin",
                "src_ip": str(IPv4Address(flows["src_ip"]) + number),
                "dst_ip": str(IPv4Address(flows["dst_ip"]) + number),
                "src_ip_step": each,
                "dst_ip_step": each,
            },
        }
        for number in range(each)
    ]


def _result(fps: Fraction, answer: dict, rekeys: int, checks: list[str]) -> TrialResult:
    rows = answer["streams"]
    total = {key: sum(row[key] for row in rows) for key in ("tx_frames", "rx_frames", "lost", "reordered")}
    lifo = [row["latency_ns"]["lifo"] for row in rows if row["latency_ns"]["lifo"]["count"]]
    frames = sum(row["count"] for row in lifo)
    latency = Latency(
        min=min((row["min"] for row in lifo), default=0.0),
        avg=sum(row["avg"] * row["count"] for row in lifo) / frames if frames else 0.0,
        # Percentiles of two directions do not add up: the worse one stands.
        p50=max((row["p50"] for row in lifo), default=0.0),
        p99=max((row["p99"] for row in lifo), default=0.0),
        max=max((row["max"] for row in lifo), default=0.0),
    )
    return TrialResult(
        intended_fps=fps,
        **total,
        duplicated=sum(row["duplicated"] for row in rows),
        corrupted=sum(row["corrupted"] for row in rows),
        queue_grew=any(row["queue"]["growing"] for row in rows),
        latency_ns=latency,
        simulation=answer["simulation"],
        rekeys=rekeys,
        checks=checks,
    )
