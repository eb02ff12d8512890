# SPDX-License-Identifier: Apache-2.0
"""vfio-user's messages as the specification has them, and messages that nothing sends but an error
or an attack. Each has a reply, or ends the connection with one sentence."""

from __future__ import annotations

import array
import errno
import json
import os
import random
import socket
import struct
from pathlib import Path

import pytest

from tests.shells.pcie_client import (
    BAR0,
    CONFIG,
    DMA_MAP,
    DMA_UNMAP,
    HEADER,
    INFO,
    IRQ_INFO,
    PROPOSAL,
    READ,
    REGION_INFO,
    RESET,
    SET_IRQS,
    VERSION,
    WRITE,
    FakeBox,
    connected,
)

LONGEST, MOST_DATA = 4128, 4096
FILES = Path("/proc/self/fd")
ZERO_ZERO = struct.pack("=HH", 0, 0)


def test_a_version_is_agreed() -> None:
    """Capabilities are a subset of those proposed, and none where there are none."""
    for proposal, capabilities in ((PROPOSAL, {"max_data_xfer_size": MOST_DATA}), (b"{}\0", {}), (b"", {})):
        with connected(agreed=False) as client:
            payload = client.get(VERSION, struct.pack("=HH", 0, 3) + proposal)
            assert payload[:4] == ZERO_ZERO and payload.endswith(b"\0")
            assert json.loads(payload[4:-1]) == {"capabilities": capabilities}
            assert client.ask(VERSION, ZERO_ZERO).error == errno.EINVAL  # once alone


@pytest.mark.parametrize(
    ("command", "payload", "sentence"),
    [
        (INFO, bytes(16), "its first message is command 4, and must be the version (1)"),
        (VERSION, b"\0\0\0", "its version has 3 bytes, and needs 4"),
        (VERSION, struct.pack("=HH", 1, 0), "it speaks version 1 of vfio-user, and this server version 0"),
        (VERSION, ZERO_ZERO + b"{}", "its capabilities are no JSON object that ends with a zero byte"),
        (VERSION, ZERO_ZERO + b"[]\0", "its capabilities are no JSON object that ends with a zero byte"),
        (VERSION, ZERO_ZERO + b"\xff\0", "its capabilities are no JSON object that ends with a zero byte"),
        (VERSION, ZERO_ZERO + b"[" * 4000 + b"\0", "its capabilities are no JSON object that ends with a zero byte"),
        (VERSION, ZERO_ZERO + b'{"capabilities": 1}\0', "its capabilities are no JSON object that ends with a zero byte"),
    ],
)  # fmt: skip
def test_no_version_no_connection(command: int, payload: bytes, sentence: str) -> None:
    with connected(agreed=False) as client:
        reply = client.ask(command, payload)
        assert (reply.flags, reply.error, reply.payload) == (0x21, errno.EINVAL, b"")
        assert client.reply() is None
    assert client.ends == [sentence]


def test_a_device_is_described() -> None:
    with connected() as client:
        assert struct.unpack("=IIII", client.get(INFO, struct.pack("=IIII", 16, 0, 0, 0))) == (16, 3, 9, 5)
        sizes = {BAR0: 512 << 10, CONFIG: 4096}
        for index in range(9):
            payload = client.get(REGION_INFO, struct.pack("=IIIIQQ", 32, 0, index, 0, 0, 0))
            size = sizes.get(index, 0)
            assert struct.unpack("=IIIIQQ", payload) == (32, 3 if size else 0, index, 0, size, 0)
        for index in range(5):
            payload = client.get(IRQ_INFO, struct.pack("=IIII", 16, 0, index, 0))
            assert struct.unpack("=IIII", payload) == (16, 0, index, 0)
        assert client.get(SET_IRQS, struct.pack("=IIIII", 20, 0x21, 0, 0, 0)) == b""
        assert client.get(DMA_MAP, struct.pack("=IIQQQ", 32, 3, 0, 0, 1 << 30)) == b""
        region = struct.pack("=IIQQ", 24, 0, 0, 1 << 30)
        assert client.get(DMA_UNMAP, region) == region
        assert client.get(RESET) == b""


@pytest.mark.parametrize(
    ("command", "payload"),
    [
        (INFO, b""), (INFO, bytes(15)), (INFO, struct.pack("=IIII", 15, 0, 0, 0)), (INFO, bytes(17)),
        (REGION_INFO, struct.pack("=IIIIQQ", 31, 0, 0, 0, 0, 0)), (REGION_INFO, struct.pack("=IIIIQQ", 32, 0, 9, 0, 0, 0)),
        (REGION_INFO, bytes(31)),
        (IRQ_INFO, struct.pack("=IIII", 16, 0, 5, 0)), (IRQ_INFO, bytes(3)),
        (SET_IRQS, struct.pack("=IIIII", 20, 0x21, 0, 0, 1)), (SET_IRQS, struct.pack("=IIIII", 21, 0x21, 0, 0, 0)),
        (SET_IRQS, struct.pack("=IIIII", 20, 0x21, 5, 0, 0)), (SET_IRQS, bytes(19)),
        (DMA_MAP, bytes(32)), (DMA_MAP, bytes(31)), (DMA_UNMAP, bytes(24)), (DMA_UNMAP, bytes(25)),
        (READ, struct.pack("=QII", 0, CONFIG, 0)), (READ, struct.pack("=QII", 0, CONFIG, MOST_DATA + 1)),
        (READ, struct.pack("=QII", 1, CONFIG, MOST_DATA)), (READ, struct.pack("=QII", 4096, CONFIG, 1)),
        (READ, struct.pack("=QII", 2**64 - 1, CONFIG, 1)), (READ, struct.pack("=QII", 512 << 10, BAR0, 4)),
        (READ, struct.pack("=QII", 0, 1, 1)), (READ, struct.pack("=QII", 0, 0xFFFFFFFF, 1)), (READ, bytes(15)),
        (READ, bytes(17)), (WRITE, struct.pack("=QII", 0, CONFIG, 5) + bytes(4)),
        (WRITE, struct.pack("=QII", 0, CONFIG, 3) + bytes(4)), (WRITE, struct.pack("=QII", 0, CONFIG, 0)),
        (WRITE, struct.pack("=QII", (512 << 10) - 2, BAR0, 4) + bytes(4)), (RESET, b"\0"),
    ],
)  # fmt: skip
def test_a_malformed_message_is_refused_and_the_next_one_done(command: int, payload: bytes) -> None:
    with connected() as client:
        reply = client.ask(command, payload)
        assert (reply.flags, reply.error, reply.payload) == (0x21, errno.EINVAL, b"")
        assert client.read(CONFIG, 0, 2) == b"\x34\x12"
    assert not client.ends


