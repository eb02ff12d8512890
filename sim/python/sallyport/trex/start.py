# SPDX-License-Identifier: Apache-2.0
"""Whether TRex's first frames leave in time: a short burst on each port, captured as it is sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

from sallyport import suites
from sallyport.backend import Setup
from sallyport.trex import streams
from sallyport.trex.lab import Lab
from sallyport.trex.process import Client, Refused

FRAMES, FPS = 100, 2000
LATE_MS = 2.0  # that the burst may take less or more
LONGEST_SECONDS = 5.0  # beside `start_ms`


def check(lab: Lab, client: Client, next_hops: list[str], warn: Callable[[str], None]) -> list[float | None]:
    """Milliseconds that the burst took on each port, None where TRex does not tell; warns of a port
    with a wrong time."""
    asked = 1000 * (FRAMES - 1) / FPS
    found = []
    for number, box in enumerate(lab.boxes):
        way = streams.Way(number, box.red.port, lab.boxes[1 - number].red.port, box.red.mac, next_hops[number])
        took = _took(lab, client, way)
        found.append(took)
        if took is not None and abs(took - asked) > LATE_MS:
            warn(
                f"{lab.where}, port {way.tx_port}: {FRAMES} frames at {FPS:,} a second took {took:.1f} ms, not "
                f"{asked:.1f} ms, so a trial does not begin with the load that is asked for; raise start_ms in "
                f"{lab.file}, or give TRex more cores (-c)"
            )
    return found


def _took(lab: Lab, client: Client, way: streams.Way) -> float | None:
    """From the first frame to the last, by the time stamps of a capture."""
    setup = Setup(mix={64: 1}, suites=suites.parse("aes256gcm16"))
    load = streams.burst(lab, setup, way, FRAMES, Fraction(FPS))
    client.call("add_streams", streams=load.streams, ports=[way.tx_port])
    try:
        capture = client.call("start_capture", tx_ports=[way.tx_port], limit=FRAMES)["id"]
    except Refused:
        client.call("remove_all_streams", ports=[way.tx_port])
        return None
    client.call("start", ports=[way.tx_port], mult="1")
    left = lab.start_ms / 1000 + LONGEST_SECONDS
    while client.call("is_traffic_active", ports=[way.tx_port]) and left > 0:
        time.sleep(0.05)
        left -= 0.05
    packets = client.call("stop_capture", capture_id=capture, output=[])
    client.call("stop", ports=[way.tx_port])
    client.call("remove_all_streams", ports=[way.tx_port])
    times = [packet["ts"] for packet in packets]
    return 1000 * (max(times) - min(times)) if len(times) == FRAMES else None
