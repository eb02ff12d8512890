# SPDX-License-Identifier: Apache-2.0
"""PcieBridge behind cocotbext-pcie's model of the UltraScale+ block, with its root complex as host;
and each kind of request by itself.

What a completion has to say is worked out by the model's Tlp (PCI Express Base
Specification 2.2.9), not here.
"""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpAttr, TlpTc, TlpType
from cocotbext.pcie.core.utils import PcieId
from cocotbext.pcie.xilinx.us.interface import CcSink, CqSource
from cocotbext.pcie.xilinx.us.tlp import Tlp_us

from tests.boards.parts.buses import PCIE, bus, idles
from tests.boards.parts.drift import PS, DriftingClock
from tests.boards.parts.pcie_host import BAR_BYTES, PcieHost

REFUSED = 0x70000


class Target:
    """The register port: a memory that takes its time and refuses addresses from REFUSED on."""

    def __init__(self, dut, most: int = 12) -> None:
        self.dut = dut
        self.words: dict[int, int] = {}
        self.log: list[tuple[bool, int]] = []
        self.chance = random.Random(7)
        self.most = most
        dut.io_registers_request_ready.value = 0
        dut.io_registers_response_valid.value = 0
        cocotb.start_soon(self.run())

    async def run(self) -> None:
        dut = self.dut
        while True:
            dut.io_registers_request_ready.value = self.chance.random() < 0.5
            await RisingEdge(dut.clock)
            if not (dut.io_registers_request_ready.value == 1 and dut.io_registers_request_valid.value == 1):
                continue
            write = dut.io_registers_request_bits_write.value == 1
            address = dut.io_registers_request_bits_address.value.to_unsigned()
            assert address % 4 == 0
            self.log.append((write, address))
            strobes = dut.io_registers_request_bits_strobes.value.to_unsigned()
            mask = sum(0xFF << 8 * n for n in range(4) if strobes >> n & 1)
            data = dut.io_registers_request_bits_data.value.to_unsigned()
            dut.io_registers_request_ready.value = 0
            await ClockCycles(dut.clock, self.chance.randint(1, self.most))
            old = self.words.get(address, 0)
            if write and address < REFUSED:
                self.words[address] = old & ~mask | data & mask
            dut.io_registers_response_valid.value = 1
            dut.io_registers_response_bits_error.value = address >= REFUSED
            dut.io_registers_response_bits_data.value = 0x0BAD0BAD if address >= REFUSED or write else old
            await RisingEdge(dut.clock)
            dut.io_registers_response_valid.value = 0


def refusals(dut) -> list[int]:
    """A list with the count of changes of `refused`."""
    count = [0]

    async def run() -> None:
        before = 0
        while True:
            await RisingEdge(dut.clock)
            now = int(dut.io_refused.value)
            count[0] += now != before
            before = now

    cocotb.start_soon(run())
    return count


async def reset(dut) -> None:
    dut.reset.value = 1
    await ClockCycles(dut.clock, 10)
    dut.reset.value = 0
    await ClockCycles(dut.clock, 2)


