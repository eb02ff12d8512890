# SPDX-License-Identifier: Apache-2.0
"""What a client's messages do to a card: a connection from its version to its end."""

from __future__ import annotations

import errno
import json
import struct
import threading
from collections.abc import Callable

from sallyport.pcie.card import Card
from sallyport.pcie.config_space import BYTES, ConfigSpace
from sallyport.pcie.wire import MAX_DATA, Channel, ConnectionEnds, Message, Refused

MAJOR, MINOR = 0, 0
CAPABILITIES = {"max_data_xfer_size": MAX_DATA}
# Numbers of <linux/vfio.h>.
BAR0_REGION, CONFIG_REGION, REGIONS, INTERRUPTS = 0, 7, 9, 5
RESETTABLE, IS_PCI = 1 << 0, 1 << 1
READABLE, WRITABLE = 1 << 0, 1 << 1
VERSION = 1
_VERSION, _INFO, _REGION = struct.Struct("=HH"), struct.Struct("=IIII"), struct.Struct("=IIIIQQ")
_SET_IRQS, _ACCESS = struct.Struct("=IIIII"), struct.Struct("=QII")
_DMA_MAP, _DMA_UNMAP = struct.Struct("=IIQQQ"), struct.Struct("=IIQQ")


def _fields(layout: struct.Struct, payload: bytes, exact: bool = True) -> tuple:
    """The fields that begin a payload, which must be that long; or longer, unless it is exact."""
    if len(payload) < layout.size or (exact and len(payload) != layout.size):
        raise Refused
    return layout.unpack_from(payload)


class Session:
    """One connection. The card and its configuration space outlive it. While `gone` is set the card
    has left the bus: reads are all ones, and writes are lost."""

    def __init__(self, channel: Channel, card: Card, config: ConfigSpace, gone: threading.Event) -> None:
        self._channel, self._card, self._config, self._gone = channel, card, config, gone
        self._sizes = {BAR0_REGION: config.bar_bytes, CONFIG_REGION: BYTES}
        self._commands: dict[int, Callable[[bytes], bytes]] = {
            2: self._dma_map,
            3: self._dma_unmap,
            4: self._device_info,
            5: self._region_info,
            7: self._interrupt_info,
            8: self._set_interrupts,
            9: self._read,
            10: self._write,
            13: self._reset,
        }

    def run(self) -> None:
        """Until the client leaves; [ConnectionEnds] if it is to be left."""
        first = self._channel.receive()
        if first is None:
            return
        self._channel.reply(first, self._version(first))
        while message := self._channel.receive():
            try:
                # Also of a command that is unknown, or of an option that was not offered.
                command = self._commands.get(message.command)
                if command is None:
                    raise Refused(errno.EINVAL if message.command == VERSION else errno.EOPNOTSUPP)
                self._channel.reply(message, command(message.payload))
            except Refused as refusal:
                self._channel.refuse(message, refusal.number)

    def _version(self, message: Message) -> bytes:
        try:
            if message.command != VERSION:
                raise ConnectionEnds(f"its first message is command {message.command}, and must be the version (1)")
            if len(message.payload) < _VERSION.size:
                raise ConnectionEnds(f"its version has {len(message.payload)} bytes, and needs {_VERSION.size}")
            major, _ = _VERSION.unpack_from(message.payload)
            if major != MAJOR:
                raise ConnectionEnds(f"it speaks version {major} of vfio-user, and this server version {MAJOR}")
            proposed = _capabilities(message.payload[_VERSION.size :])
        except ConnectionEnds:
            self._channel.refuse(message, errno.EINVAL)
            raise
        offered = {name: value for name, value in CAPABILITIES.items() if name in proposed}
        text = json.dumps({"capabilities": offered}).encode()
        return _VERSION.pack(MAJOR, MINOR) + text + b"\0"

    def _device_info(self, payload: bytes) -> bytes:
        _need(_fields(_INFO, payload)[0] >= _INFO.size)
        return _INFO.pack(_INFO.size, RESETTABLE | IS_PCI, REGIONS, INTERRUPTS)

    def _region_info(self, payload: bytes) -> bytes:
        room, _, index, *_ = _fields(_REGION, payload)
        _need(room >= _REGION.size and index < REGIONS)
        size = self._sizes.get(index, 0)
        return _REGION.pack(_REGION.size, READABLE | WRITABLE if size else 0, index, 0, size, 0)

    def _interrupt_info(self, payload: bytes) -> bytes:
        """There are none of any type."""
        room, _, index, _ = _fields(_INFO, payload)
        _need(room >= _INFO.size and index < INTERRUPTS)
        return _INFO.pack(_INFO.size, 0, index, 0)

    def _set_interrupts(self, payload: bytes) -> bytes:
        """Switching off what does not exist is all that can be done."""
        length, _, index, start, count = _fields(_SET_IRQS, payload, exact=False)
        _need(length == len(payload) and index < INTERRUPTS and start == count == 0)
        return b""

    def _dma_map(self, payload: bytes) -> bytes:
        """Taken and forgotten: a card neither reads nor writes the host's memory."""
        _need(_fields(_DMA_MAP, payload)[4] > 0)
        return b""

    def _dma_unmap(self, payload: bytes) -> bytes:
        _need(_fields(_DMA_UNMAP, payload)[3] > 0)
        return payload

    def _region(self, offset: int, index: int, count: int) -> None:
        _need(0 < count <= MAX_DATA and offset + count <= self._sizes.get(index, 0))

    def _read(self, payload: bytes) -> bytes:
        offset, index, count = _fields(_ACCESS, payload)
        self._region(offset, index, count)
        if self._gone.is_set():
            return payload + b"\xff" * count
        if index == CONFIG_REGION:
            return payload + self._config.read(offset, count)
        return payload + (self._card.read(offset, count) if self._config.answers else b"\xff" * count)

    def _write(self, payload: bytes) -> bytes:
        offset, index, count = _fields(_ACCESS, payload, exact=False)
        data = payload[_ACCESS.size :]
        _need(len(data) == count)
        self._region(offset, index, count)
        if self._gone.is_set():
            return payload[: _ACCESS.size]
        if index == CONFIG_REGION:
            self._config.write(offset, data)
        elif self._config.answers:
            self._card.write(offset, data)
        return payload[: _ACCESS.size]

    def _reset(self, payload: bytes) -> bytes:
        """A hot reset: the registers of chip and shell stay, as on a card."""
        _need(not payload)
        self._config.reset()
        return b""


def _need(condition: bool) -> None:
    if not condition:
        raise Refused


def _capabilities(text: bytes) -> dict:
    """What the client proposes, out of the text of its version."""
    if not text:
        return {}
    try:
        if text[-1:] != b"\0":
            raise ValueError
        version = json.loads(text[:-1].decode())
        proposed = version.get("capabilities", {}) if isinstance(version, dict) else None
    except (ValueError, RecursionError):
        proposed = None
    if not isinstance(proposed, dict):
        raise ConnectionEnds("its capabilities are no JSON object that ends with a zero byte")
    return proposed
