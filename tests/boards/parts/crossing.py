# SPDX-License-Identifier: Apache-2.0
"""RegisterCrossing between cocotbext-axi's manager and subordinate, at the ratio of clocks in
`manager` and `target` (MHz)."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import ClockCycles, Combine, RisingEdge, Timer
from cocotbext.axi import AxiLiteMaster, AxiLiteSlave, AxiResp

from tests.boards.parts.buses import Registers, axi_lite, stall_manager, stall_subordinate
from tests.boards.parts.drift import PS, DriftingClock
from tests.boards.simulation import parameter

REFUSED = 0xF000


async def start(dut) -> tuple[AxiLiteMaster, Registers, AxiLiteSlave]:
    dut.managerReset.value = 1
    dut.targetReset.value = 1
    DriftingClock(dut.managerClock, int(parameter("manager", PS["pcie"]))).start()
    DriftingClock(dut.targetClock, int(parameter("target", PS["core"]))).start()
    registers = Registers(refused=REFUSED)
    manager = AxiLiteMaster(axi_lite(dut, "s_axil"), dut.managerClock, dut.managerReset)
    slave = AxiLiteSlave(axi_lite(dut, "m_axil"), dut.targetClock, dut.targetReset, target=registers)
    await Timer(1, "us")
    dut.managerReset.value = 0
    dut.targetReset.value = 0
    await Timer(1, "us")
    return manager, registers, slave


@cocotb.test()
async def each_access_arrives_once(dut) -> None:
    manager, registers, slave = await start(dut)
    if parameter("stalls", "") == "yes":
        stall_manager(manager)
        stall_subordinate(slave)
    chance = random.Random(3)
    wrote: list[tuple[int, bytes]] = []
    asked: list[int] = []

    async def write() -> None:
        for _ in range(200):
            address = 4 * chance.randrange(0, REFUSED // 4 + 16)
            data = chance.randbytes(4)
            wrote.append((address, data))
            answer = await manager.write(address, data)
            assert answer.resp == (AxiResp.SLVERR if address >= REFUSED else AxiResp.OKAY)

    async def read() -> None:
        for _ in range(200):
            address = 4 * chance.randrange(0, REFUSED // 4 + 16)
            asked.append(address)
            answer = await manager.read(address, 4)
            if address >= REFUSED:
                assert answer.resp == AxiResp.SLVERR
            else:
                assert answer.resp == AxiResp.OKAY
                known = [data for where, data in registers.writes if where == address] or [bytes(4)]
                assert answer.data in known[-2:]

    await Combine(cocotb.start_soon(write()), cocotb.start_soon(read()))
    # No access more may come of itself.
    await Timer(1, "us")
    assert registers.writes == wrote
    assert registers.reads == asked


@cocotb.test()
async def strobes_cross(dut) -> None:
    manager, registers, _ = await start(dut)
    await manager.write(0x100, b"abcd")
    for offset, data in ((0, b"1"), (1, b"23"), (3, b"4")):
        await manager.write(0x100 + offset, data)
    assert (await manager.read(0x100, 4)).data == b"1234"
    assert len(registers.writes) == 4


@cocotb.test()
async def manager_comes_back_from_its_reset(dut) -> None:
    """Whatever an access was at when its manager was reset, the next ones are answered, each with
    its own answer."""
    manager, registers, _ = await start(dut)
    chance = random.Random(5)
    for n in range(60):
        lost = cocotb.start_soon(manager.write(0x200, n.to_bytes(4, "little")))
        await ClockCycles(dut.managerClock, chance.randrange(1, 60))
        dut.managerReset.value = 1
        lost.cancel()
        await Timer(100, "ns")
        await RisingEdge(dut.managerClock)
        dut.managerReset.value = 0
        await RisingEdge(dut.managerClock)
        await manager.write(0x300, (7 * n).to_bytes(4, "little"))
        assert (await manager.read(0x300, 4)).data == (7 * n).to_bytes(4, "little")
        assert (await manager.read(REFUSED, 4)).resp == AxiResp.SLVERR
    assert len([a for a, _ in registers.writes if a == 0x200]) <= 60


@cocotb.test()
async def target_comes_back_from_its_reset(dut) -> None:
    """An access during which the target is reset is made again after it."""
    manager, _, _ = await start(dut)
    chance = random.Random(6)
    for n in range(60):
        access = cocotb.start_soon(manager.write(0x200, n.to_bytes(4, "little")))
        await ClockCycles(dut.managerClock, chance.randrange(1, 60))
        dut.targetReset.value = 1
        await Timer(100, "ns")
        await RisingEdge(dut.targetClock)
        dut.targetReset.value = 0
        await access
        assert (await manager.read(0x200, 4)).data == n.to_bytes(4, "little")
