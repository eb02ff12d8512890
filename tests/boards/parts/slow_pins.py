# SPDX-License-Identifier: Apache-2.0
"""What waits: pins that have to last, and the clock chips beside the cages."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import Timer

from tests.boards.parts.drift import PS, DriftingClock, edges, settled

# 2^4 cycles, of both parts.
WAIT = 16


async def begin(dut) -> None:
    DriftingClock(dut.clock, PS["core"]).start()
    dut.reset.value = 1
    await edges(dut.clock, 5)
    dut.reset.value = 0


@cocotb.test()
async def a_level_counts_once_it_has_lasted(dut):
    """Shorter spikes of either level change nothing, however many; a level that lasts comes out 16
    cycles behind its synchroniser."""
    dut.io_in.value = 0
    await begin(dut)
    for level in (1, 0, 1, 0):
        for _ in range(30):
            dut.io_in.value = level
            await Timer(random.randrange(1, (WAIT - 2) * PS["core"]), "ps")
            dut.io_in.value = 1 - level
            await Timer(random.randrange(2 * PS["core"], 30 * PS["core"]), "ps")
            assert int(dut.io_out.value) == 1 - level, "a spike counts"
        await edges(dut.clock, 2 * WAIT)
        await settled(dut.clock)
        await Timer(1, "ps")
        dut.io_in.value = level
        await edges(dut.clock, WAIT)
        await settled(dut.clock)
        assert int(dut.io_out.value) == 1 - level, "too soon"
        for _ in range(4):
            await settled(dut.clock)
        assert int(dut.io_out.value) == level, "too late"
        await Timer(1, "ps")


@cocotb.test()
async def clock_chips_are_reset_and_then_settle(dut):
    """clockReset for 16 cycles behind reset, `settled` 16 later; both stay so until the
    next reset."""
    for _ in range(3):
        await begin(dut)
        high = settling = 0
        for _ in range(5 * WAIT):
            await settled(dut.clock)
            level, done = int(dut.io_clockReset.value), int(dut.io_settled.value)
            assert not (level and done)
            assert not (level and settling), "a second reset"
            high += level
            settling += not level and not done
        assert abs(high - WAIT) <= 1
        assert abs(settling - WAIT) <= 2
        assert dut.io_settled.value == 1
        await Timer(1, "ps")