def test_what_was_not_offered_is_refused() -> None:
    with connected() as client:
        for command in (0, 6, 11, 12, 14, 15, 16, 17, 18, 0xFFFF):
            assert client.ask(command, bytes(16)).error == errno.EOPNOTSUPP


def test_sizes_at_their_limits() -> None:
    """The shortest and the longest message are read, and one byte less or more ends the connection
    before anything behind the header is."""
    with connected() as client:
        assert client.read(CONFIG, 0, MOST_DATA)[:4] == b"\x34\x12\x01\x10"
        client.write(CONFIG, 0, bytes(MOST_DATA))  # a message of LONGEST
    for size in (0, HEADER - 1, LONGEST + 1, 0xFFFFFFFF):
        with connected() as client:
            client.raw(struct.pack("=HHIII", 1, INFO, size, 0, 0))
            assert client.reply() is None
        assert client.ends == [
            f"it sent a message of {size} bytes, and one has 16 to 4128: reads and writes must have at most 4096 bytes each"
        ]


def test_a_stream_that_breaks_ends() -> None:
    whole = struct.pack("=HHIII", 1, INFO, 32, 0, 0) + struct.pack("=IIII", 16, 0, 0, 0)
    for length in range(1, len(whole)):
        with connected() as client:
            client.raw(whole[:length])
            client.connection.shutdown(socket.SHUT_WR)
            assert client.reply() is None
        assert client.ends == ["it left in the middle of a message"]
    with connected() as client:
        client.send(INFO, bytes(16), flags=1)
        assert client.reply() is None
    assert client.ends == ["it sent a message of type 1, where only commands (0) are expected"]


def test_no_reply_is_no_reply() -> None:
    """Neither to a message that is done nor to a refused one; the order stays."""
    box = FakeBox()
    with connected(box) as client:
        client.send(WRITE, struct.pack("=QII", 0x14, BAR0, 4) + b"\1\2\3\4", flags=1 << 4)
        client.send(INFO, flags=1 << 4)
        assert client.word(0x14) == 0x04030201


def test_file_descriptors_do_not_stay() -> None:
    with connected() as client:
        opened = len([*FILES.iterdir()])
        pipe = os.pipe()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", pipe))]
        payload = struct.pack("=IIQQQ", 32, 3, 0, 0, 4096)
        message = struct.pack("=HHIII", 7, DMA_MAP, HEADER + len(payload), 0, 0) + payload
        for _ in range(50):
            client.connection.sendmsg([message], rights)
            reply = client.reply()
            assert reply and reply.error == 0
        for end in pipe:
            os.close(end)
        assert len([*FILES.iterdir()]) == opened


def test_random_messages() -> None:
    """Of every command, with payloads of every length and flipped bits of good ones: a reply each,
    of no more than the longest message, until a sentence ends the connection."""
    dice = random.Random(20261201)
    good = [
        (INFO, struct.pack("=IIII", 16, 0, 0, 0)), (REGION_INFO, struct.pack("=IIIIQQ", 32, 0, 0, 0, 0, 0)),
        (SET_IRQS, struct.pack("=IIIII", 20, 0x21, 0, 0, 0)), (READ, struct.pack("=QII", 0, BAR0, 4)),
        (WRITE, struct.pack("=QII", 4, CONFIG, 2) + b"\2\0"), (DMA_MAP, struct.pack("=IIQQQ", 32, 3, 0, 0, 4096)),
    ]  # fmt: skip
    replies = sentences = 0
    while sentences < 200:
        with connected() as client:
            while not client.ends:
                command, payload = dice.choice(good)
                message = bytearray(struct.pack("=HHIII", 7, command, HEADER + len(payload), 0, 0) + payload)
                for _ in range(dice.randrange(4)):
                    message[dice.randrange(len(message))] ^= 1 << dice.randrange(8)
                if dice.random() < 0.1:
                    message[HEADER:] = dice.randbytes(len(payload))
                client.raw(bytes(message))
                if struct.unpack_from("=I", message, 4)[0] != len(message) or message[8] & 0x10:
                    client.connection.shutdown(socket.SHUT_WR)
                    while client.reply():
                        replies += 1
                    break
                if client.reply() is None:
                    break
                replies += 1
        for sentence in client.ends:
            assert sentence.startswith(("it ", "a write of less than a word")) and "\n" not in sentence
        sentences += 1
    assert replies > 200
