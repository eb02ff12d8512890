# SPDX-License-Identifier: Apache-2.0
"""ControlPlane of an interface card: what a host and the far card reach of it, through all
of it."""

from __future__ import annotations

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from tests.boards.parts.control_plane import CORE_REFUSED, SHELL, Card, drp_target, pulse, until

ALL_ONES = 0xFFFFFFFF
# RegisterMessage: kind, sequence and the rest, from bit 0 up: data 32, address 16, strobes 4,
# write, error, sequence, round 4, kind 2.
OPEN, OPENED, REQUEST, RESPONSE = range(4)


def message(kind: int, sequence: int = 0, write: int = 0, address: int = 0, data: int = 0, round_: int = 0) -> int:
    return data | address << 32 | 0xF << 48 | write << 52 | sequence << 54 | round_ << 55 | kind << 59


def rest(dut) -> None:
    for name in (
        "ready",
        "links_0_up",
        "links_0_channels_0_channelUp",
        "links_0_channels_0_trained",
        "links_0_channels_0_softError",
        "links_0_channels_0_hardError",
        "links_0_channels_0_overflow",
        "links_0_restarted",
        "links_0_receive_valid",
        "links_0_receive_bits",
        "mac_rxStatus",
        "mac_txReset",
        "mac_rxReset",
        "mac_overflow",
        "punt_valid",
        "monitorDrp_ready",
        "macDrp_ready",
    ):
        getattr(dut, name).value = 0
    for name in ("links_0_send_ready", "inject_ready", "i2c_buses_0_scl", "i2c_buses_0_sda"):
        getattr(dut, name).value = 1
    for cage in (0, 1):
        getattr(dut, f"cages_{cage}_modprsl").value = 1
        getattr(dut, f"cages_{cage}_intl").value = 1


async def start(dut) -> Card:
    rest(dut)
    card = Card(dut)
    await card.start()
    return card


@cocotb.test()
async def a_host_finds_the_card(dut) -> None:
    card = await start(dut)
    assert await card.get("magic") == int.from_bytes(b"SLYS", "big")
    assert [await card.get(name) for name in ("chip", "version", "board")] == [1, 0x010203, 1]
    assert await card.get("parts") == 0x1211
    await card.set("scratch", 0x12345678)
    assert await card.get("scratch") == 0x12345678


@cocotb.test()
async def each_address_reaches_its_half_or_an_error(dut) -> None:
    card = await start(dut)
    assert await card.get("access_errors") == 0
    for address in (0, 4, 0x100, CORE_REFUSED - 4):
        await card.write(address, address ^ 0x5A5A5A5A)
        assert await card.read(address) == address ^ 0x5A5A5A5A
    assert [a for a, _ in card.core.writes] == [0, 4, 0x100, CORE_REFUSED - 4]
    reads = len(card.core.reads)
    # No such register of the core, of the shell, and no such card: an interface card is the master
    # of no link.
    unmapped = (CORE_REFUSED, SHELL + 0x7FFC, SHELL + 0x1C, 0x10000, 0x18000, 0x20000, 0x70000)
    for address in unmapped:
        assert await card.read(address) == ALL_ONES, hex(address)
        await card.write(address, 0)
    assert len(card.core.reads) == reads + 1
    # A register that cannot be written.
    await card.set("magic", 0)
    assert await card.get("access_errors") == 2 * len(unmapped) + 1
    assert await card.get("pcie_refused") == 0
    for _ in range(3):
        await card.bar.write(0x100, bytes(8))
    assert await card.get("pcie_refused") == 3
    assert await card.read(0x100) == 0x100 ^ 0x5A5A5A5A


