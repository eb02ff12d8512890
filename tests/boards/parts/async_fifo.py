# SPDX-License-Identifier: Apache-2.0
"""AsyncFifo: words in order, each once, at the rate of the slower clock, with resets at
any time."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import RisingEdge, Timer

from tests.boards.parts.drift import DriftingClock, edges, settled
from tests.boards.simulation import parameter

FROM = int(parameter("source", 2482))
TO = int(parameter("target", 3334))
SPARE = int(parameter("spare", 0))


class Fifo:
    """Drives both sides. `taken` are the words that the queue took, `given` those it gave."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.taken: list[int] = []
        self.given: list[int] = []
        self.write_share = self.read_share = 1.0
        # The writer goes by `ready`, or where words are to spare by `room`, seen so many
        # cycles late.
        self.late: int | None = 0 if SPARE else None
        self.clocks = [DriftingClock(dut.write_clock, FROM).start(), DriftingClock(dut.read_clock, TO).start()]
        self.next = random.getrandbits(512)

    async def reset(self) -> None:
        """Both sides overlap; each is reset for some edges of its own clock and falls with it."""
        self.dut.write_reset.value = self.dut.read_reset.value = 1
        self.dut.in_valid.value = 0
        self.dut.out_ready.value = 0
        await Timer(random.randint(12, 20) * max(FROM, TO), "ps")
        sides = [(self.dut.write_clock, self.dut.write_reset), (self.dut.read_clock, self.dut.read_reset)]
        random.shuffle(sides)
        for clock, reset in sides:
            await edges(clock, random.randint(1, 10))
            reset.value = 0

    async def write(self) -> None:
        rooms = [0] * 8
        while True:
            await settled(self.dut.write_clock)
            ready, rooms = self.dut.in_ready.value == 1, [int(self.dut.room.value), *rooms[:-1]]
            await Timer(1, "ps")
            wants = random.random() < self.write_share
            if self.late is not None:
                wants = wants and rooms[self.late] == 1
                assert ready or not wants, "no place for a word although there was room"
            self.dut.in_valid.value = int(wants)
            self.dut.in_bits.value = self.next
            if wants and ready:
                self.taken.append(self.next)
                self.next = random.getrandbits(512)

    async def read(self) -> None:
        held = None
        while True:
            await settled(self.dut.read_clock)
            valid = self.dut.out_valid.value == 1
            bits = int(self.dut.out_bits.value) if valid else None
            assert held is None or bits == held, "a word that was not taken changes"
            await Timer(1, "ps")
            takes = random.random() < self.read_share
            self.dut.out_ready.value = int(takes)
            held = None
            if valid and takes:
                self.given.append(bits)
            elif valid:
                held = bits

    def start(self) -> list:
        return [cocotb.start_soon(self.write()), cocotb.start_soon(self.read())]

    async def drain(self) -> None:
        self.write_share, self.read_share = 0.0, 1.0
        await Timer(60 * (FROM + TO) + 40 * max(FROM, TO), "ps")
        assert self.given == self.taken


@cocotb.test()
async def words_come_in_order(dut):
    fifo = Fifo(dut)
    await fifo.reset()
    fifo.start()
    for _ in range(12):
        fifo.write_share, fifo.read_share = random.choice([(1, 1), (1, 0.2), (0.2, 1), (0.5, 0.5), (1, 0), (0.02, 1)])
        if SPARE:
            fifo.late = random.randrange(SPARE + 1)
        await Timer(80 * max(FROM, TO), "ps")
    await fifo.drain()
    assert len(fifo.taken) > 200


@cocotb.test()
async def sender_that_sees_room_late_finds_a_place(dut):
    """At the limit: `room` is seen as late as `spare` words allow."""
    fifo = Fifo(dut)
    fifo.late = SPARE
    await fifo.reset()
    fifo.start()
    for share in (0, 1, 0, 0.3, 0, 1):
        fifo.read_share = share
        await Timer(100 * max(FROM, TO), "ps")
    await fifo.drain()
    assert len(fifo.taken) > 60


