# SPDX-License-Identifier: Apache-2.0
"""The cable and both Aurora cores of one channel, after PG074: what one end sends comes back to it,
as from a far end that does so."""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, Timer, with_timeout

from tests.boards.parts.drift import PS, DriftingClock, edges, settled

GEARBOX = 33
COMPENSATION = 4992
PAUSE = 8


class Channel:
    """Takes beats but in one cycle of 33 and 8 of 4992; brings them `latency` cycles later, or not
    at all while the far end is not up."""

    def __init__(self, dut, number: int, *, latency: int = 60) -> None:
        self.signals = {
            name: getattr(dut, f"io_ports_{number}_{name}")
            for name in [
                "clock",
                "channelUp",
                "hardError",
                "softError",
                "tx_ready",
                "tx_valid",
                "tx_bits",
                "rx_valid",
                "rx_bits",
                "resetPb",
                "pmaInit",
            ]
        }
        self.latency = latency
        self.clock = DriftingClock(self["clock"], PS["aurora"])
        self.connected = True
        self.source: Channel = self
        self.up = False
        # Beats that the far end is not up for.
        self.lost = 0
        # Share of beats that get a bit error, while nothing but markers is sent.
        self.errors = 0.0
        self.under_way: deque[tuple[int, int]] = deque()
        self.cycle = 0
        self.offered = self.used = 0
        for name in ("channelUp", "hardError", "softError", "tx_ready", "rx_valid"):
            self[name].value = 0
        cocotb.start_soon(self._reset())
        cocotb.start_soon(self._run())

    def __getitem__(self, name: str):
        return self.signals[name]

    async def _reset(self) -> None:
        """The user clock stands still while pma_init is high; the channel is up a while after
        reset_pb has fallen."""
        first = True
        while True:
            if not first:
                await RisingEdge(self["resetPb"])
                self.drop()
                since = self.cycle
                await RisingEdge(self["pmaInit"])
                assert self.cycle - since >= 128, "pma_init comes too soon after reset_pb"
                self.clock.stop()
            await FallingEdge(self["pmaInit"])
            self.clock.start()
            assert self["resetPb"].value == 1
            await FallingEdge(self["resetPb"])
            await Timer(random.randint(100, 1000), "ns")
            self.raise_up()
            first = False

    def drop(self) -> None:
        self.up = False
        self["channelUp"].value = 0
        self.under_way.clear()

    def raise_up(self, lost: int | None = None) -> None:
        self.lost = random.randint(0, 99) if lost is None else lost
        self.up = True
        self["channelUp"].value = 1

    async def _run(self) -> None:
        while True:
            await settled(self["clock"])
            valid, bits = self["tx_valid"].value == 1, self["tx_bits"].value
            await Timer(1, "ps")
            self.cycle += 1
            ready = self.up and self.cycle % GEARBOX != 0 and self.cycle % COMPENSATION >= PAUSE
            self["tx_ready"].value = int(ready)
            self.offered += ready
            if ready and valid:
                self.used += 1
                self._send(int(bits))
            comes = self.source.under_way if self.connected and self.up else deque()
            if comes and comes[0][0] <= self.source.cycle:
                self["rx_valid"].value = 1
                self["rx_bits"].value = comes.popleft()[1]
            else:
                self["rx_valid"].value = 0
                self["rx_bits"].value = random.getrandbits(256)

    def _send(self, beat: int) -> None:
        if self.lost:
            self.lost -= 1
            return
        if random.random() < self.errors:
            beat ^= 1 << random.randrange(256)
        self.under_way.append((self.cycle + self.latency, beat))


class Core:
    """The core's side: counts up in words, and sees that they come back."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.share = 1.0
        # Since the link came up last.
        self.sent: list[int] = []
        self.came: list[int] = []
        self.up = False
        channels = [n for n in (0, 1) if hasattr(dut, f"io_ports_{n}_clock")]
        names = [f"channels_{n}_{event}" for n in channels for event in ("hardError", "softError", "overflow")]
        self.events = {name: getattr(dut, f"io_status_{name}") for name in [*names, "restarted"]}
        self.pulses = dict.fromkeys(self.events, 0)
        dut.io_link_tx_valid.value = 0
        dut.io_link_restart.value = 0
        dut.io_restart.value = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        dut = self.dut
        while True:
            await settled(dut.clock)
            self.up = dut.io_link_up.value == 1
            ready = dut.io_link_tx_ready.value == 1
            if dut.io_link_rx_valid.value == 1:
                self.came.append(int(dut.io_link_rx_bits.value))
            for name, event in self.events.items():
                self.pulses[name] += event.value == 1
            await Timer(1, "ps")
            sends = random.random() < self.share and self.up
            dut.io_link_tx_valid.value = int(sends)
            if sends:
                word = self.word(len(self.sent))
                dut.io_link_tx_bits.value = word
                if ready:
                    self.sent.append(word)

    def word(self, number: int) -> int:
        """Different in each half, and from all others."""
        return (number << 300) | (number ^ 0x5A5A5A5A) | (0xA << 508)

    async def wait_up(self, level: bool = True, us: float = 60) -> None:
        async def wait() -> None:
            while self.up != level:
                await RisingEdge(self.dut.clock)

        await with_timeout(cocotb.start_soon(wait()), round(us * 1000), "ns")

    async def drain(self) -> None:
        """All that was sent since the link came up has come."""
        self.share = 0.0
        await edges(self.dut.clock, 200)
        wrong = next((n for n, (a, b) in enumerate(zip(self.sent, self.came, strict=False)) if a != b), None)
        assert wrong is None, f"word {wrong} is {self.came[wrong]:x} instead of {self.sent[wrong]:x}"
        assert len(self.came) == len(self.sent), f"{len(self.sent)} words were sent, {len(self.came)} came"