@cocotb.test()
async def status_and_pins(dut) -> None:
    card = await start(dut)
    # After reset nothing is selected, nothing in reset, and no bus is held.
    for cage in (0, 1):
        pins = [getattr(dut, f"cages_{cage}_{name}").value for name in ("modsell", "resetl", "lpmode")]
        assert pins == [1, 1, 0]
    assert (dut.i2c_buses_0_sclPullsLow.value, dut.i2c_buses_0_sdaPullsLow.value, dut.i2c_muxResetN.value) == (0, 0, 1)
    await card.set("qsfp_control", 0x2_01_02)
    assert [getattr(dut, f"cages_0_{n}").value for n in ("modsell", "resetl", "lpmode")] == [0, 1, 0]
    assert [getattr(dut, f"cages_1_{n}").value for n in ("modsell", "resetl", "lpmode")] == [1, 0, 1]
    dut.cages_1_modprsl.value = 0
    dut.cages_0_intl.value = 0
    assert await card.get("qsfp_state") == 0x201
    await card.set("i2c_control", 0x100)
    assert (dut.i2c_buses_0_sclPullsLow.value, dut.i2c_buses_0_sdaPullsLow.value, dut.i2c_muxResetN.value) == (1, 0, 0)
    dut.i2c_buses_0_sda.value = 0
    assert await card.get("i2c_state") == 0b01

    dut.links_0_up.value = 1
    dut.links_0_channels_0_channelUp.value = 1
    assert await card.get("link_state") == 1
    assert await card.get("channel_state", 0) == 1
    dut.links_0_channels_0_trained.value = 1
    assert await card.get("channel_state", 0) == 3
    for name, times in (
        ("channels_0_softError", 5),
        ("channels_0_hardError", 4),
        ("channels_0_overflow", 3),
        ("restarted", 2),
    ):
        await pulse(dut.coreClock, getattr(dut, f"links_0_{name}"), times)
    assert await card.get("channel_errors", 0) == 0x0004_0005
    assert await card.get("channel_events", 0) == 0x0002_0003
    assert await card.get("channel_state", 1) == 0

    restarts = [0]

    async def watch() -> None:
        while True:
            await RisingEdge(dut.coreClock)
            restarts[0] += int(dut.links_0_restart.value)

    cocotb.start_soon(watch())
    await card.set("link_control", 1)
    assert await card.get("link_control") == 0
    assert restarts == [1]

    assert await card.get("mac_state") == 0
    dut.mac_rxStatus.value = 1
    dut.mac_txReset.value = 1
    assert await card.get("mac_state") == 0b011
    await pulse(dut.coreClock, dut.mac_overflow, 7)
    assert await card.get("mac_overflow") == 7
    dut.ready.value = 1
    assert await card.get("core_state") == 1
    assert dut.lights.value == 0b111
    dut.links_0_up.value = 0
    await ClockCycles(dut.coreClock, 10)
    assert dut.lights.value == 0b110
    await card.set("lights", 0x105)
    assert await card.get("lights") == 0x105
    assert dut.lights.value == 0b011


@cocotb.test()
async def drp_window(dut) -> None:
    card = await start(dut)
    monitor: dict[int, int] = {0x00: 0x9C40}
    mac: dict[int, int] = {0x0A1234: 0xBEEF}
    silent = [False]
    drp_target(dut, "monitorDrp", monitor)
    drp_target(dut, "macDrp", mac, lambda: not silent[0])

    async def access(target: int, address: int, data: int | None = None) -> int:
        await card.set("drp_select", target << 24 | address)
        if data is not None:
            await card.set("drp_data", data)
        await card.set("drp_command", 1 if data is None else 2)
        return await until(lambda: card.get("drp_state"), lambda value: not value >> 31)

    assert await access(0, 0x00) == 0x9C40
    assert await access(1, 0x0A1234) == 0xBEEF
    await access(1, 0x0A0001, 0x1357)
    await access(0, 0x41, 0x2468)
    assert mac[0x0A0001] == 0x1357 and monitor[0x41] == 0x2468
    assert 0x41 not in mac and len(monitor) == 2
    silent[0] = True
    assert await access(1, 0x0A1234) >> 30 == 1
    silent[0] = False
    assert await access(1, 0x0A1234) == 0xBEEF


