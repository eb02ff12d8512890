# SPDX-License-Identifier: Apache-2.0
"""Frames that a simulated chip gave to the management CPU."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapReader


@dataclass(frozen=True)
class Punted:
    """A punted frame as captured: what its header says, and when it left, in ns of simulated time;
    `sa` is the row of the inbound SA that it came by, `injected` says that the CPU had sent it."""

    reason: str
    port: int
    group: str
    cycle: int
    left_ns: int
    frame: bytes
    sa: int | None = None
    injected: bool = False


def punted(folder: Path, chip: str, box: int = 0) -> list[Punted]:
    found = []
    with RawPcapReader(str(folder / f"box{box}.{chip}.punt.pcapng")) as reader:
        for frame, meta in reader:
            (comment,) = meta.comments
            words = re.fullmatch(
                r"punt: (\w+), port (\d), group (\w+)(?:, SA (\d+))?(, injected)?, cycle (\d+)", comment.decode()
            )
            assert words, comment
            ticks = meta.tshigh << 32 | meta.tslow
            nanoseconds = ticks * 1_000_000_000 // meta.tsresol
            sa = int(words[4]) if words[4] else None
            found.append(
                Punted(words[1], int(words[2]), words[3], int(words[6]), nanoseconds, frame, sa, bool(words[5]))
            )
    return found


RED_MAC = "02:72:c6:12:00:fe"  # of the red port with the address 198.18.0.254


def for_cpu(packet: Packet) -> bytes:
    """What the inner chip gives the CPU of a packet from black: behind an Ethernet header with the
    red port's address, with the TTL that it has."""
    kind = 0x86DD if packet.version == 6 else 0x0800
    return bytes(Ether(dst=RED_MAC, src=RED_MAC, type=kind) / Raw(bytes(packet)))
