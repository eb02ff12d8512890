# SPDX-License-Identifier: Apache-2.0
"""MacCrossing: frames between a MAC and a core byte for byte, whatever clocks, pauses, overflow and
resets do."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import RisingEdge, Timer

from tests.boards.parts.drift import PS, DriftingClock, edges, settled
from tests.boards.simulation import parameter

# Period of the core's clock: the nominal one, or a slow one that has the receive queue overflow.
CORE = int(parameter("core", PS["core"]))
BEAT = 64
LENGTHS = [1, 2, 59, 60, 63, 64, 65, 68, 127, 128, 129, 1514, 9599, 9600, 9601, 9608]


def frame(length: int, number: int) -> bytes:
    """A frame of so many bytes; any of them tells which frame it is."""
    return random.Random(number).randbytes(length)


def beats(data: bytes) -> list[bytes]:
    return [data[start : start + BEAT] for start in range(0, len(data), BEAT)]


class Frames:
    """Puts beats together to frames: `(data, error)` each."""

    def __init__(self) -> None:
        self.done: list[tuple[bytes, int]] = []
        self.part = b""

    def add(self, data: int, count: int, last: int, error: int) -> None:
        assert last or count == BEAT, "a beat inside a frame is not full"
        self.part += data.to_bytes(BEAT, "little")[:count]
        if last:
            self.done.append((self.part, error))
            self.part = b""


class Bench:
    def __init__(self, dut) -> None:
        self.dut = dut
        self.rx_sent: list[tuple[bytes, int]] = []
        self.rx = Frames()
        self.tx_sent: list[tuple[bytes, int]] = []
        self.tx = Frames()
        self.overflows = 0
        self.ready_share = 1.0
        self.number = 0

    async def begin(self) -> Bench:
        dut = self.dut
        DriftingClock(dut.clock, CORE).start()
        self.rx_clock = DriftingClock(dut.io_port_rxClock, PS["mac"]).start()
        self.tx_clock = DriftingClock(dut.io_port_txClock, PS["mac"]).start()
        for name in ("port_rx_valid", "port_tx_ready", "tx_valid", "port_rxStatus"):
            getattr(dut, f"io_{name}").value = 0
        dut.io_port_rxReset.value = dut.io_port_txReset.value = dut.reset.value = 1
        await Timer(200, "ns")
        await self.release(dut.clock, dut.reset)
        await self.release(dut.io_port_rxClock, dut.io_port_rxReset)
        await self.release(dut.io_port_txClock, dut.io_port_txReset)
        cocotb.start_soon(self._receive())
        cocotb.start_soon(self._mac())
        await Timer(100, "ns")
        return self

    async def release(self, clock, reset) -> None:
        await RisingEdge(clock)
        reset.value = 0

    async def pulse(self, clock, reset, cycles: int) -> None:
        await RisingEdge(clock)
        reset.value = 1
        await edges(clock, cycles)
        reset.value = 0

    def new(self, length: int) -> tuple[bytes, int]:
        self.number += 1
        return frame(length, self.number), int(random.random() < 0.1)

    # --- receive ----------------------------------------------------------------------------------

    async def mac_sends(self, data: bytes, error: int, share: float = 0.85) -> None:
        """A frame from the MAC, with pauses between its beats."""
        dut = self.dut
        parts = beats(data)
        for n, part in enumerate(parts):
            while random.random() >= share:
                dut.io_port_rx_valid.value = 0
                await RisingEdge(dut.io_port_rxClock)
            dut.io_port_rx_valid.value = 1
            # Bytes above `keep`, and `error` before the last beat, mean nothing.
            dut.io_port_rx_bits_data.value = int.from_bytes(part + random.randbytes(BEAT - len(part)), "little")
            dut.io_port_rx_bits_keep.value = (1 << len(part)) - 1
            is_last = n == len(parts) - 1
            dut.io_port_rx_bits_last.value = int(is_last)
            dut.io_port_rx_bits_error.value = error if is_last else random.getrandbits(1)
            await RisingEdge(dut.io_port_rxClock)
        dut.io_port_rx_valid.value = 0
        self.rx_sent.append((data, error))

    async def _receive(self) -> None:
        dut = self.dut
        while True:
            await settled(dut.clock)
            if dut.reset.value == 1:
                self.rx.part = b""
            elif dut.io_rx_valid.value == 1:
                bits = [int(getattr(dut, f"io_rx_bits_{name}").value) for name in ("data", "bytes", "last", "error")]
                self.rx.add(*bits)
            self.overflows += dut.io_status_overflow.value == 1

    # --- transmit ---------------------------------------------------------------------------------

    async def core_sends(self, data: bytes, error: int, share: float = 1.0) -> None:
        dut = self.dut
        parts = beats(data)
        for n, part in enumerate(parts):
            while True:
                await settled(dut.clock)
                ready = dut.io_tx_ready.value == 1
                await Timer(1, "ps")
                if dut.reset.value == 1:
                    dut.io_tx_valid.value = 0
                    return
                sends = random.random() < share
                dut.io_tx_valid.value = int(sends)
                dut.io_tx_bits_data.value = int.from_bytes(part, "little")
                dut.io_tx_bits_bytes.value = len(part)
                is_last = n == len(parts) - 1
                dut.io_tx_bits_last.value = int(is_last)
                dut.io_tx_bits_error.value = error if is_last else 0
                if sends and ready:
                    break
        self.tx_sent.append((data, error))

    async def core_rests(self) -> None:
        await RisingEdge(self.dut.clock)
        self.dut.io_tx_valid.value = 0

    async def _mac(self) -> None:
        """Takes frames; `valid` must not fall inside one, nor change before it is taken."""
        dut = self.dut
        inside, held = False, None
        while True:
            await settled(dut.io_port_txClock)
            if dut.io_port_txReset.value == 1:
                inside, held, self.tx.part = False, None, b""
                continue
            valid = dut.io_port_tx_valid.value == 1
            assert valid or not inside, "valid falls inside a frame"
            bits = [int(getattr(dut, f"io_port_tx_bits_{name}").value) for name in ("data", "keep", "last", "error")]
            assert held is None or (valid and held == bits), "a beat that was not taken changes"
            await Timer(1, "ps")
            ready = random.random() < self.ready_share
            dut.io_port_tx_ready.value = int(ready)
            held = None
            if valid and ready:
                data, keep, last, error = bits
                assert keep & (keep + 1) == 0
                assert keep
                assert last or not error
                self.tx.add(data, keep.bit_count(), last, error)
                inside = not last
            elif valid:
                held = bits


def check_whole_or_marked(found: list[tuple[bytes, int]], sent: set[bytes], *, cut_at_beats: int) -> int:
    """Each frame is one that was sent, or has `error` and begins as one: but for `cut_at_beats`
    bytes at its end.

    The number of the latter."""
    cut = 0
    for data, error in found:
        if data in sent:
            continue
        assert error, f"a frame of {len(data)} bytes that the test did not send"
        kept = data[: len(data) - cut_at_beats]
        assert len(kept) % BEAT == 0
        assert any(each.startswith(kept) for each in sent), "two frames in one"
        cut += 1
    return cut


@cocotb.test()
async def received_frames_are_the_macs(dut):
    bench = await Bench(dut).begin()
    for length in [*LENGTHS, *(random.randint(1, 300) for _ in range(150)), *[65] * 100]:
        await bench.mac_sends(*bench.new(length))
        if random.random() < 0.2:
            await edges(dut.io_port_rxClock, random.randint(1, 30))
    await Timer(300, "ns")
    assert bench.rx.done == bench.rx_sent
    assert bench.overflows == 0


@cocotb.test()
async def bursts_of_the_mac_fit(dut):
    """Beats of 322 MHz without a pause, for as long as the queue is said to hold them."""
    bench = await Bench(dut).begin()
    for _ in range(5):
        await bench.mac_sends(*bench.new(9600), share=1.0)
        await bench.mac_sends(*bench.new(9600), share=1.0)
        await Timer(200, "ns")
    assert bench.rx.done == bench.rx_sent
    assert bench.overflows == 0


@cocotb.test()
async def sent_frames_are_the_cores(dut):
    bench = await Bench(dut).begin()
    for n, length in enumerate([*LENGTHS, *(random.randint(1, 300) for _ in range(150)), *[64] * 100]):
        bench.ready_share = [1.0, 0.6, 0.1][n % 3]
        await bench.core_sends(*bench.new(length), share=random.choice([1.0, 0.4]))
    await bench.core_rests()
    bench.ready_share = 1.0
    await Timer(2500, "ns")
    assert bench.tx.done == bench.tx_sent


@cocotb.test()
async def a_beat_leaves_in_every_cycle(dut):
    """While the MAC takes one a cycle, and as many as the core's clock brings."""
    bench = await Bench(dut).begin()
    bench.ready_share = 0.0
    for _ in range(3):
        await bench.core_sends(*bench.new(9600))
    await bench.core_rests()
    await Timer(100, "ns")
    bench.ready_share = 1.0
    await edges(dut.io_port_txClock, 3 * 150 + 4)
    assert len(bench.tx.done) == 3
    assert bench.tx.done == bench.tx_sent