@cocotb.test()
async def words_to_spare_find_a_place_however_late(dut):
    """`room` has long been low when they come, one by one: each is taken, and they come out behind
    the others."""
    fifo = Fifo(dut)
    await fifo.reset()
    reader = fifo.start()[1]
    for _ in range(5):
        reader.cancel()
        await RisingEdge(dut.read_clock)
        dut.out_ready.value = 0
        fifo.late, fifo.write_share = 0, 1.0
        await Timer(60 * (FROM + TO), "ps")
        assert dut.room.value == 0
        fifo.write_share = 0.0
        await edges(dut.write_clock, 2)
        fifo.late = None
        for _ in range(SPARE):
            before = len(fifo.taken)
            fifo.write_share = 1.0
            await Timer(2, "ps")
            fifo.write_share = 0.0
            assert len(fifo.taken) == before + 1
            await edges(dut.write_clock, random.randint(4, 20))
        reader = cocotb.start_soon(fifo.read())
        await fifo.drain()


@cocotb.test()
async def rate_is_the_slower_clocks(dut):
    fifo = Fifo(dut)
    await fifo.reset()
    fifo.start()
    await Timer(60 * max(FROM, TO), "ps")
    before = len(fifo.given)
    cycles = 500
    await Timer(cycles * max(FROM, TO), "ps")
    assert len(fifo.given) - before >= cycles - 3
    await fifo.drain()


@cocotb.test()
async def resets_leave_an_empty_queue(dut):
    fifo = Fifo(dut)
    for _ in range(30):
        await Timer(random.randrange(1, FROM), "ps")
        await fifo.reset()
        fifo.taken.clear()
        fifo.given.clear()
        fifo.write_share, fifo.read_share = 1, random.choice([0, 0.5, 1])
        tasks = fifo.start()
        await Timer(random.randrange(1, 60 * max(FROM, TO)), "ps")
        assert fifo.given == fifo.taken[: len(fifo.given)]
        if random.random() < 0.5:
            await fifo.drain()
        for task in tasks:
            task.cancel()
        await Timer(1, "ps")


@cocotb.test()
async def a_frame_that_begins_comes_without_a_pause(dut):
    """Of the variant that gives out whole frames: MacBeat as data, last, bytes, error."""
    DriftingClock(dut.write_clock, FROM).start()
    DriftingClock(dut.read_clock, TO).start()
    dut.write_reset.value = dut.read_reset.value = 1
    dut.in_valid.value = dut.out_ready.value = 0
    await Timer(20 * max(FROM, TO), "ps")
    await RisingEdge(dut.write_clock)
    dut.write_reset.value = 0
    await RisingEdge(dut.read_clock)
    dut.read_reset.value = 0
    frames = [random.choice([1, 2, 3, 40, 151, 508]) for _ in range(25)]
    whole = 0

    async def write() -> None:
        nonlocal whole
        for number, beats in enumerate(frames):
            for beat in range(beats):
                while True:
                    await settled(dut.write_clock)
                    ready = dut.in_ready.value == 1
                    await Timer(1, "ps")
                    sends = random.random() < 0.7
                    dut.in_valid.value = int(sends)
                    dut.in_bits_data.value = (number << 16) | beat
                    dut.in_bits_last.value = int(beat == beats - 1)
                    if sends and ready:
                        break
            whole = number + 1
        await RisingEdge(dut.write_clock)
        dut.in_valid.value = 0

    writer = cocotb.start_soon(write())
    for number, beats in enumerate(frames):
        for beat in range(beats):
            while True:
                await settled(dut.read_clock)
                valid = dut.out_valid.value == 1
                assert valid or beat == 0, f"a pause in frame {number} before beat {beat} of {beats}"
                assert not valid or whole > number, "a word leaves before its frame is whole"
                found = int(dut.out_bits_data.value), int(dut.out_bits_last.value)
                await Timer(1, "ps")
                takes = random.random() < 0.8
                dut.out_ready.value = int(takes)
                if valid:
                    assert found == ((number << 16) | beat, int(beat == beats - 1))
                if valid and takes:
                    break
    await writer
