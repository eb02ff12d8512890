# SPDX-License-Identifier: Apache-2.0
"""An ESP packet in transport mode that left the black port (RFC 4303 3.1.1, 3.3.2): the host's own
headers, and scapy's view of ESP."""

from __future__ import annotations

from .black_frame import ESP, esp_fault
from .esp import Opened
from .outcome import Transported
from .transport import with_payload


def fault(frame: bytes, wanted: Transported, opened: Opened) -> str:
    """The frame's fault, "" if it has none. Only length, protocol and checksum of the headers may
    differ from those that came."""
    head = with_payload(wanted.head, wanted.ip_at, ESP, wanted.sa.esp_bytes(len(wanted.payload)))
    if not frame.startswith(head):
        return f"headers {head.hex()}"
    return esp_fault(frame[len(head) :], wanted, opened)
