# SPDX-License-Identifier: Apache-2.0
"""Frames of a hostile sender on the black wire, made from ESP that a box sent: what a gateway must
drop at line rate.

After draft-ietf-bmwg-ipsec-meth, section 14 (denial of service): replayed packets, packets with a
bad ICV, unknown SPIs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scapy.utils import PcapWriter, RawPcapReader

# The SPI that stands for one that no SA has; the tunnels' begin with another byte.
UNKNOWN_SPI = 0xBAD0_0001
ETHERNET, ETHERNET_HEADER = 1, 14  # link type of pcap files; bytes
IP_HEADER = {0x0800: 20, 0x86DD: 40}
UDP_PROTOCOL, UDP_HEADER = 17, 8
PROTOCOL_AT = {0x0800: 9, 0x86DD: 6}


def _replayed(frame: bytearray) -> None:
    """RFC 4303 3.4.3: the same packet again."""


def _bad_icv(frame: bytearray) -> None:
    """RFC 4303 3.4.4: the last bit of the ICV is another."""
    frame[-1] ^= 1


def _unknown_spi(frame: bytearray) -> None:
    """RFC 4303 3.4.2: an SPI of no SA."""
    at = _esp_at(frame)
    frame[at : at + 4] = UNKNOWN_SPI.to_bytes(4, "big")


_CHANGES: dict[str, Callable[[bytearray], None]] = {
    "replay": _replayed,
    "bad-icv": _bad_icv,
    "unknown-spi": _unknown_spi,
}
KINDS = tuple(_CHANGES)


def _esp_at(frame: bytearray) -> int:
    """Where ESP begins in a frame of a box, which has no tags, options or extension headers, but
    perhaps UDP (RFC 3948)."""
    kind = int.from_bytes(frame[12:14], "big")
    at = ETHERNET_HEADER + IP_HEADER[kind]
    return at + (UDP_HEADER if frame[ETHERNET_HEADER + PROTOCOL_AT[kind]] == UDP_PROTOCOL else 0)


def make(kind: str, recorded: Path, out: Path) -> None:
    """Write the frames of `recorded` as an attacker of that kind sends them."""
    change = _CHANGES[kind]
    with RawPcapReader(str(recorded)) as frames, PcapWriter(str(out), linktype=ETHERNET) as writer:
        for data, _ in frames:
            frame = bytearray(data)
            change(frame)
            writer.write(bytes(frame))
