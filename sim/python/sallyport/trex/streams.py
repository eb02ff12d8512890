# SPDX-License-Identifier: Apache-2.0
"""A trial's traffic in one direction, as TRex's streams: the bulk, and a few frames more that
measure latency.

There is a bulk stream for each size of the mix, in the order of their weights. Bulk streams go
through all flows and are counted under one group. There is a latency stream for each suite, on the
suite's first flow: a group must keep its order, and boxes keep the order of each SA. Latency
streams have the mix's most frequent size and take their rate from the bulk stream of that size. So
all streams together are exactly the intended load.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sallyport import limits
from sallyport.backend import Setup
from sallyport.trex import frames
from sallyport.trex.lab import Lab

MOST_LATENCY_STREAMS = 128  # of a server, both directions together
# Groups that TRex counts by ("pg_id"): the bulk of each port, and from here on 64 for latency.
FIRST_BULK, FIRST_LATENCY, LATENCY_GROUPS = 1, 16, 64
L4_TYPE_UDP = 11  # of the API's CTRexVmInsFixHwCs
# Seconds between latency frames of two suites; the shortest trial has room for 64 of them.
FURTHEST_APART = Fraction(1, 1000)


@dataclass(frozen=True)
class Way:
    """What enters the red port of box `number`: TRex's ports at both ends, and the addresses of
    its frames."""

    number: int
    tx_port: int
    rx_port: int
    src_mac: str
    dst_mac: str
    vlan: int | None = None
    # Frames that come out as others, so that TRex's receiving port alone counts them: all that
    # arrive.
    by_port: bool = False
    # Frames of a file: so many, and each `parts`-th that leaves is one of them.
    pushed: int = 0
    parts: int = 1
    pair: int = 0  # of boxes, that it is through

    @property
    def bulk(self) -> int:
        """The group of its bulk streams."""
        return FIRST_BULK + 2 * self.pair + self.number

    @property
    def latency(self) -> int:
        """The first group of its latency streams."""
        return FIRST_LATENCY + LATENCY_GROUPS * (2 * self.pair + self.number)


@dataclass(frozen=True)
class Load:
    """Streams for TRex, or a file of frames, and what they add up to."""

    streams: list[dict]
    latency_groups: list[int]
    latency_fps: Fraction
    fps: Fraction
    file: Path | None = None  # which the server sends, a frame each `gap_us`
    gap_us: float = 0.0

    def multiplier(self, then_fps: Fraction) -> str:
        """What TRex is to multiply these streams' rates by for `then_fps`; it leaves latency
        streams alone."""
        return f"{float((then_fps - self.latency_fps) / (self.fps - self.latency_fps)):.9f}"


def make(lab: Lab, setup: Setup, way: Way, fps: Fraction, lowest: Fraction) -> Load:
    """Streams that send `fps` frames a second, and can later run at any rate from `lowest` on; see
    [Load.multiplier].

    They begin `start_ms` after the start: until then TRex's scheduler is late, and sends the frames
    due in a burst. Latency streams have one period, so each begins a little after the one before,
    or their frames would always leave together.
    """
    weight = sum(setup.mix.values())
    often = max(setup.mix, key=lambda size: (setup.mix[size], -size))
    latency = min(Fraction(lab.latency_fps), lowest * setup.mix[often] / weight / 2)
    streams = [
        _stream(lab, setup, way, size, _continuous(fps * setup.mix[size] / weight - (latency if size == often else 0)))
        for size in _by_weight(setup)
    ]
    groups = [way.latency + number for number in range(len(setup.suites))]
    rate = _continuous(latency / len(groups))
    apart = min(1 / latency, FURTHEST_APART)
    streams += [
        _latency_stream(lab, setup, way, often, rate, number, group, number * apart)
        for number, group in enumerate(groups)
    ]
    return Load(streams, groups, latency, fps)


def burst(lab: Lab, setup: Setup, way: Way, count: int, fps: Fraction, counted: bool = True) -> Load:
    """Streams that send `count` frames at `fps` and end; no latency, for its frames would be more.
    Without `counted` they are of no group."""
    weight = sum(setup.mix.values())
    shares = {size: count * part // weight for size, part in setup.mix.items()}
    for size in _by_weight(setup)[: count - sum(shares.values())]:
        shares[size] += 1
    streams = [
        _stream(
            lab,
            setup,
            way,
            size,
            _object("STLTXSingleBurst", total_pkts=shares[size], pps=float(fps * shares[size] / count)),
            counted,
        )
        for size in _by_weight(setup)
        if shares[size]
    ]
    return Load(streams, [], Fraction(0), fps)


def each_flow(lab: Lab, setup: Setup, way: Way, count: int, fps: Fraction) -> Load:
    """Streams that send `count` frames of each flow, of the most frequent size: one stream a flow,
    all together at `fps`."""
    mode = _object("STLTXSingleBurst", total_pkts=count, pps=float(fps / setup.sas))
    made = [_of_flow(lab, setup, way, number, mode, number / fps) for number in range(setup.sas)]
    return Load(made, [], Fraction(0), fps)


def steady(lab: Lab, setup: Setup, way: Way, fps: Fraction) -> Load:
    """A stream of the first flow at `fps`, of the most frequent size, without latency."""
    return Load([_of_flow(lab, setup, way, 0, _continuous(fps), Fraction(0))], [], Fraction(0), fps)


def _of_flow(lab: Lab, setup: Setup, way: Way, number: int, mode: dict, late: Fraction) -> dict:
    size = _by_weight(setup)[0]
    frame = frames.frame(way.number, number, setup.ip, size, way.src_mac, way.dst_mac, checked=True, vlan=way.vlan)
    return _of(lab, frame, None, mode, _object("STLFlowStats", pg_id=way.bulk), late)


def _by_weight(setup: Setup) -> list[int]:
    return sorted(setup.mix, key=lambda size: (-setup.mix[size], size))


def _object(name: str, /, **arguments: object) -> dict:
    """An object of TRex's API (client.py)."""
    return {"class": name, "args": arguments}