@cocotb.test()
async def overflow_cuts_or_leaves_out_whole_frames(dut):
    """The core's clock is too slow for the MAC's frames."""
    bench = await Bench(dut).begin()
    for _ in range(120):
        await bench.mac_sends(*bench.new(random.choice([700, 1514, 5000])), share=0.9)
    await Timer(64 * CORE + 300_000, "ps")
    sent = {data for data, _ in bench.rx_sent}
    cut = check_whole_or_marked(bench.rx.done, sent, cut_at_beats=0)
    left_out = len(bench.rx_sent) - len(bench.rx.done)
    assert cut > 3
    assert left_out > 3
    assert bench.overflows == cut + left_out
    # What fits passes again.
    bench.rx.done.clear()
    bench.rx_sent.clear()
    for _ in range(5):
        await bench.mac_sends(*bench.new(1514))
        await Timer(40 * CORE, "ps")
    assert bench.rx.done == bench.rx_sent


@cocotb.test()
async def receive_resets_end_frames(dut):
    """The MAC's reset inside frames, with its clock standing still at times: no frame is glued to
    another, the next are whole."""
    bench = await Bench(dut).begin()
    cut = 0
    for _ in range(20):
        task = cocotb.start_soon(bench.mac_sends(*bench.new(random.choice([64, 1514, 9600]))))
        started = {frame(1 << 14, bench.number)}
        await Timer(random.randint(1, 300), "ns")
        whole = task.done()
        task.cancel()
        dut.io_port_rx_valid.value = 0
        stops = random.random() < 0.5
        if stops:
            bench.rx_clock.stop()
            dut.io_port_rxReset.value = 1
            await Timer(random.randint(1, 100), "ns")
            bench.rx_clock.start()
        await bench.pulse(dut.io_port_rxClock, dut.io_port_rxReset, random.randint(1, 20))
        await Timer(100, "ns")
        assert bench.rx.part == b"", "the core waits for the rest of a frame"
        begun = {data for data, _ in bench.rx_sent} | started
        cut += check_whole_or_marked(bench.rx.done, begun, cut_at_beats=1)
        bench.rx.done.clear()
        bench.rx_sent.clear()
        assert whole or not bench.rx_sent
        for length in (65, 1, 700):
            await bench.mac_sends(*bench.new(length))
        await Timer(150, "ns")
        assert bench.rx.done == bench.rx_sent
        bench.rx.done.clear()
        bench.rx_sent.clear()
    assert cut > 3
    assert bench.overflows == 0


