"""The co-simulation as a tester: a [TrafficBackend] whose every trial is a fresh simulation of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from types import TracebackType

from sallyport import limits, suites, tunnels
from sallyport.backend import Latency, Setup, TrialResult
from sallyport.errors import InputError
from sallyport.simulator import TESTER_MAC, Simulator

# Largest outer IP packet of a 9600 B black frame.
BLACK_MTU = limits.MAX_FRAME - limits.ETHERNET_BYTES


class SimBackend:
    """Trials in simulated time. A trial starts both boxes from reset, so trials depend on nothing but their arguments."""

    def __init__(self, on_progress: Callable[[float, float], None] | None = None) -> None:
        self._on_progress = on_progress
        self._setup: Setup | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="sallyport-batch-")

    def __enter__(self) -> SimBackend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def capabilities(self) -> dict[str, object]:
        return {"name": "sim", "figures": "simulated", "suites": list(suites.SUITES), "boxes": 2}

    def configure(self, setup: Setup) -> None:
        largest = max(setup.mix)
        outer = max(limits.esp_frame_bytes(largest, suite) for suite in setup.suites)
        if outer > limits.MAX_FRAME:
            raise InputError(
                f"--frame-size {largest}: its ESP frame of {outer} B exceeds {limits.MAX_FRAME} B; "
                f"choose at most {largest - (outer - limits.MAX_FRAME)}"
            )
        if setup.boxes == 1 and setup.direction != "encrypt":
            raise InputError("--boxes 1 measures --direction encrypt only; use --boxes 2 for both or decrypt")
        self._setup = setup
        for box in range(setup.boxes):
            text = tunnels.batch(box, setup.sas, setup.suites, BLACK_MTU, setup.seed)
            self._batch(box).write_text(text)

    def _batch(self, box: int) -> Path:
        return Path(self._folder.name) / f"box{box}.xfrm"

    def run_trial(self, fps: Fraction) -> TrialResult:
        setup = self._setup
        assert setup is not None, "configure() comes first"
        with ExitStack() as stack:
            sim = stack.enter_context(Simulator(setup.boxes, setup.threads, setup.seed, self._on_progress))
            built = sim.suites(0)
            for suite in setup.suites:
                if suite.built not in built:
                    raise InputError(
                        f"suite {suite.name!r} is not built into the simulated chip: it has {', '.join(built)}"
                    )
            for box in range(setup.boxes):
                sim.sallyctl(box, "-batch", self._batch(box))
                for device, mac in TESTER_MAC.items():
                    sim.sallyctl(box, "next-hop", "default", "dev", device, "lladdr", mac)
            answer = sim.command(
                "trial",
                warmup_us=setup.warmup_ns / 1000,
                measure_us=setup.measure_ns / 1000,
                seed=setup.seed,
                streams=self._streams(setup, fps),
            )
            checks = [
                f"box {box}, {path['chip']}, {path['path']}: received {path['received']} is not accounted for"
                for box in range(setup.boxes)
                for path in sim.counters(box)["conservation"]["paths"]
                if not path["balanced"]
            ]
        return _result(fps, answer, checks)

    def _streams(self, setup: Setup, fps: Fraction) -> list[dict]:
        """One stream for each direction in use, over all its tunnels in turn."""
        load = 100 * fps / limits.line_rate_fps(limits.mean_frame(setup.mix))
        senders = {"both": (0, 1), "encrypt": (0,), "decrypt": (1,)}[setup.direction]
        streams = []
        for box in senders:
            first = tunnels.flows(box, 1)[0]
            streams.append(
                {
                    "id": box,
                    "from": f"box{box}.red",
                    "to": f"box{1 - box}.red" if setup.boxes == 2 else f"box{box}.black",
                    "expect": "signature" if setup.boxes == 2 else "esp",
                    "load_pct": float(load),
                    "sizes": [{"size": size, "weight": weight} for size, weight in setup.mix.items()],
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
            )
        return streams


def _result(fps: Fraction, answer: dict, checks: list[str]) -> TrialResult:
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
        checks=checks,
    )