def _continuous(fps: Fraction) -> dict:
    return _object("STLTXCont", pps=float(fps))


def _stream(lab: Lab, setup: Setup, way: Way, size: int, mode: dict, counted: bool = True) -> dict:
    program = _flows(setup, lab.order, way.vlan) if setup.sas > 1 else None
    frame = frames.frame(way.number, 0, setup.ip, size, way.src_mac, way.dst_mac, checked=True, vlan=way.vlan)
    stats = _object("STLFlowStats", pg_id=way.bulk) if counted else None
    return _of(lab, frame, program, mode, stats)


def _latency_stream(
    lab: Lab, setup: Setup, way: Way, size: int, mode: dict, number: int, group: int, late: Fraction
) -> dict:
    frame = frames.frame(way.number, number, setup.ip, size, way.src_mac, way.dst_mac, vlan=way.vlan)
    return _of(lab, frame, None, mode, _object("STLFlowLatencyStats", pg_id=group), late)


def _of(
    lab: Lab, frame: bytes, program: list[dict] | None, mode: dict, stats: dict | None, late: Fraction = Fraction(0)
) -> dict:
    """A stream that begins `late` seconds after the trial's first frame."""
    packet = _object("STLPktBuilder", pkt_buffer={"bytes": base64.b64encode(frame).decode()}, vm=program)
    # Of a frame given as bytes TRex takes neither address unless it is told to: bit 0 and mode 1
    # are "as in the packet".
    return _object(
        "STLStream",
        packet=packet,
        mode=mode,
        isg=1000.0 * lab.start_ms + float(1_000_000 * late),
        flow_stats=stats,
        mac_src_override_by_pkt=True,
        mac_dst_override_mode=1,
    )


def _flows(setup: Setup, order: str, vlan: int | None) -> list[dict]:
    """The program that makes flow k of flow 0: k in the low 16 bits of both addresses, which are 0
    in flow 0. Over IPv6 it corrects the UDP checksum, too: in the NIC, or in software for one that
    does not."""
    start = frames.packet_at(vlan)
    op = "random" if order == "random" else "inc"
    program = [
        _object("STLVmFlowVar", name="flow", min_value=0, max_value=setup.sas - 1, size=2, op=op),
        *(_object("STLVmWrFlowVar", fv_name="flow", pkt_offset=start + at) for at in frames.LOW_BITS_AT[setup.ip]),
    ]
    if setup.ip == 4:
        return [*program, _object("STLVmFixIpv4", offset=start)]
    udp = start + limits.IP_BYTES[6]
    return [*program, _object("STLVmFixChecksumHw", l3_offset=start, l4_offset=udp, l4_type=L4_TYPE_UDP)]
