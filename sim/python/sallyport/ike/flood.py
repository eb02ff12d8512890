# SPDX-License-Identifier: Apache-2.0
"""A sender of IKE_SA_INIT requests that never goes on (RFC 7296 2.6): each comes from another
address and would be a half-open IKE_SA.

A program of its own, `python -m sallyport.ike.flood DEVICE MAC OWN-MAC ADDRESS RATE`, for the
namespace of the device. It sends to ADDRESS behind MAC until its input ends, and prints how many
requests it sent and in how many seconds.
"""

from __future__ import annotations

import ipaddress
import os
import select
import socket
import struct
import sys
import time

SOURCES = int(ipaddress.ip_address("10.0.0.0")), 1 << 24  # the first, and how many
PORT = 500
# Payloads, exchange and flag of RFC 7296 3.1, 3.2.
SA, KE, NONCE, NO_NEXT = 33, 34, 40, 0
IKE_SA_INIT, VERSION, INITIATOR = 34, 0x20, 0x08
HEADER = 28  # bytes of IKE's
# Of RFC 7296 3.3.2, 3.3.5 and IANA's registry: the proposal that the gateways use.
ENCR, PRF, KEY_EXCHANGE = 1, 2, 4
AES_GCM_16, HMAC_SHA2_256, CURVE25519 = 20, 5, 31
KEY_LENGTH = struct.pack("!HH", 0x800E, 256)


def _payload(following: int, body: bytes) -> bytes:
    return struct.pack("!BBH", following, 0, 4 + len(body)) + body


def _transform(last: bool, kind: int, number: int, attributes: bytes = b"") -> bytes:
    return struct.pack("!BBHBBH", 0 if last else 3, 0, 8 + len(attributes), kind, 0, number) + attributes


def request() -> bytes:
    """A new request: any 32 bytes are a public key of Curve25519 (RFC 7748 5)."""
    transforms = (
        _transform(False, ENCR, AES_GCM_16, KEY_LENGTH)
        + _transform(False, PRF, HMAC_SHA2_256)
        + _transform(True, KEY_EXCHANGE, CURVE25519)
    )
    proposal = struct.pack("!BBHBBBB", 0, 0, 8 + len(transforms), 1, 1, 0, 3) + transforms
    body = (
        _payload(KE, proposal)
        + _payload(NONCE, struct.pack("!HH", CURVE25519, 0) + os.urandom(32))
        + _payload(NO_NEXT, os.urandom(32))
    )
    spi = os.urandom(8)
    return spi + bytes(8) + struct.pack("!BBBBII", SA, VERSION, IKE_SA_INIT, INITIATOR, 0, HEADER + len(body)) + body


def frame(macs: bytes, source: int, destination: int) -> bytes:
    """A request in UDP without a checksum, IPv4 and Ethernet; `macs` are those of receiver
    and sender."""
    ike = request()
    udp = struct.pack("!HHHH", PORT, PORT, 8 + len(ike), 0)
    words = [0x4500, 28 + len(ike), 0, 0x4000, 0x4011, 0, *divmod(source, 1 << 16), *divmod(destination, 1 << 16)]
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    words[5] = total ^ 0xFFFF
    return macs + b"\x08\x00" + struct.pack("!10H", *words) + udp + ike


def main(device: str, mac: str, own: str, address: str, rate: str) -> None:
    """As above."""
    macs = bytes.fromhex((mac + own).replace(":", ""))
    to, pace = int(ipaddress.ip_address(address)), float(rate)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind((device, 0))
        began, sent = time.monotonic(), 0
        while True:
            due = began + sent / pace - time.monotonic()
            if select.select([sys.stdin], [], [], max(0.0, due))[0]:
                break
            first, count = SOURCES
            wire.send(frame(macs, first + int.from_bytes(os.urandom(4), "big") % count, to))
            sent += 1
    print(sent, time.monotonic() - began)


if __name__ == "__main__":
    main(*sys.argv[1:])
