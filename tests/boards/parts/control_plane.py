# SPDX-License-Identifier: Apache-2.0
"""What the tests of both kinds of ControlPlane share: a host behind the model of the PCIe block,
and the ports at rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiLiteSlave
from systemrdl import RDLCompiler

from tests.boards.parts.buses import Registers, axi_lite
from tests.boards.parts.drift import PS, DriftingClock
from tests.boards.parts.pcie_host import PcieHost
from tests.boards.simulation import ROOT

SHELL = 0x8000
CORE_REFUSED = 0x7000


def shell_offsets() -> dict[str, int]:
    """Offset of each register of the shell, as SystemRDL's compiler elaborates it."""
    compiler = RDLCompiler()
    compiler.compile_file(str(ROOT / "regs/sallyport.rdl"), incl_search_paths=[str(ROOT / "regs")])
    space = compiler.elaborate(top_def_name="sallyport").top.find_by_path("shell.registers")
    return {node.inst_name: node.raw_absolute_address - space.absolute_address for node in space.registers()}


OFFSETS = shell_offsets()


class Card:
    """One card with its host. `core` is the target behind the core's AXI4-Lite."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.core = Registers(refused=CORE_REFUSED)

    async def start(self) -> None:
        dut = self.dut
        dut.coreReset.value = 1
        dut.controlReset.value = 1
        DriftingClock(dut.coreClock, PS["core"]).start()
        DriftingClock(dut.controlClock, PS["control"]).start()
        slave = AxiLiteSlave(axi_lite(dut, "axil"), dut.coreClock, dut.coreReset, target=self.core)
        assert slave
        host = await PcieHost.begin(dut, dut.pcie_clock, dut.pcie_reset, "pcie_")
        await Timer(1, "us")
        dut.coreReset.value = 0
        dut.controlReset.value = 0
        await Timer(1, "us")
        self.bar = await host.bar()

    async def read(self, address: int) -> int:
        return int.from_bytes(await self.bar.read(address, 4, timeout=80, timeout_unit="us"), "little")

    async def write(self, address: int, value: int) -> None:
        """Returns once the register has it: a read of no byte comes back behind every write."""
        await self.bar.write(address, value.to_bytes(4, "little"))
        await self.bar.read(0, 0, timeout=80, timeout_unit="us")

    async def get(self, register: str, index: int = 0, card: int = 0) -> int:
        """A register of the shell."""
        return await self.read((card << 16) + SHELL + OFFSETS[register] + 4 * index)

    async def set(self, register: str, value: int, card: int = 0) -> None:
        await self.write((card << 16) + SHELL + OFFSETS[register], value)


async def pulse(clock, signal, times: int = 1) -> None:
    for _ in range(times):
        signal.value = 1
        await RisingEdge(clock)
        signal.value = 0
        await RisingEdge(clock)


def drp_target(dut, prefix: str, words: dict[int, int], answers: Callable[[], bool] = lambda: True) -> None:
    """A port that answers 20 cycles after it was asked, and faults a second request before that."""

    async def run() -> None:
        ready = getattr(dut, f"{prefix}_ready")
        ready.value = 0
        while True:
            await RisingEdge(dut.controlClock)
            if getattr(dut, f"{prefix}_enable").value != 1:
                continue
            address = getattr(dut, f"{prefix}_address").value.to_unsigned()
            if getattr(dut, f"{prefix}_write").value == 1:
                words[address] = getattr(dut, f"{prefix}_dataIn").value.to_unsigned()
            for _ in range(20):
                await RisingEdge(dut.controlClock)
                assert getattr(dut, f"{prefix}_enable").value == 0
            if answers():
                getattr(dut, f"{prefix}_dataOut").value = words.get(address, 0)
                ready.value = 1
                await RisingEdge(dut.controlClock)
                ready.value = 0

    cocotb.start_soon(run())


async def until(read: Callable[[], Awaitable[int]], wanted: Callable[[int], bool], times: int = 2000) -> int:
    for _ in range(times):
        value = await read()
        if wanted(value):
            return value
    raise AssertionError(f"still {value:#x}")
