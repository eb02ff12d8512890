# SPDX-License-Identifier: Apache-2.0
"""Clocks that drift against each other, and handshakes on them, for the cocotb tests of what
crosses clocks."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.handle import LogicObject
from cocotb.task import Task
from cocotb.triggers import ReadOnly, RisingEdge, Timer

# Periods in ps.
PS = {"core": 3334, "aurora": 2482, "mac": 3104, "pcie": 4000, "control": 8000, "init": 20000}


class DriftingClock:
    """Runs `signal` at about `period` ps: for spans of 50 to 500 cycles each a step of a picosecond
    shorter or longer, as chance has it."""

    def __init__(self, signal: LogicObject, period: int, *, drift: int = 1) -> None:
        self.signal = signal
        self.period = period
        self.drift = drift
        self.random = random.Random(f"{signal._name} {period} {random.random()}")
        self.task: Task | None = None
        self.clock: Clock | None = None

    async def _run(self) -> None:
        await Timer(self.random.randrange(1, self.period), "ps")
        while True:
            period = self.period + self.random.randint(-self.drift, self.drift)
            self.clock = Clock(self.signal, period, "ps", period_high=period // 2)
            self.clock.start()
            await Timer(period * self.random.randint(50, 500), "ps")
            self.clock.stop()

    def start(self) -> DriftingClock:
        self.task = cocotb.start_soon(self._run())
        return self

    def stop(self) -> None:
        """The clock stands still where it is."""
        assert self.task is not None
        self.task.cancel()
        if self.clock is not None:
            self.clock.stop()


async def settled(clock: LogicObject) -> None:
    """The next edge, when all that it changes has changed: the edge after it takes the values that
    are read then."""
    await RisingEdge(clock)
    await ReadOnly()


async def edges(clock: LogicObject, count: int) -> None:
    for _ in range(count):
        await RisingEdge(clock)
