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
    `sa` is the row of the inbound SA that it came by, `hairpin` says that it was for another
    tunnel, and `injected` that the CPU had sent it."""

    reason: str
    port: int
    group: str
    cycle: int
    left_ns: int
    frame: bytes
    sa: int | None = None
    network: int = 0
    hairpin: bool = False
    injected: bool = False


def punted(folder: Path, chip: str, box: int = 0) -> list[Punted]:
    return read_punted(folder / f"box{box}.{chip}.punt.pcapng")


def read_punted(capture: Path) -> list[Punted]:
    found = []
    with RawPcapReader(str(capture)) as reader:
        for frame, meta in reader:
            (comment,) = meta.comments
            words = re.fullmatch(
                r"punt: (\w+), port (\d), group (\w+)(?:, SA (\d+))?(?:, network (\d+))?"
                r"(, for another tunnel)?(, injected)?, cycle (\d+)",
                comment.decode(),
            )
            assert words, comment
            ticks = meta.tshigh << 32 | meta.tslow
            nanoseconds = ticks * 1_000_000_000 // meta.tsresol
            sa = int(words[4]) if words[4] else None
            flags = int(words[5] or 0), bool(words[6]), bool(words[7])
            found.append(Punted(words[1], int(words[2]), words[3], int(words[8]), nanoseconds, frame, sa, *flags))
    return found


RED_MAC = "02:72:c6:12:00:fe"  # of the red port with the address 198.18.0.254


def for_cpu(packet: Packet, mac: str = RED_MAC) -> bytes:
    """What a chip gives the CPU of a packet that was to leave by its port: behind an Ethernet
    header with the port's address, with the TTL that it has."""
    kind = 0x86DD if packet.version == 6 else 0x0800
    return bytes(Ether(dst=mac, src=mac, type=kind) / Raw(bytes(packet)))
