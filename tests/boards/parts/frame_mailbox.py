# SPDX-License-Identifier: Apache-2.0
"""FrameMailbox as software uses it, a register access every 5 cycles at most; frames are bytes on
either side."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from tests.boards.parts.buses import number
from tests.boards.parts.drift import PS, DriftingClock

BEAT = 64


class Mailbox:
    def __init__(self, dut, seed: int = 1) -> None:
        self.dut = dut
        self.chance = random.Random(seed)
        self.punted: list[bytes] = []
        self.injected: list[tuple[bytes, bool, bool]] = []
        self.ready = 0.5

    async def start(self) -> None:
        dut = self.dut
        DriftingClock(dut.clock, PS["core"]).start()
        for name in (
            "io_puntTaken",
            "io_puntControl",
            "io_injectLength_valid",
            "io_injectData_valid",
            "io_injectControl",
            "io_punt_valid",
        ):
            getattr(dut, name).value = 0
        dut.reset.value = 1
        await ClockCycles(dut.clock, 5)
        dut.reset.value = 0
        cocotb.start_soon(self.punt())
        cocotb.start_soon(self.take())

    async def punt(self) -> None:
        dut = self.dut
        while True:
            if not self.punted:
                await RisingEdge(dut.clock)
                continue
            frame = self.punted.pop(0)
            for n in range(0, len(frame), BEAT):
                beat = frame[n : n + BEAT]
                dut.io_punt_valid.value = 1
                dut.io_punt_bits_data.value = int.from_bytes(beat, "little")
                dut.io_punt_bits_bytes.value = len(beat)
                dut.io_punt_bits_last.value = n + BEAT >= len(frame)
                dut.io_punt_bits_error.value = 0
                while True:
                    await RisingEdge(dut.clock)
                    if dut.io_punt_ready.value == 1:
                        break
                dut.io_punt_valid.value = 0
                if self.chance.random() < 0.3:
                    await ClockCycles(dut.clock, self.chance.randint(1, 30))

    async def take(self) -> None:
        dut = self.dut
        frame = b""
        held: tuple[int, ...] | None = None
        while True:
            dut.io_inject_ready.value = self.chance.random() < self.ready
            await RisingEdge(dut.clock)
            names = ("data", "bytes", "last", "error", "meta_encrypt")
            now = tuple(number(getattr(dut, f"io_inject_bits_{name}")) for name in names)
            valid = dut.io_inject_valid.value == 1
            assert held is None or (valid and now == held), "what is offered changes"
            held = now if valid and dut.io_inject_ready.value == 0 else None
            if valid and held is None:
                data, count, last, error, encrypt = now
                assert count == BEAT or last
                assert error or data >> 8 * count == 0, "bytes behind the end"
                frame += data.to_bytes(BEAT, "little")[:count]
                if last:
                    self.injected.append((frame, bool(error), bool(encrypt)))
                    frame = b""

    async def read(self, name: str) -> int:
        """As RegisterFile does it: says that it has read in the cycle after the one whose value
        it took."""
        value = number(getattr(self.dut, name))
        self.dut.io_puntTaken.value = name == "io_puntData"
        await RisingEdge(self.dut.clock)
        self.dut.io_puntTaken.value = 0
        await ClockCycles(self.dut.clock, 3)
        return value

    async def control(self, name: str, value: int) -> None:
        port = getattr(self.dut, name)
        port.value = value
        await RisingEdge(self.dut.clock)
        port.value = 0
        await ClockCycles(self.dut.clock, 4)

    async def write(self, name: str, value: int) -> None:
        getattr(self.dut, f"{name}_bits").value = value
        await self.control(f"{name}_valid", 1)

    async def receive(self) -> bytes:
        """What a driver does with PUNT_STATE and PUNT_DATA."""
        frame = b""
        while True:
            state = await self.read("io_puntState")
            if not state >> 31:
                continue
            count = state & 0x7F
            beat = b"".join([(await self.read("io_puntData")).to_bytes(4, "little") for _ in range(0, count, 4)])
            frame += beat[:count]
            if state >> 8 & 1:
                return frame

    async def inject_state(self) -> tuple[bool, bool, int]:
        state = await self.read("io_injectState")
        return bool(state >> 31), bool(state >> 16 & 1), state & 0x3FFF

    async def send(self, frame: bytes, encrypt: bool = False) -> None:
        while (await self.inject_state())[1:] != (True, 0):
            pass
        await self.write("io_injectLength", len(frame) | encrypt << 16)
        for n in range(0, len(frame), 4):
            while n % BEAT == 0 and not (await self.inject_state())[1]:
                pass
            rest = frame[n : n + 4]
            await self.write("io_injectData", int.from_bytes(rest + self.chance.randbytes(4 - len(rest)), "little"))


@cocotb.test()
async def punted_frames_are_read_whole(dut) -> None:
    mailbox = Mailbox(dut)
    await mailbox.start()
    assert await mailbox.read("io_puntState") >> 31 == 0
    assert await mailbox.read("io_puntData") == 0
    lengths = [30, 63, 64, 65, 76, 127, 128, 129, 1530, 9612] + [mailbox.chance.randint(30, 300) for _ in range(20)]
    frames = [mailbox.chance.randbytes(n) for n in lengths]
    mailbox.punted += frames
    for frame in frames:
        assert await mailbox.receive() == frame


@cocotb.test()
async def a_read_without_a_beat_takes_nothing_of_the_next(dut) -> None:
    """Software that reads PUNT_DATA all the time, as beats come at any moment, sees each word once
    and 0 in between."""
    mailbox = Mailbox(dut, seed=4)
    await mailbox.start()
    frames = [bytes(mailbox.chance.randint(1, 255) for _ in range(64)) for _ in range(60)]
    mailbox.punted += frames
    seen = b""
    for _ in range(3000):
        seen += (await mailbox.read("io_puntData")).to_bytes(4, "little").replace(b"\0\0\0\0", b"")
    assert seen == b"".join(frames)


@cocotb.test()
async def a_dropped_frame_is_gone_and_the_next_whole(dut) -> None:
    mailbox = Mailbox(dut, seed=2)
    await mailbox.start()
    for _ in range(30):
        lost, kept = (mailbox.chance.randbytes(mailbox.chance.randint(30, 400)) for _ in range(2))
        mailbox.punted += [lost]
        while not await mailbox.read("io_puntState") >> 31:
            pass
        for _ in range(mailbox.chance.randint(0, len(lost) // 4 - 1)):
            await mailbox.read("io_puntData")
            await ClockCycles(dut.clock, 30)
        await mailbox.control("io_puntControl", 1)
        mailbox.punted += [kept]
        assert await mailbox.receive() == kept


@cocotb.test()
async def injected_frames_leave_whole(dut) -> None:
    mailbox = Mailbox(dut)
    await mailbox.start()
    lengths = [14, 15, 60, 63, 64, 65, 127, 128, 129, 1514, 9595, 9596] + [
        mailbox.chance.randint(14, 300) for _ in range(20)
    ]
    frames = [(mailbox.chance.randbytes(n), n % 3 == 0) for n in lengths]
    for frame, encrypt in frames:
        await mailbox.send(frame, encrypt)
    await ClockCycles(dut.clock, 50)
    assert mailbox.injected == [(frame, False, encrypt) for frame, encrypt in frames]
    assert not (await mailbox.inject_state())[0]


@cocotb.test()
async def what_is_out_of_turn_is_refused_and_harms_nothing(dut) -> None:
    mailbox = Mailbox(dut)
    await mailbox.start()

    async def refuses(name: str, value: int) -> None:
        assert not (await mailbox.inject_state())[0]
        await mailbox.write(name, value)
        assert (await mailbox.inject_state())[0]
        await mailbox.control("io_injectControl", 2)
        assert not (await mailbox.inject_state())[0]

    for length in (0, 13, 9597, 0x3FFF):
        await refuses("io_injectLength", length)
    await refuses("io_injectData", 1)
    frame = mailbox.chance.randbytes(64 + 14)
    mailbox.ready = 0
    await mailbox.write("io_injectLength", len(frame))
    await refuses("io_injectLength", 64)
    for n in range(0, 64, 4):
        await mailbox.write("io_injectData", int.from_bytes(frame[n : n + 4], "little"))
    # The beat is full, and the chip does not take it.
    await refuses("io_injectData", 1)
    mailbox.ready = 1
    await ClockCycles(dut.clock, 5)
    for n in range(64, len(frame), 4):
        await mailbox.write("io_injectData", int.from_bytes(frame[n : n + 4].ljust(4, b"\xff"), "little"))
    await ClockCycles(dut.clock, 5)
    assert mailbox.injected == [(frame, False, False)]


@cocotb.test()
async def a_frame_broken_off_leaves_with_an_error(dut) -> None:
    mailbox = Mailbox(dut)
    await mailbox.start()
    for words in (0, 1, 15, 16, 17, 31, 32):
        mailbox.injected.clear()
        mailbox.ready = 0
        await mailbox.write("io_injectLength", 500)
        for n in range(words):
            if n == 16:
                mailbox.ready = 1
                await ClockCycles(dut.clock, 3)
                mailbox.ready = 0
            await mailbox.write("io_injectData", n)
        await mailbox.control("io_injectControl", 1)
        mailbox.ready = 0.5
        await ClockCycles(dut.clock, 20)
        ((_, error, _),) = mailbox.injected
        assert error
        frame = mailbox.chance.randbytes(70)
        await mailbox.send(frame)
        await ClockCycles(dut.clock, 20)
        assert mailbox.injected[1:] == [(frame, False, False)]
