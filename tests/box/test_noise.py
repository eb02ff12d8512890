# SPDX-License-Identifier: Apache-2.0
"""The noise source of a simulated box, from the noise chip to the registers; each of its tests at
its cutoff is `NoiseSpec`'s."""

from __future__ import annotations

import pytest

from sallyport.simulator import Simulator
from tests.support.registers import Registers

GOOD, REPEATED = 1 << 8, 1 << 16
SAMPLE_CYCLES, WINDOW = 300, 1024
POP, RESTART = 1, 2


def words(sim: Simulator, registers: Registers) -> list[int]:
    """What software takes when the tests have passed."""
    # The chip's self-test at its start has taken some of the first samples.
    registers.write("crypto", "noise_control", RESTART)
    sim.command("idle", cycles=(WINDOW - 24) * SAMPLE_CYCLES)
    assert registers.read("crypto", "noise_status") == registers.read("crypto", "noise_word") == 0
    sim.command("idle", cycles=(24 + 3 * 32 + 8) * SAMPLE_CYCLES)
    assert registers.read("crypto", "noise_status") == GOOD | 3
    taken = []
    for _ in range(3):
        taken.append(registers.read("crypto", "noise_word"))
        registers.write("crypto", "noise_control", POP)
    assert registers.read("crypto", "noise_status") == GOOD
    return taken


def test_noise_source() -> None:
    with Simulator(1, None, 1) as sim, Registers(sim.socket(0)) as registers:
        first = words(sim, registers)
        assert len({0, 0xFFFFFFFF, *first}) == 5, "three words that differ"
        sim.command("quit")


@pytest.mark.long
def test_a_noise_source_breaks_and_is_mended() -> None:
    with Simulator(1, None, 1) as sim, Registers(sim.socket(0)) as registers:
        first = words(sim, registers)
        sim.command("noise", stuck=True)
        sim.command("idle", cycles=80 * SAMPLE_CYCLES)
        assert registers.read("crypto", "noise_status") == REPEATED
        sim.command("noise", stuck=None)
        registers.write("crypto", "noise_control", RESTART)
        sim.command("idle", cycles=(WINDOW + 40) * SAMPLE_CYCLES)
        assert registers.read("crypto", "noise_status") == GOOD | 1
        sim.command("quit")
    with Simulator(1, None, 2) as sim, Registers(sim.socket(0)) as registers:
        assert words(sim, registers) != first, "the noise chip is seeded"
        sim.command("quit")