@cocotb.test()
async def a_host_reads_and_writes(dut) -> None:
    host = await PcieHost.begin(dut, dut.clock, dut.reset, "io_")
    target = Target(dut)
    refused = refusals(dut)
    await Timer(2, "us")
    bar = await host.bar()
    chance = random.Random(1)
    model = bytearray(BAR_BYTES)
    places = [0, 4, 8, 0x7FFC, 0x8000, 0xFFFC, 0x10000, 0x2FFFC, REFUSED - 4] + [
        4 * chance.randrange(REFUSED // 4) for _ in range(30)
    ]
    for _ in range(300):
        address = chance.choice(places)
        if chance.random() < 0.5:
            offset = chance.randrange(4)
            data = chance.randbytes(chance.randint(1, 4 - offset))
            await bar.write(address + offset, data)
            model[address + offset : address + offset + len(data)] = data
        else:
            assert await bar.read(address, 4, timeout=20, timeout_unit="us") == model[address : address + 4]
    assert await bar.read(REFUSED, 4, timeout=20, timeout_unit="us") == b"\xff\xff\xff\xff"
    assert await bar.read(BAR_BYTES - 4, 4, timeout=20, timeout_unit="us") == b"\xff\xff\xff\xff"
    # A read of no byte: every write before it is done.
    await bar.write(places[3], b"done")
    assert await bar.read(0, 0, timeout=20, timeout_unit="us") == b""
    assert target.words[places[3]] == int.from_bytes(b"done", "little")
    assert refused[0] == 0


def request(kind: TlpType, address: int, length: int, chance: random.Random) -> Tlp_us:
    tlp = Tlp_us()
    tlp.fmt_type = kind
    tlp.requester_id = PcieId.from_int(chance.randrange(1 << 16))
    tlp.tag = chance.randrange(256)
    tlp.tc = TlpTc(chance.randrange(8))
    tlp.attr = TlpAttr(chance.randrange(8))
    if tlp.has_data():
        tlp.set_addr_be_data(address, chance.randbytes(length))
    else:
        tlp.set_addr_be(address, length)
    return tlp


@cocotb.test()
async def every_request_is_answered_as_the_specification_asks(dut) -> None:
    DriftingClock(dut.clock, PS["pcie"]).start()
    source = CqSource(bus(dut, "io_cq", PCIE), dut.clock, dut.reset)
    sink = CcSink(bus(dut, "io_cc", PCIE), dut.clock, dut.reset)
    await reset(dut)
    source.set_pause_generator(idles(1, 0.3))
    sink.set_pause_generator(idles(2, 0.3))
    target = Target(dut, most=3)
    refused = refusals(dut)
    chance = random.Random(2)
    expected: list[tuple[Tlp_us, CplStatus, int]] = []
    refusing = 0
    accesses: list[tuple[bool, int]] = []
    reads = (TlpType.MEM_READ, TlpType.MEM_READ_64)
    locked = (TlpType.MEM_READ_LOCKED, TlpType.MEM_READ_LOCKED_64)
    others = (TlpType.IO_READ, TlpType.IO_WRITE, TlpType.FETCH_ADD, TlpType.SWAP_64, TlpType.CAS)
    kinds = reads * 6 + (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64) * 5 + locked + others
    for _ in range(600):
        kind = chance.choice(kinds)
        address = 0xC0000000 + chance.choice([0, 4, 0x1FC, 4 * chance.randrange(REFUSED // 4)])
        if kind in (TlpType.MEM_READ_64, TlpType.MEM_WRITE_64, TlpType.MEM_READ_LOCKED_64, TlpType.SWAP_64):
            address += 1 << 32
        length = chance.choice([4, 4, 4, 4, chance.randint(1, 70), 128])
        offset = chance.choice([0, 0, 0, 1, 2, 3])
        if kind in others:
            offset, length = 0, 8 if kind == TlpType.CAS else 4
        tlp = request(kind, address + offset, length, chance)
        if kind in reads and length == 1:
            tlp.first_be = chance.choice([0, 0b1001, 0b0101, 0b1010, tlp.first_be])
        if kind in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            tlp.discontinue = chance.random() < 0.1
            if chance.random() < 0.1 and tlp.length == 1:
                tlp.first_be = 0
        whole = tlp.length == 1 and tlp.first_be == 0xF
        if kind in reads and (whole or (tlp.length == 1 and tlp.first_be == 0)):
            expected.append((tlp, CplStatus.SC, 1))
            if whole:
                accesses.append((False, tlp.address & (BAR_BYTES - 4)))
        elif kind in reads:
            expected.append((tlp, CplStatus.CA, 0))
            refusing += 1
        elif kind in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            if tlp.length != 1 or tlp.discontinue:
                refusing += 1
            elif tlp.first_be:
                accesses.append((True, tlp.address & (BAR_BYTES - 4)))
        else:
            expected.append((tlp, CplStatus.UR, 0))
            refusing += 1
        await source.send(tlp.pack_us_cq())

    for tlp, status, words in expected:
        completion = Tlp_us.unpack_us_cc(await sink.recv())
        ideal = Tlp.create_completion_for_tlp(tlp, PcieId(0, 0, 0), has_data=bool(words), status=status)
        what = f"{tlp!r}: {completion!r}"
        assert completion.status == status, what
        assert completion.length == words and len(completion.data) == 4 * words, what
        for name in ("requester_id", "tag", "tc", "attr", "at", "ep"):
            assert getattr(completion, name) == getattr(ideal, name), (name, what)
        assert (completion.fmt_type in (TlpType.CPL_LOCKED,)) == (tlp.fmt_type in locked), what
        if tlp.fmt_type in reads:
            assert completion.byte_count == max(tlp.get_be_byte_count(), 1), what
            first = tlp.get_first_be_offset() if tlp.first_be else 0
            assert completion.lower_address == (tlp.address & 0x7C) + first, what
        else:
            assert (completion.byte_count, completion.lower_address) == (4, 0), what
    await ClockCycles(dut.clock, 100)
    assert sink.empty()
    assert target.log == accesses
    assert refused[0] == refusing
