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
TAGGED = 68  # bytes of a frame with a tag, which has room for all headers
LATE_MS = 2.0  # that the burst may take less or more
LONGEST_SECONDS = 5.0  # beside `start_ms`


def check(lab: Lab, client: Client, next_hops: list[str], warn: Callable[[str], None]) -> list[float | None]:
    """Milliseconds that the burst took on each port, None where TRex does not tell; warns of a port
    with a wrong time or none."""
    asked = 1000 * (FRAMES - 1) / FPS
    found = []
    for number, here in enumerate(lab.ends):
        far = lab.ends[number ^ 1]
        way = streams.Way(number % 2, here.port, far.port, here.mac, next_hops[number], here.vlan)
        times = _captured(lab, client, way)
        took = 1000 * (max(times) - min(times)) if len(times) == FRAMES else None
        found.append(took)
        where = f"{lab.where}, port {way.tx_port}"
        if took is None:
            warn(
                f"{where}: it captured {len(times)} of {FRAMES} frames that it sent, so it is not known whether a trial "
                "begins with the load that is asked for; see its console"
            )
        elif abs(took - asked) > LATE_MS:
            warn(
                f"{where}: {FRAMES} frames at {FPS:,} a second took {took:.1f} ms, not {asked:.1f} ms, so a trial does not "
                f"begin with the load that is asked for; raise start_ms in {lab.file}, or give TRex more cores (-c)"
            )
    return found


def _captured(lab: Lab, client: Client, way: streams.Way) -> list[float]:
    """When each frame left, by the time stamps of a capture; none if TRex refuses to capture.

    TRex captures what streams send in its service modes alone. The filtered one needs --software,
    so this is the other. In it traffic starts by force, and where NICs count flows the frames are
    of no group.
    """
    port = [way.tx_port]
    setup = Setup(mix={TAGGED if way.vlan else 64: 1}, suites=suites.parse("aes256gcm16"))
    load = streams.burst(lab, setup, way, FRAMES, Fraction(FPS), counted=False)
    client.call("add_streams", streams=load.streams, ports=port)
    try:
        client.call("set_service_mode", ports=port, enabled=True)
        own = "vlan and udp" if way.vlan else "udp"  # and not the ARP that TRex itself repeats
        capture = client.call("start_capture", tx_ports=port, limit=FRAMES, bpf_filter=own)["id"]
    except Refused:
        return []
    else:
        return _sent(lab, client, port, capture)
    finally:
        client.call("set_service_mode", ports=port, enabled=False)
        client.call("remove_all_streams", ports=port)


def _sent(lab: Lab, client: Client, port: list[int], capture: int) -> list[float]:
    """Times of the frames in a capture of the port's streams, which are started and stopped."""
    try:
        client.call("start", ports=port, mult="1", force=True)
        left = lab.start_ms / 1000 + LONGEST_SECONDS
        while client.call("is_traffic_active", ports=port) and left > 0:
            time.sleep(0.05)
            left -= 0.05
    finally:  # an active capture would keep the port in its mode
        packets = client.call("stop_capture", capture_id=capture, output=[])
        client.call("stop", ports=port)
    return [packet["ts"] for packet in packets]
