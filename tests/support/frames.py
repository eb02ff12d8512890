# SPDX-License-Identifier: Apache-2.0
"""Frames in capture files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scapy.packet import Packet, Raw
from scapy.utils import EDecimal, PcapWriter, RawPcapReader


def read_frames(path: Path) -> list[bytes]:
    """Frames of a pcap or pcapng file, as they stand in the file."""
    with RawPcapReader(str(path)) as reader:
        return [data for data, _ in reader]


def write_frames(path: Path, frames: Iterable[bytes | Packet]) -> None:
    """A pcap of Ethernet frames, none of them touched, a microsecond apart."""
    with PcapWriter(str(path), linktype=1) as writer:
        for number, frame in enumerate(frames):
            record = Raw(bytes(frame))
            record.time = EDecimal(number) / 1_000_000
            writer.write(record)
