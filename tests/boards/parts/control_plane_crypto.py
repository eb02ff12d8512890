# SPDX-License-Identifier: Apache-2.0
"""ControlPlane of the crypto card: cards behind its links, through messages that a plain model of
the far card answers."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotb.utils import get_sim_time

from tests.boards.parts.control_plane import SHELL, Card

ALL_ONES = 0xFFFFFFFF
OPEN, OPENED, REQUEST, RESPONSE = range(4)


class FarCard:
    """What docs/reference/cards.md says of the far end of a tunnel, in software; `loss` of the
    messages go astray each way."""

    def __init__(self, dut, link: int, loss: float) -> None:
        self.dut, self.link, self.loss = dut, link, loss
        self.words: dict[int, int] = {}
        self.made: list[tuple[int, int]] = []
        self.chance = random.Random(link)
        cocotb.start_soon(self.run())

    async def run(self) -> None:
        dut = self.dut
        port = {
            name: getattr(dut, f"links_{self.link}_{name}")
            for name in ("send_valid", "send_bits", "receive_valid", "receive_bits")
        }
        port["receive_valid"].value = 0
        opened, last, answer = False, None, 0
        while True:
            await RisingEdge(dut.coreClock)
            if port["send_valid"].value != 1:
                continue
            message = port["send_bits"].value.to_unsigned()
            if self.chance.random() < self.loss:
                continue
            data, address, strobes = message & ALL_ONES, message >> 32 & 0xFFFF, message >> 48 & 15
            write, sequence, round_, kind = message >> 52 & 1, message >> 54 & 1, message >> 55 & 15, message >> 59 & 3
            if kind == OPEN:
                opened, last = True, None
                answer = round_ << 55 | OPENED << 59
            elif kind == REQUEST and opened:
                if sequence != last:
                    last = sequence
                    self.made.append((write, address))
                    error = address >= 0xF000
                    if write and not error:
                        assert strobes == 15
                        self.words[address] = data
                    answer = self.words.get(address, 0) | error << 53 | sequence << 54 | RESPONSE << 59
            else:
                continue
            await ClockCycles(dut.coreClock, 60)
            if self.chance.random() >= self.loss:
                port["receive_bits"].value = answer
                port["receive_valid"].value = 1
                await RisingEdge(dut.coreClock)
                port["receive_valid"].value = 0


async def start(dut, loss: float) -> tuple[Card, list[FarCard]]:
    for link in (0, 1):
        getattr(dut, f"links_{link}_send_ready").value = 1
        getattr(dut, f"links_{link}_up").value = 1
        getattr(dut, f"links_{link}_restarted").value = 0
        for channel in (0, 1):
            for name in ("channelUp", "trained", "softError", "hardError", "overflow"):
                getattr(dut, f"links_{link}_channels_{channel}_{name}").value = 0
    dut.ready.value = 1
    far = [FarCard(dut, link, loss) for link in (0, 1)]
    card = Card(dut)
    await card.start()
    return card, far


@cocotb.test()
async def one_host_reaches_all_three_cards(dut) -> None:
    card, far = await start(dut, 0)
    assert await card.get("chip") == 2
    assert await card.get("parts") == 0x0222
    assert await card.get("tunnel_state", 0) == 0
    for n in range(20):
        for which in (0, 1, 2):
            await card.write((which << 16) + 0x40 + 4 * n, 1000 * which + n)
    for n in range(20):
        for which in (0, 1, 2):
            assert await card.read((which << 16) + 0x40 + 4 * n) == 1000 * which + n
    assert len(card.core.writes) == 20 and [len(f.made) for f in far] == [40, 40]
    await card.set("scratch", 5, card=2)
    assert far[1].made[-1] == (1, SHELL + 0x14) and (await card.get("scratch")) == 0
    assert [await card.get("tunnel_state", n) for n in (0, 1)] == [1 << 31, 1 << 31]
    # A register that the far card refuses, and a card that is not there.
    assert await card.read(0x1F000) == ALL_ONES
    assert await card.read(0x30000) == ALL_ONES
    assert await card.get("access_errors") == 2


@cocotb.test()
async def lost_messages_cost_time_alone(dut) -> None:
    card, far = await start(dut, 0.1)
    for n in range(10):
        await card.write(0x10040, n)
        assert await card.read(0x10040) == n
    assert far[0].made == [(1, 0x40), (0, 0x40)] * 10
    state = await card.get("tunnel_state", 0)
    assert state >> 31 == 1 and state & 0xFFFF > 0 and state >> 16 & 0x7FFF == 0


@cocotb.test()
async def a_card_that_is_not_there_costs_less_than_50_us(dut) -> None:
    card, far = await start(dut, 0)
    far[0].loss = 1
    before = get_sim_time("us")
    assert await card.read(0x10000) == ALL_ONES
    assert get_sim_time("us") - before < 50
    assert await card.get("tunnel_state", 0) == 1 << 16 | 5
    # The other link and this card are as they were, and the card may come back.
    await card.write(0x20040, 7)
    assert await card.read(0x20040) == 7
    far[0].loss = 0
    await card.write(0x10040, 8)
    assert await card.read(0x10040) == 8


@cocotb.test()
async def channels_are_numbered_by_link(dut) -> None:
    card, _ = await start(dut, 0)
    for n in range(4):
        signal = getattr(dut, f"links_{n // 2}_channels_{n % 2}_channelUp")
        signal.value = 1
        assert [await card.get("channel_state", c) for c in range(4)] == [int(c == n) for c in range(4)]
        signal.value = 0
    assert await card.get("link_state") == 3
    assert dut.lights.value == 0b111
