# SPDX-License-Identifier: Apache-2.0
"""Whether a box alone encrypts and decrypts as it should: a few frames through it, captured behind
it, opened with the tester's own keys and compared with those that were sent."""

from __future__ import annotations

import base64
import time
from fractions import Fraction

from sallyport import limits, tunnels
from sallyport.backend import Setup, Trial
from sallyport.errors import CheckFailed
from sallyport.trex import black, frames, run, streams
from sallyport.trex.alone import Alone, red_tag
from sallyport.trex.black import Packet
from sallyport.trex.encrypted import WAY
from sallyport.trex.esp import Association, Rejected
from sallyport.trex.lab import Lab
from sallyport.trex.process import Client
from sallyport.trex.streams import Load, Way
from sallyport.tunnels import Tunnels

FRAMES, FPS = 100, Fraction(2000)
CAPTURED = 4 * FRAMES  # with frames of others
LONGEST_SECONDS = 5.0  # beside `start_ms`
ARRIVAL_SECONDS = 0.5  # of the last frame


def check(lab: Lab, client: Client, alone: Alone, setup: Setup, way: Way) -> int:
    """How many frames came through of those that were sent in one direction; [CheckFailed] for the
    first that is wrong, or if none came."""
    trial = Trial(setup, FPS, burst=FRAMES)
    way = alone.way(way, trial)
    load = streams.burst(lab, setup, way, FRAMES, FPS, counted=False) if way.number != WAY else alone.load(way, trial)
    captured, left = _captured(lab, client, way, load)
    tag = red_tag(lab)
    judge = Clear(setup, way, tag) if way.number == WAY else Sealed(setup, way, tag, alone.tunnels)
    whose = f"{lab.boxes[0].name}, {setup.direction}" if setup.direction != "both" else lab.boxes[0].name
    seen = 0
    for number, data in enumerate(captured):
        packet = black.read(data)
        if packet is None or not judge.mine(packet):
            continue
        if why := judge.wrong(packet):
            raise CheckFailed(
                f"{whose}: frame {number} of those captured at TRex's port {way.rx_port} {why}; see whether the box "
                f"has the SAs that this command wrote, and {lab.file}"
            )
        seen += 1
    if not left and load.file:
        raise CheckFailed(
            f"{lab.where} sent none of the frames in {load.file}: let its server have the folder of trex.captures under "
            "the same name, and the right to read it"
        )
    if not seen:
        raise CheckFailed(
            f"{whose}: of {FRAMES} frames into TRex's port {way.tx_port} none came out at port {way.rx_port}; see the "
            "box's counters, its next hops and addresses (docs/how-to/lab-one-box.md)"
        )
    return seen


def _captured(lab: Lab, client: Client, way: Way, load: Load) -> tuple[list[bytes], int]:
    """What arrived in a service mode, where TRex sees all frames, and how many frames left."""
    both = [way.tx_port, way.rx_port]
    client.call("clear_stats", ports=both)
    if load.streams:
        client.call("add_streams", streams=load.streams, ports=[way.tx_port])
    try:
        client.call("set_service_mode", ports=both, enabled=True)
        capture = client.call("start_capture", rx_ports=[way.rx_port], limit=CAPTURED)["id"]
        try:
            run.send(client, [way], [load], lab.start_ms / 1000, force=True)
            rest = lab.start_ms / 1000 + LONGEST_SECONDS
            while client.call("is_traffic_active", ports=[way.tx_port]) and rest > 0:
                time.sleep(0.05)
                rest -= 0.05
            time.sleep(ARRIVAL_SECONDS)
            left = client.call("get_stats", ports=both)[str(way.tx_port)]["opackets"]
        finally:  # an active capture would keep the port in its mode
            packets = client.call("stop_capture", capture_id=capture, output=[])
            client.call("stop", ports=[way.tx_port])
    finally:
        client.call("set_service_mode", ports=both, enabled=False)
        client.call("remove_all_streams", ports=both)
    return [base64.b64decode(packet["binary"]) for packet in packets], int(left)


class Clear:
    """Judges what a box decrypted: the packet that was sealed, but for its TTL."""

    def __init__(self, setup: Setup, way: Way, tag: int) -> None:
        self._setup, self._way, self._tag = setup, way, tag
        self._first = int.from_bytes(frames.addresses(way.number, 0, setup.ip)[0], "big")

    def mine(self, packet: Packet) -> bool:
        """Whether it is of the tester's hosts."""
        return packet.protocol == black.UDP and packet.payload[:4] == _ports()

    def wrong(self, packet: Packet) -> str | None:
        """Why it is not what should come; None if it is."""
        return self._changed(packet)

    def _changed(self, packet: Packet) -> str | None:
        number = int.from_bytes(packet.src, "big") - self._first
        if not 0 <= number < self._setup.sas:
            return "is from an address of no flow"
        length = len(packet.whole)
        if length + limits.ETHERNET_BYTES + self._tag not in self._setup.mix:
            return f"has a packet of {length} B, which is no size of this run"
        sent = frames.packet(self._way.number, number, self._setup.ip, length)
        return None if packet.as_sent() == black.unchanged(sent) else "is not the packet that was sent"


class Sealed(Clear):
    """Judges what a box encrypted: its SA, numbers that increase, its ICV, and the packet in it."""

    def __init__(self, setup: Setup, way: Way, tag: int, keys: Tunnels) -> None:
        super().__init__(setup, way, tag)
        self._sas = [Association(*each) for each in keys.keys(way.number)]
        self._latest: dict[int, int] = {}

    def mine(self, packet: Packet) -> bool:
        """Whether it carries ESP."""
        return black.esp_of(self._setup, packet) is not None

    def wrong(self, packet: Packet) -> str | None:
        esp = black.esp_of(self._setup, packet)
        assert esp is not None
        spi = int.from_bytes(esp[:4], "big")
        number = spi - tunnels.FIRST_SPI
        if not 0 <= number < len(self._sas):
            return f"has SPI {spi:#x}, which is of no SA"
        if not black.is_between(self._setup, self._way.number, number, packet):
            return "has other outer addresses than its SA"
        try:
            counted, payload, next_header = self._sas[number].open(esp)
        except Rejected as error:
            return f"does not open with the key of SPI {spi:#x}: {error}"
        if counted <= self._latest.get(number, 0):
            return f"has number {counted} of SPI {spi:#x} behind number {self._latest[number]}"
        self._latest[number] = counted
        if next_header != black.carried(self._setup, b"")[1]:
            return f"has next header {next_header}"
        inner = black.parse(payload) if self._setup.mode == "tunnel" else _joined(self._setup, packet, payload)
        if inner is None:
            return "carries no IP packet"
        return self._changed(inner)


def _joined(setup: Setup, packet: Packet, payload: bytes) -> Packet | None:
    """The packet that transport mode took apart."""
    return black.parse(frames.ip_header(setup.ip, packet.src, packet.dst, len(payload), black.UDP) + payload)


def _ports() -> bytes:
    return b"".join(port.to_bytes(2, "big") for port in tunnels.UDP_PORTS)