@cocotb.test()
async def core_resets_leave_out_the_rest_of_frames(dut):
    """The core's reset inside frames of both directions: the core's next one begins with a first
    beat, the MAC's ends with `error`."""
    bench = await Bench(dut).begin()
    cut = 0
    for _ in range(20):
        bench.ready_share = random.choice([1.0, 0.3])
        bench.tx_sent.clear()
        bench.tx.done.clear()

        async def send() -> None:
            for _ in range(4):
                await bench.core_sends(*bench.new(random.choice([64, 1514])))
            await bench.core_rests()

        first = bench.number
        sender = cocotb.start_soon(send())
        inside = cocotb.start_soon(bench.mac_sends(*bench.new(3000)))
        await Timer(random.randint(1, 500), "ns")
        await bench.pulse(dut.clock, dut.reset, 8)
        sender.cancel()
        await bench.core_rests()
        await inside
        await Timer(400, "ns")
        begun = {frame(length, n) for n in range(first, bench.number + 1) for length in (64, 1514, 3000)}
        assert bench.tx.part == b"", "the MAC waits for the rest of a frame"
        cut += check_whole_or_marked(bench.tx.done, begun, cut_at_beats=1)
        bench.rx.done.clear()
        bench.rx_sent.clear()
        bench.tx.done.clear()
        bench.tx_sent.clear()
        for length in (65, 1, 700):
            await bench.mac_sends(*bench.new(length))
        for length in (65, 1, 700):
            await bench.core_sends(*bench.new(length))
            await bench.core_rests()
        await Timer(500, "ns")
        assert bench.rx.done == bench.rx_sent
        assert bench.tx.done == bench.tx_sent
    assert cut > 3


@cocotb.test()
async def transmit_resets_begin_with_a_frame(dut):
    """The MAC's reset while it sends and while the core is inside a frame: the rest of both is
    gone, the next frame is whole."""
    bench = await Bench(dut).begin()
    for _ in range(20):
        bench.ready_share = random.choice([1.0, 0.3])

        async def send() -> None:
            for _ in range(3):
                await bench.core_sends(*bench.new(random.choice([200, 1514, 9600])), share=0.8)
            await bench.core_rests()

        sender = cocotb.start_soon(send())
        await Timer(random.randint(1, 900), "ns")
        if random.random() < 0.5:
            bench.tx_clock.stop()
            dut.io_port_txReset.value = 1
            await Timer(random.randint(1, 100), "ns")
            bench.tx_clock.start()
        await bench.pulse(dut.io_port_txClock, dut.io_port_txReset, random.randint(1, 20))
        bench.tx.done.clear()
        await sender
        bench.ready_share = 1.0
        await Timer(1200, "ns")
        # Of the frames that the core began after the reset none is missing, of those before none
        # comes in part.
        assert bench.tx.done == bench.tx_sent[len(bench.tx_sent) - len(bench.tx.done) :]
        bench.tx.done.clear()
        bench.tx_sent.clear()
        for length in (65, 1, 700):
            await bench.core_sends(*bench.new(length))
        await bench.core_rests()
        await Timer(300, "ns")
        assert bench.tx.done == bench.tx_sent


@cocotb.test()
async def receiver_status_is_told(dut):
    await Bench(dut).begin()
    for level in (1, 0, 1):
        await RisingEdge(dut.io_port_rxClock)
        dut.io_port_rxStatus.value = level
        await edges(dut.clock, 6)
        assert dut.io_status_rxUp.value == level
