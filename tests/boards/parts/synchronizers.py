# SPDX-License-Identifier: Apache-2.0
"""Levels, resets, counters, values and events from one clock to another."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from tests.boards.parts.drift import DriftingClock, edges, settled
from tests.boards.simulation import parameter

FROM = int(parameter("source", 2482))
TO = int(parameter("target", 3334))


async def sides(dut):
    """Starts both clocks and resets both sides."""
    DriftingClock(dut.from_clock, FROM).start()
    DriftingClock(dut.to_clock, TO).start()
    getattr(dut, "in").value = 0
    dut.from_reset.value = dut.to_reset.value = 1
    await Timer(20 * max(FROM, TO), "ps")
    await edges(dut.from_clock, 2)
    dut.from_reset.value = 0
    await edges(dut.to_clock, 2)
    dut.to_reset.value = 0


@cocotb.test()
async def bit_follows_after_two_or_three_edges(dut):
    DriftingClock(dut.clock, TO).start()
    dut.io_in.value = 0
    dut.reset.value = 1
    await edges(dut.clock, 3)
    dut.reset.value = 0
    await edges(dut.clock, 3)
    for n in range(500):
        await Timer(random.randrange(5 * TO, 9 * TO), "ps")
        level = (n + 1) % 2
        dut.io_in.value = level
        await settled(dut.clock)
        assert dut.io_out.value == 1 - level
        await settled(dut.clock)
        assert dut.io_out.value == level


@cocotb.test()
async def reset_rises_without_a_clock_and_falls_with_it(dut):
    getattr(dut, "in").value = 0
    clock = DriftingClock(dut.clock, TO).start()
    for _ in range(50):
        await edges(dut.clock, 5)
        assert dut.out.value == 0
        clock.stop()
        await Timer(random.randrange(1, 5 * TO), "ps")
        getattr(dut, "in").value = 1
        await Timer(10, "ps")
        assert dut.out.value == 1, "the reset waits for a clock"
        await Timer(random.randrange(1, 20), "ps")
        getattr(dut, "in").value = 0
        await Timer(5 * TO, "ps")
        assert dut.out.value == 1, "the reset falls without a clock"
        clock.start()
        await settled(dut.clock)
        assert dut.out.value == 1
        await settled(dut.clock)
        assert dut.out.value == 0


class Side:
    """One side of a CrossingReset: counts edges in reset, and sees that the reset moves with the
    clock alone."""

    def __init__(self, dut, number: int, period: int) -> None:
        self.signal = getattr(dut, f"clocks_{number}")
        self.reset = getattr(dut, f"resets_{number}")
        self.clock = DriftingClock(self.signal, period).start()
        self.edge = 0
        # Of the event: edges with the reset high, times that it fell.
        self.seen = self.falls = 0
        self.runs = False
        self.everyone = [self]
        cocotb.start_soon(self._edges())
        cocotb.start_soon(self._changes())

    async def _edges(self) -> None:
        while True:
            await RisingEdge(self.signal)
            self.edge = get_sim_time("ps")
            if self.reset.value == 1:
                self.seen += 1
            elif self.seen:
                assert all(side.seen for side in self.everyone), "a side runs before both were in reset"

    async def _changes(self) -> None:
        while True:
            await self.reset.value_change
            if self.runs:
                assert get_sim_time("ps") == self.edge, "a reset moves between two edges of its clock"
            self.falls += int(self.reset.value) == 0

    def begin(self) -> None:
        self.runs = True
        self.seen = self.falls = 0


# Edges in reset: those of a word on its way through an SlrPipe and back.
LEAST = 8


@cocotb.test()
async def no_side_runs_before_both_were_reset(dut):
    """The first side asks, for a cycle or many, while either clock may stand still."""
    asks = getattr(dut, "in")
    asks.value = 0
    starts = [dut.starts_0, dut.starts_1]
    for start in starts:
        start.value = 0
    await Timer(1, "ps")
    for start in starts:
        start.value = 1
    both = [Side(dut, 0, FROM), Side(dut, 1, TO)]
    for side in both:
        side.everyone = both
    first = both[0]
    slower = max(FROM, TO)
    await Timer(10, "ps")
    assert [int(side.reset.value) for side in both] == [1, 1], "the start waits for a clock"
    await Timer(10 * slower, "ps")
    for side, start in zip(both, starts, strict=True):
        await RisingEdge(side.signal)
        start.value = 0
    await Timer(40 * slower, "ps")
    for _ in range(100):
        for side in both:
            assert side.reset.value == 0
            side.begin()
        still = random.choice([None, None, *both])
        await RisingEdge(first.signal)
        if still is not None:
            still.clock.stop()
        asks.value = 1
        if still is not first:
            await settled(first.signal)
            assert first.reset.value == 1, "who asks is not in reset in the next cycle"
        await Timer(random.choice([1, 3 * slower, 12 * slower]), "ps")
        if still is not None:
            await Timer(20 * slower, "ps")
            moving = both[1 - both.index(still)]
            assert moving.reset.value == 1, "a side runs while the other's clock stands still"
            assert not still.seen
            still.clock.start()
        await edges(first.signal, random.choice([1, 5]))
        asks.value = 0
        await Timer(50 * slower, "ps")
        for side in both:
            assert side.seen >= LEAST
            assert side.falls == 1, "a side ran between"


@cocotb.test()
async def count_is_one_it_was_and_changes_by_single_bits(dut):
    await sides(dut)
    history: list[tuple[float, int]] = [(0, 0)]

    async def count() -> None:
        value, code = 0, 0
        while True:
            await settled(dut.from_clock)
            gray = int(dut.gray.value)
            assert (gray ^ code).bit_count() <= 1, "two bits of the code change at once"
            code = gray
            await Timer(1, "ps")
            step = random.choice([-1, 0, 0, 1, 1, 1, 1])
            value = (value + step) % 64
            getattr(dut, "in").value = value
            history.append((get_sim_time("ps"), value))

    cocotb.start_soon(count())
    seen, steps, code = 0, 0, 0
    for _ in range(3000):
        await settled(dut.to_clock)
        now, out, taken = get_sim_time("ps"), int(dut.out.value), int(dut.settling.value)
        # A sample is of one moment: from the oldest it may be to the newest.
        oldest, newest = now - 3 * FROM - 5 * TO, now - FROM - 2 * TO + 20
        recent = [
            v
            for n, (at, v) in enumerate(history)
            if at <= newest and (n + 1 == len(history) or history[n + 1][0] >= oldest)
        ]
        assert out in recent, f"{out} is none of {recent}"
        if TO < FROM:
            assert (taken ^ code).bit_count() <= 1
        steps += out != seen
        seen, code = out, taken
        del history[:-200]
    assert steps > 100


@cocotb.test()
async def value_is_one_it_was(dut):
    await sides(dut)
    given: list[int] = []

    async def change() -> None:
        while True:
            await RisingEdge(dut.from_clock)
            value = random.choice([0, 1023, random.randrange(1024)])
            getattr(dut, "in").value = value
            given.append(value)

    cocotb.start_soon(change())
    limit = 14 + 14 * (TO // FROM + 1)
    changes = last = 0
    for _ in range(2000):
        await settled(dut.to_clock)
        out = int(dut.out.value)
        assert out in [0] * (len(given) < limit) + given[-limit:]
        changes += out != last
        last = out
    assert changes > 50


@cocotb.test()
async def events_are_told_one_for_one(dut):
    await sides(dut)
    sent = told = 0

    async def listen() -> None:
        nonlocal told
        while True:
            await settled(dut.to_clock)
            told += int(dut.out.value)

    cocotb.start_soon(listen())
    # Slower than the listener on the average, in bursts of up to 8.
    pause = max(1, 3 * TO // FROM)
    for _ in range(200):
        burst = random.randint(1, 8)
        for _ in range(burst):
            getattr(dut, "in").value = 1
            await RisingEdge(dut.from_clock)
        sent += burst
        getattr(dut, "in").value = 0
        await edges(dut.from_clock, 8 * pause)
    await Timer(40 * (FROM + TO), "ps")
    assert told == sent


@cocotb.test()
async def pipe_needs_no_more_than_it_says_to_spare(dut):
    """Words in order, one a cycle while there is room, at most 6 after it fell, and no gap once it
    is back."""
    DriftingClock(dut.clock, TO).start()
    spare = 6
    dut.io_in_valid.value = 0
    dut.io_room.value = 0
    await edges(dut.clock, 10)
    sent, came, low = 0, 0, 10
    most, room, since = 0, 0, 0
    for _ in range(4000):
        await settled(dut.clock)
        comes = dut.io_out_valid.value == 1
        if comes:
            assert int(dut.io_out_bits.value) == came
            came += 1
        # After a whole way there and back with room a word comes in each cycle.
        if since > 2 * 3 + 1:
            assert comes, "a cycle without a word although there is room"
        ready = dut.io_in_ready.value == 1
        await Timer(1, "ps")
        dut.io_in_valid.value = 1
        dut.io_in_bits.value = sent
        sent += ready
        if random.random() < 0.05:
            room = 1 - room
        dut.io_room.value = room
        low = 0 if room else low + 1
        most = max(most, low if comes else 0)
        since = since + 1 if room else 0
    assert most == spare, f"a word came {most} cycles after room fell"
    assert came > 1000
