# SPDX-License-Identifier: Apache-2.0
"""AuroraLink, looped back through a model of its Aurora channels: words in order, aligned,
unchanged, none lost or doubled."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import RisingEdge, Timer

from tests.boards.parts.aurora_model import COMPENSATION, GEARBOX, PAUSE, Channel, Core
from tests.boards.parts.drift import PS, DriftingClock, edges
from tests.boards.simulation import parameter

CHANNELS = int(parameter("channels", 1))
PATIENCE = 4 * 512


async def begin(dut, **options) -> tuple[Core, list[Channel]]:
    """Power-up. The later channel is 40 beats behind."""
    skew = random.sample([0, 40], 2)
    channels = [Channel(dut, n, latency=60 + skew[n]) for n in range(CHANNELS)]
    for channel in channels:
        for name, value in options.items():
            setattr(channel, name, value)
    # Asynchronous sets whose clock stands still: Verilator takes their edges for them, where a
    # flip-flop takes the level.
    dut.reset.value = 0
    await Timer(1, "ps")
    dut.reset.value = dut.io_initReset.value = 1
    DriftingClock(dut.clock, PS["core"]).start()
    DriftingClock(dut.io_initClock, PS["init"]).start()
    await edges(dut.io_initClock, 10)
    core = Core(dut)
    dut.io_initReset.value = 0
    await edges(dut.clock, 3)
    dut.reset.value = 0
    return core, channels


async def started(dut) -> tuple[Core, list[Channel]]:
    core, channels = await begin(dut)
    await core.wait_up()
    return core, channels


@cocotb.test()
async def words_come_in_order(dut):
    core, _ = await started(dut)
    for core.share in random.sample([1, 0.3, 0.05] * 3, 9):
        await Timer(1, "us")
    await core.drain()
    assert len(core.sent) > 500
    assert core.pulses == dict.fromkeys(core.pulses, 0)
    assert dut.io_status_channels_0_trained.value == 1


@cocotb.test()
async def no_place_of_the_channel_is_left_unused(dut):
    """One channel: every beat that the Aurora core takes is a word's. Two: 1023 words in 1024
    cycles of the core."""
    core, channels = await started(dut)
    await Timer(1, "us")
    offered, used, sent = channels[0].offered, channels[0].used, len(core.sent)
    cycles = 8000
    if CHANNELS == 1:
        await edges(channels[0]["clock"], cycles)
        assert channels[0].offered - offered == channels[0].used - used
        share = (channels[0].used - used) / cycles
        assert abs(share - (1 - 1 / GEARBOX) * (1 - PAUSE / COMPENSATION)) < 0.002
    else:
        await edges(dut.clock, 1024 * 5)
        assert 1023 * 5 - 2 <= len(core.sent) - sent <= 1023 * 5 + 2
    await core.drain()
    assert core.pulses["channels_0_overflow"] == 0


@cocotb.test()
async def training_survives_lost_beats_and_bit_errors(dut):
    """Whatever number of beats the far end loses before it is up, and with errors in four of five
    markers, the first word is the first."""
    core, channels = await begin(dut, errors=0.8)
    for lost in (0, 1, 2, 33, 250, 399):
        await core.wait_up(us=400)
        for channel in channels:
            channel.errors = 0.0
        core.share = 0.7
        await Timer(300, "ns")
        await core.drain()
        assert len(core.sent) > 20
        for channel in channels:
            channel.drop()
            channel.errors = 0.8
        await core.wait_up(False)
        core.sent.clear()
        core.came.clear()
        for channel in channels:
            await Timer(random.randint(1, 900), "ns")
            channel.raise_up(lost)


@cocotb.test()
async def channel_that_falls_in_traffic_begins_anew(dut):
    core, channels = await started(dut)
    for _ in range(8):
        core.share = random.choice([1, 0.5])
        await Timer(random.randint(200, 900), "ns")
        fallen = random.sample(channels, random.randint(1, CHANNELS))
        for channel in fallen:
            channel.drop()
        await edges(dut.clock, 12)
        assert not core.up, "the core does not know"
        assert core.came == core.sent[: len(core.came)]
        # The far end notices, and stops its words on the channels that stay up.
        for channel in channels:
            channel.under_way.clear()
        await Timer(random.choice([1, 20, 1000]), "ns")
        for channel in fallen:
            channel.raise_up()
        core.sent.clear()
        core.came.clear()
        await core.wait_up()
    core.share = 0.8
    await Timer(2, "us")
    await core.drain()
    assert core.pulses == dict.fromkeys(core.pulses, 0)


@cocotb.test()
async def hard_error_begins_anew(dut):
    """A hard error counts once; the link does not train until the core has dropped its channel, as
    it does by itself."""
    core, channels = await started(dut)
    for count in range(1, 4):
        await Timer(500, "ns")
        channel = random.choice(channels)
        await RisingEdge(channel["clock"])
        channel["hardError"].value = 1
        await edges(channel["clock"], random.choice([1, 5]))
        channel["hardError"].value = 0
        await edges(dut.clock, 12)
        assert not core.up
        await Timer(300, "ns")
        assert dut.io_status_channels_0_trained.value == 0
        channel.drop()
        for each in channels:
            each.under_way.clear()
        await Timer(200, "ns")
        core.sent.clear()
        core.came.clear()
        channel.raise_up()
        await core.wait_up()
        assert sum(core.pulses.values()) == count
    await Timer(1, "us")
    await core.drain()


@cocotb.test()
async def soft_errors_are_counted(dut):
    core, channels = await started(dut)
    for channel in channels:
        for _ in range(50):
            await edges(channel["clock"], 10)
            channel["softError"].value = 1
            await edges(channel["clock"], 3)
            channel["softError"].value = 0
    await core.drain()
    for n in range(CHANNELS):
        assert core.pulses[f"channels_{n}_softError"] == 150


@cocotb.test()
async def training_that_does_not_end_resets_the_cores(dut):
    """Nothing comes from the far end: after four times the training's length, and not before, both
    resets; then it comes up by itself."""
    core, channels = await begin(dut, connected=False)
    for _ in range(2):
        for channel in channels:
            while not channel.up:
                await Timer(100, "ns")
        start = core.pulses["restarted"]
        await edges(dut.clock, PATIENCE - 200)
        assert core.pulses["restarted"] == start
        assert not core.up
        await edges(dut.clock, 600)
        assert core.pulses["restarted"] == start + 1
        assert all(not channel.up for channel in channels)
    for channel in channels:
        channel.connected = True
    await core.wait_up(us=200)
    await Timer(1, "us")
    await core.drain()


@cocotb.test()
async def restart_by_register(dut):
    core, _ = await started(dut)
    for count in range(1, 4):
        await Timer(500, "ns")
        await RisingEdge(dut.clock)
        dut.io_restart.value = 1
        await RisingEdge(dut.clock)
        dut.io_restart.value = 0
        await core.wait_up(False, us=2)
        core.sent.clear()
        core.came.clear()
        await core.wait_up()
        assert core.pulses["restarted"] == count
    await Timer(1, "us")
    await core.drain()


@cocotb.test()
async def a_lost_beat_is_mended_when_the_core_asks(dut):
    """From the beat on every word is made of two; no counter of the channel tells. The core hears
    nothing right, and has it restarted."""
    core, channels = await started(dut)
    core.share = 1.0
    await Timer(1, "us")
    random.choice(channels).under_way.popleft()
    await Timer(1, "us")
    assert core.up
    assert core.came[-1] not in core.sent
    assert core.pulses == dict.fromkeys(core.pulses, 0)
    await RisingEdge(dut.clock)
    dut.io_link_restart.value = 1
    await RisingEdge(dut.clock)
    dut.io_link_restart.value = 0
    await core.wait_up(False, us=2)
    core.sent.clear()
    core.came.clear()
    await core.wait_up()
    assert core.pulses["restarted"] == 1
    await Timer(1, "us")
    await core.drain()


@cocotb.test()
async def reset_of_the_core_begins_anew(dut):
    """Aurora's channels stay up; the far end (this one) begins anew as well."""
    core, channels = await started(dut)
    for _ in range(4):
        await Timer(random.randint(300, 800), "ns")
        await RisingEdge(dut.clock)
        dut.reset.value = 1
        await edges(dut.clock, 20)
        for channel in channels:
            channel.under_way.clear()
        dut.reset.value = 0
        core.sent.clear()
        core.came.clear()
        await core.wait_up(us=30)
    await Timer(1, "us")
    await core.drain()
    assert core.pulses == dict.fromkeys(core.pulses, 0)


@cocotb.test(skip=CHANNELS == 1)
async def swapped_cables_never_train(dut):
    core, channels = await begin(dut)
    channels[0].source, channels[1].source = channels[1], channels[0]
    await Timer(15, "us")
    assert not core.up
    assert not core.came
    assert core.pulses["restarted"] >= 1
