# SPDX-License-Identifier: Apache-2.0
"""What a trial sends, as the engine's command `trial` takes it
(docs/reference/simulator-trial.md)."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path

from sallyport.backend import Trial
from sallyport.tunnels import Tunnels

# The boxes behind which a direction's streams begin.
WAYS = {"both": (0, 1), "encrypt": (0,), "decrypt": (1,)}
# What a black tester port knows of frames: that they are ESP, and their order.
ENCRYPTED = {"expect": "esp"}
# An attack begins so much later than the stream that it copies, and its frames are never faster: a
# replay can repeat only earlier frames.
ATTACK_AFTER_US = 5
# Stream ids: of each direction, of the suites within it, and of its second part in time.
SUITE_IDS, PART_IDS, ATTACK_ID = 2, 1000, 5000


def streams(trial: Trial, tunnels: Tunnels, recorded: Path | None, way: int | None = None) -> dict:
    """The fields of the engine's command, for flows of `tunnels`. `recorded` is the ESP that a box
    that decrypts alone is given.

    With `way` only the stream of that direction, out of the black port of a box that stands for it.
    """
    setup = trial.setup
    warmup_us, measure_us = setup.warmup_ns / 1000, setup.measure_ns / 1000
    fields: dict = {"seed": setup.seed}
    parts = [(trial.fps, {})]
    if trial.burst:
        warmup_us, measure_us = 0, float(1e6 * trial.burst / trial.fps) + 1
        parts = [(trial.fps, {"frames": trial.burst})]
    if trial.then_fps:
        change = {"start_us": warmup_us + measure_us}
        parts = [(trial.fps, {"stop_us": change["start_us"]}), (trial.then_fps, change)]
        measure_us *= 1.5
    ways = WAYS[setup.direction] if way is None else (way,)
    made = [
        stream | {"id": stream["id"] + PART_IDS * number}
        for number, (fps, times) in enumerate(parts)
        for each in ways
        for stream in _by_suite(_stream(trial, tunnels, each, fps, recorded, forced=way is not None) | times, trial)
    ]
    if trial.attack:
        assert recorded is not None
        made.append(_attack(trial, recorded))
    return fields | {"warmup_us": warmup_us, "measure_us": measure_us, "streams": made}


def _stream(trial: Trial, tunnels: Tunnels, way: int, fps: Fraction, recorded: Path | None, forced: bool) -> dict:
    """The stream over all tunnels from behind box `way`, as the boxes at hand let it be sent."""
    setup = trial.setup
    first = tunnels.flow(way, 0)
    load = fps / setup.line_fps
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
    if way == 0 or forced:
        return stream | {"from": "box0.red", "to": "box0.black"} | ENCRYPTED
    return (
        stream
        | {"from": "box0.black", "to": "box0.red", "file": str(recorded), "expect": "signature"}
        | {"load_pct": float(_black_load(trial, load))}
    )


def _black_load(trial: Trial, load: Fraction) -> Fraction:
    """Percent of the black wire that a red load, a fraction of line rate, fills."""
    return min(100 * load / trial.setup.ceiling, Fraction(100))


def _by_suite(stream: dict, trial: Trial) -> list[dict]:
    """A stream's parts, one of each suite: boxes keep the order of each SA, not that between suites
    of different classes."""
    setup = trial.setup
    each = len(setup.suites)
    if setup.boxes == 1 or each == 1:
        return [stream]
    flows = stream["flows"]
    frames = stream.get("frames", 0)
    return [
        stream
        | ({"frames": frames // each + (number < frames % each)} if frames else {})
        | {
            "id": stream["id"] + SUITE_IDS * number,
            "load_pct": stream["load_pct"] / each,
            "flows": flows
            | {
                "count": setup.sas // each,
                "order": "random" if setup.sas > each else "round-robin",
                "src_ip": str(ip_address(flows["src_ip"]) + number),
                "dst_ip": str(ip_address(flows["dst_ip"]) + number),
                "src_ip_step": each,
                "dst_ip_step": each,
            },
        }
        for number in range(each)
    ]


def _attack(trial: Trial, recorded: Path) -> dict:
    """The hostile sender's stream on the black wire: it takes the wire's free rate, but no more
    than the load of the real stream."""
    load = _black_load(trial, trial.fps / trial.setup.line_fps)
    return {
        "id": ATTACK_ID,
        "from": "box0.black",
        "to": "box0.red",
        "file": str(recorded.with_name(f"{trial.attack}.pcap")),
        "expect": "count",
        "load_pct": float(min(100 - load, load)),
        "start_us": ATTACK_AFTER_US,
    }
