# SPDX-License-Identifier: Apache-2.0
"""Chisel's names of ports for the models of cocotbext, and the targets behind these."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cocotb.handle import HierarchyObject, LogicObject
from cocotb_bus.bus import Bus
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiLiteReadBus, AxiLiteSlave, AxiLiteWriteBus

CHANNELS = {
    "aw": {"awaddr": "aw_bits_addr", "awprot": "aw_bits_prot", "awvalid": "aw_valid", "awready": "aw_ready"},
    "w": {"wdata": "w_bits_data", "wstrb": "w_bits_strb", "wvalid": "w_valid", "wready": "w_ready"},
    "b": {"bresp": "b_bits", "bvalid": "b_valid", "bready": "b_ready"},
    "ar": {"araddr": "ar_bits_addr", "arprot": "ar_bits_prot", "arvalid": "ar_valid", "arready": "ar_ready"},
    "r": {"rdata": "r_bits_data", "rresp": "r_bits_resp", "rvalid": "r_valid", "rready": "r_ready"},
}
PCIE = {
    "tdata": "bits_data",
    "tkeep": "bits_keep",
    "tlast": "bits_last",
    "tuser": "bits_user",
    "tvalid": "valid",
    "tready": "ready",
}


def bus(dut: HierarchyObject, prefix: str, names: dict[str, str]) -> Bus:
    made = Bus(dut, prefix, names)
    made._optional_signals = {}
    return made


def axi_lite(dut: HierarchyObject, prefix: str) -> AxiLiteBus:
    channels = {channel: bus(dut, prefix, names) for channel, names in CHANNELS.items()}
    write = AxiLiteWriteBus(channels["aw"], channels["w"], channels["b"])
    return AxiLiteBus(write, AxiLiteReadBus(channels["ar"], channels["r"]))


def idles(seed: int, share: float = 0.5) -> Iterator[bool]:
    """A pause generator: idle in about that share of cycles."""
    chance = random.Random(seed)
    while True:
        yield chance.random() < share


def stall_manager(manager: AxiLiteMaster, share: float = 0.5) -> None:
    write, read = manager.write_if, manager.read_if
    for n, channel in enumerate((write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)):
        channel.set_pause_generator(idles(n, share))


def stall_subordinate(slave: AxiLiteSlave, share: float = 0.5) -> None:
    write, read = slave.write_if, slave.read_if
    for n, channel in enumerate((write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)):
        channel.set_pause_generator(idles(10 + n, share))


def number(handle: LogicObject) -> int:
    """The value of a signal of any width, of one bit too."""
    return int(str(handle.value), 2)


class Registers:
    """What a subordinate has behind it: notes each access, and refuses addresses from `refused` on;
    AxiLiteSlave then answers SLVERR."""

    def __init__(self, refused: int = 1 << 32) -> None:
        self.words: dict[int, int] = {}
        self.refused = refused
        self.reads: list[int] = []
        self.writes: list[tuple[int, bytes]] = []

    async def write(self, address: int, data: bytes, **_: object) -> None:
        self.writes.append((address, bytes(data)))
        if address >= self.refused:
            raise ValueError("no such register")
        for n, byte in enumerate(data):
            self.words[address + n] = byte

    async def read(self, address: int, length: int, **_: object) -> bytes:
        self.reads.append(address)
        if address >= self.refused:
            raise ValueError("no such register")
        return bytes(self.words.get(address + n, 0) for n in range(length))
