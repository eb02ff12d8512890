# SPDX-License-Identifier: Apache-2.0
"""Both ends of a register tunnel over a link that loses `loss` percent of the messages, in order
and with a delay."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from cocotbext.axi import AxiLiteMaster, AxiLiteSlave, AxiResp

from tests.boards.parts.buses import Registers, axi_lite
from tests.boards.parts.drift import PS, DriftingClock
from tests.boards.simulation import parameter

PATIENCE, TRIES = 128, 6
REFUSED = 0xF000


class Link:
    """One direction: takes a message now and then, and gives it out 41 cycles later or never."""

    def __init__(self, dut, near: str, far: str, seed: int) -> None:
        self.loss = float(parameter("loss", 0)) / 100
        self.chance = random.Random(seed)
        self.lost = 0
        self.carried: list[int] = []
        self.valid, self.ready, self.bits = (getattr(dut, f"io_{near}_{name}") for name in ("valid", "ready", "bits"))
        self.far_valid, self.far_bits = (getattr(dut, f"io_{far}_{name}") for name in ("valid", "bits"))
        self.clock = dut.clock
        cocotb.start_soon(self.run())

    async def run(self) -> None:
        pipe: list[int | None] = [None] * 41
        self.ready.value = 0
        self.far_valid.value = 0
        while True:
            await RisingEdge(self.clock)
            message = None
            if self.valid.value == 1 and self.ready.value == 1:
                if self.chance.random() < self.loss:
                    self.lost += 1
                else:
                    message = self.bits.value.to_unsigned()
                    self.carried.append(message)
            pipe.append(message)
            out = pipe.pop(0)
            self.far_valid.value = out is not None
            if out is not None:
                self.far_bits.value = out
            self.ready.value = self.chance.random() < 0.3


async def start(dut) -> tuple[AxiLiteMaster, Registers, Link, Link]:
    # Reset stands before the first edge, which may come at time 0: registers hold anything
    # until then.
    dut.reset.value = 1
    dut.io_targetReset.value = 0
    await Timer(1, "ns")
    DriftingClock(dut.clock, PS["core"]).start()
    registers = Registers(refused=REFUSED)
    manager = AxiLiteMaster(axi_lite(dut, "s_axil"), dut.clock, dut.reset)
    slave = AxiLiteSlave(axi_lite(dut, "m_axil"), dut.clock, dut.reset, target=registers)
    assert slave
    out, back = Link(dut, "out", "outFar", 1), Link(dut, "back", "backFar", 2)
    await ClockCycles(dut.clock, 10)
    dut.reset.value = 0
    await ClockCycles(dut.clock, 10)
    return manager, registers, out, back


@cocotb.test()
async def an_access_is_made_once_or_given_up(dut) -> None:
    manager, registers, out, back = await start(dut)
    chance = random.Random(3)
    given_up = 0
    for n in range(150):
        address = 4 * chance.randrange(REFUSED // 4)
        data = n.to_bytes(4, "little")
        before = len(registers.writes)
        answer = await manager.write(address, data)
        made = registers.writes[before:]
        if answer.resp == AxiResp.OKAY:
            assert made == [(address, data)]
        else:
            # Made once or not: a slow one may still be on its way, but no message of it goes again.
            given_up += 1
            await ClockCycles(dut.clock, 200)
            assert registers.writes[before:] in ([], [(address, data)])
            continue
        before = len(registers.reads)
        answer = await manager.read(address, 4)
        if answer.resp == AxiResp.OKAY:
            assert answer.data == data
            assert registers.reads[before:] == [address]
        else:
            given_up += 1
            await ClockCycles(dut.clock, 200)
            assert registers.reads[before:] in ([], [address])
    if out.loss == 0:
        # One `open`, and a message each way for each access.
        assert given_up == 0
        assert len(out.carried) == len(back.carried) == 301
    else:
        assert out.lost and back.lost
    dut._log.info(f"{given_up} of 300 accesses given up")
    assert given_up < 100


@cocotb.test()
async def strobes_and_errors_cross(dut) -> None:
    manager, _, out, _ = await start(dut)
    out.loss = 0.1 if out.loss else 0
    for where, data in ((0x100, b"abcd"), (0x101, b"B"), (0x102, b"CD")):
        await manager.write(where, data)
    assert (await manager.read(0x100, 4)).data == b"aBCD"
    assert (await manager.read(REFUSED, 4)).resp == AxiResp.SLVERR
    assert (await manager.write(REFUSED, bytes(4))).resp == AxiResp.SLVERR
    assert (await manager.read(0x100, 4)).data == b"aBCD"


@cocotb.test()
async def silence_ends_in_an_error_in_time(dut) -> None:
    manager, registers, out, back = await start(dut)
    timeouts = [0]

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clock)
            timeouts[0] += int(dut.io_timedOut.value)

    cocotb.start_soon(watch())
    out.loss = back.loss = 0
    await manager.write(0x10, b"once")
    for link in (out, back):
        link.loss = 1
        access = cocotb.start_soon(manager.write(0x10, b"late"))
        await ClockCycles(dut.clock, (TRIES + 1) * PATIENCE + 50)
        assert access.done()
        assert access.result().resp == AxiResp.SLVERR
        assert dut.io_open.value == 0
        link.loss = 0
        assert (await manager.write(0x10, b"next")).resp == AxiResp.OKAY
        assert (await manager.read(0x10, 4)).data == b"next"
    assert timeouts[0] == 2
    assert [data for _, data in registers.writes].count(b"next") == 2


@cocotb.test()
async def a_target_that_was_reset_makes_nothing_twice(dut) -> None:
    """Its memory of the last access is gone, so it answers no repeated request until the master has
    opened again."""
    manager, registers, out, back = await start(dut)
    out.loss = back.loss = 0
    await manager.write(0x10, b"init")
    back.loss = 1
    access = cocotb.start_soon(manager.write(0x20, b"once"))
    await ClockCycles(dut.clock, PATIENCE)
    dut.io_targetReset.value = 1
    await ClockCycles(dut.clock, 3)
    dut.io_targetReset.value = 0
    back.loss = 0
    assert (await access).resp == AxiResp.SLVERR
    assert registers.writes.count((0x20, b"once")) == 1
    assert (await manager.write(0x20, b"more")).resp == AxiResp.OKAY
    assert registers.writes.count((0x20, b"once")) == 1