@cocotb.test()
async def the_far_card_reads_and_writes(dut) -> None:
    """Through messages, beside the host: each gets its own answers."""
    card = await start(dut)
    sent: list[int] = []

    async def collect() -> None:
        while True:
            await RisingEdge(dut.coreClock)
            if dut.links_0_send_valid.value == 1 and dut.links_0_send_ready.value == 1:
                sent.append(dut.links_0_send_bits.value.to_unsigned())

    async def deliver(value: int) -> int:
        sent.clear()
        await RisingEdge(dut.coreClock)
        dut.links_0_receive_bits.value = value
        dut.links_0_receive_valid.value = 1
        await RisingEdge(dut.coreClock)
        dut.links_0_receive_valid.value = 0
        for _ in range(300):
            await RisingEdge(dut.coreClock)
            if sent:
                return sent.pop()
        return 0

    cocotb.start_soon(collect())
    # Not before `open`.
    assert await deliver(message(REQUEST, address=SHELL)) == 0
    assert await deliver(message(OPEN, round_=5)) == 5 << 55 | OPENED << 59

    async def host() -> None:
        for n in range(60):
            await card.write(0x40, n)
            assert await card.read(0x40) == n

    busy = cocotb.start_soon(host())
    sequence = 0
    for n in range(60):
        address = 0x80 if n % 2 else SHELL + 0x14
        for write in (1, 0):
            answer = await deliver(message(REQUEST, sequence, write, address, n * 0x01010101))
            assert answer >> 54 & 1 == sequence and answer >> 59 == RESPONSE and not answer >> 53 & 1
            if not write:
                assert answer & ALL_ONES == n * 0x01010101
            sequence ^= 1
    await busy
    answer = await deliver(message(REQUEST, sequence, 0, SHELL + 0x7FFC))
    assert answer >> 53 & 1 == 1
    # Asked again, answered again; the access is not made again.
    reads = len(card.core.reads)
    once = await deliver(message(REQUEST, sequence ^ 1, 0, 0x80))
    assert await deliver(message(REQUEST, sequence ^ 1, 0, 0x80)) == once
    assert len(card.core.reads) == reads + 1


@cocotb.test()
async def a_frame_each_way(dut) -> None:
    card = await start(dut)
    frame = bytes(range(100))
    injected = []

    async def collect() -> None:
        while True:
            await RisingEdge(dut.coreClock)
            if dut.inject_valid.value == 1 and dut.inject_ready.value == 1:
                count = dut.inject_bits_bytes.value.to_unsigned()
                injected.append(dut.inject_bits_data.value.to_unsigned().to_bytes(64, "little")[:count])

    async def punt() -> None:
        for n in (0, 64):
            dut.punt_bits_data.value = int.from_bytes(frame[n : n + 64], "little")
            dut.punt_bits_bytes.value = len(frame[n : n + 64])
            dut.punt_bits_last.value = int(n == 64)
            dut.punt_valid.value = 1
            await RisingEdge(dut.coreClock)
            while dut.punt_ready.value == 0:
                await RisingEdge(dut.coreClock)
            dut.punt_valid.value = 0

    cocotb.start_soon(collect())
    await card.set("inject_length", len(frame))
    for n in range(0, len(frame), 4):
        await card.set("inject_data", int.from_bytes(frame[n : n + 4], "little"))
    assert await card.get("inject_state") == 1 << 16
    assert b"".join(injected) == frame

    assert not await card.get("punt_state") >> 31
    cocotb.start_soon(punt())
    seen = b""
    for count, last in ((64, 0), (36, 1)):
        state = await until(lambda: card.get("punt_state"), lambda value: bool(value >> 31))
        assert state == 1 << 31 | last << 8 | count
        for _ in range(count // 4):
            seen += (await card.get("punt_data")).to_bytes(4, "little")
    assert seen == frame
    assert not await card.get("punt_state") >> 31
