# SPDX-License-Identifier: Apache-2.0
"""A host on PCI Express: cocotbext-pcie's root complex, behind its model of the
UltraScale+ block."""

from __future__ import annotations

from cocotb.handle import HierarchyObject, LogicObject
from cocotb.triggers import Timer
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

from tests.boards.parts.buses import PCIE, bus

BAR_BYTES = 1 << 19


class PcieHost:
    """Drives the block's user clock, 250 MHz, and reset; its streams are the ports `<prefix>cq` and
    `<prefix>cc`."""

    def __init__(self, dut: HierarchyObject, clock: LogicObject, reset: LogicObject, prefix: str) -> None:
        self.root = RootComplex()
        self.device = UltraScalePlusPcieDevice(
            pcie_generation=3,
            pcie_link_width=8,
            user_clk_frequency=250e6,
            user_clk=clock,
            user_reset=reset,
            cq_bus=bus(dut, f"{prefix}cq", PCIE),
            cc_bus=bus(dut, f"{prefix}cc", PCIE),
        )
        self.device.functions[0].configure_bar(0, BAR_BYTES)
        self.root.make_port().connect(self.device)

    @classmethod
    async def begin(cls, dut: HierarchyObject, clock: LogicObject, reset: LogicObject, prefix: str) -> PcieHost:
        # The model's reset comes with its first clock, and the model takes anything valid before
        # for a completion.
        reset.value = 1
        for level in (0, 1) * 4:
            clock.value = level
            await Timer(2, "ns")
        return cls(dut, clock, reset, prefix)

    async def bar(self):
        """BAR0 of the device, found and enabled as a host does."""
        await self.root.enumerate()
        found = self.root.find_device(self.device.functions[0].pcie_id)
        await found.enable_device()
        await found.set_master()
        return found.bar_window[0]
