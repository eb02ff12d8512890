# SPDX-License-Identifier: Apache-2.0
"""What crosses clocks in the shells, each by itself, under clocks that drift: fast to slow, slow to
fast, and about equal."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from boards.check import cdc, netlist, stages, top, xdc
from tests.boards.simulation import PARTS, ROOT, SIMULATIONS, run_part

CORE, AURORA, MAC = 3334, 2482, 3104
RATIOS = {
    "aurora-core": (AURORA, CORE),
    "core-aurora": (CORE, AURORA),
    "mac-core": (MAC, CORE),
    "1-to-7": (7 * AURORA, AURORA),
    "7-to-1": (AURORA, 7 * AURORA),
    "equal": (CORE, CORE),
}
EXTREME = {"1-to-7", "7-to-1"}
ratios = pytest.mark.parametrize(
    "source,target",
    [
        pytest.param(*periods, id=name, marks=[pytest.mark.long] if name in EXTREME else [])
        for name, periods in RATIOS.items()
    ],
)

SYNCHRONIZERS = {
    "BitSynchronizer": "bit_follows_after_two_or_three_edges",
    "ResetSynchronizer": "reset_rises_without_a_clock_and_falls_with_it",
    "SlrPipe": "pipe_needs_no_more_than_it_says_to_spare",
}
WAITS = {
    "Debouncer": "a_level_counts_once_it_has_lasted",
    "CageClocks": "clock_chips_are_reset_and_then_settle",
}
CROSSINGS = {
    "CrossingReset": "no_side_runs_before_both_were_reset",
    "GrayCrossing": "count_is_one_it_was_and_changes_by_single_bits",
    "ValueCrossing": "value_is_one_it_was",
    "EventCrossing": "events_are_told_one_for_one",
}
FIFO = "words_come_in_order,rate_is_the_slower_clocks,resets_leave_an_empty_queue"
SPARE_FIFO = "words_come_in_order,sender_that_sees_room_late_finds_a_place,words_to_spare_find_a_place_however_late"


@pytest.mark.parametrize("part", SYNCHRONIZERS)
def test_synchronizer(part: str):
    run_part(part, "synchronizers", testcase=SYNCHRONIZERS[part])


@pytest.mark.parametrize("part", WAITS)
def test_wait(part: str):
    run_part(part, "slow_pins", testcase=WAITS[part])


@pytest.mark.parametrize("part", CROSSINGS)
@ratios
def test_crossing(part: str, source: int, target: int):
    run_part(part, "synchronizers", testcase=CROSSINGS[part], source=source, target=target)


@ratios
def test_async_fifo(source: int, target: int):
    run_part("AsyncFifo", "async_fifo", testcase=FIFO, source=source, target=target)


@ratios
def test_async_fifo_with_words_to_spare(source: int, target: int):
    run_part("SpareAsyncFifo", "async_fifo", testcase=SPARE_FIFO, source=source, target=target, spare=6)


@ratios
def test_async_fifo_of_frames(source: int, target: int):
    run_part(
        "FrameAsyncFifo",
        "async_fifo",
        testcase="a_frame_that_begins_comes_without_a_pause",
        source=source,
        target=target,
    )


TOPS = {
    "ControlPlaneInner": "ControlPlane",
    "ControlPlaneCrypto": "ControlPlane",
    "AuroraLink1": "AuroraLink",
    "AuroraLink2": "AuroraLink",
    "MacCrossing": "MacCrossing",
}
ON_PATHS = {"AsyncFifo", "BitSynchronizer", "GrayCrossing", "ResetSynchronizer"}
CROSSED = {
    "ControlPlane": {"BitSynchronizer", "RegisterCrossing"},
    "AuroraLink": ON_PATHS,
    "MacCrossing": ON_PATHS | {"ValueCrossing"},
}


@cache
def modules_of(part: str) -> dict[str, Any]:
    work = SIMULATIONS / part / "netlist"
    return netlist.elaborate(TOPS[part], sorted((PARTS / part).glob("*.sv")), [], work, top.PASSES)


@pytest.mark.parametrize("part", TOPS)
def test_clocks_cross_where_there_is_a_constraint(part: str):
    modules = modules_of(part)
    allowed = {path.stem for path in (ROOT / "boards/constraints").glob("*.tcl")}
    checker = cdc.Checker(modules, {}, allowed)
    summary = checker.summary(TOPS[part])
    assert not summary.crossings
    assert not summary.glitches
    assert stages.problems(checker) == []
    assert xdc.register_problems(ROOT / "boards/constraints", modules) == []
    assert {name.split("_")[0] for name in checker.crossing_modules} == CROSSED[TOPS[part]]


@pytest.mark.parametrize("part", TOPS)
def test_nothing_moves_without_a_clock_but_resets(part: str):
    """Registers with an asynchronous set, which may move at any time, are those that make resets of
    clocks, and no other. The input of a synchroniser of resets is a register's or a pin's, of one
    clock. Two that meet in logic may have spikes (report_cdc: CDC-12)."""
    modules = modules_of(part)
    makes = {
        name.split("_")[0]
        for name, module in modules.items()
        if any(cell["type"].startswith(("$adff", "$aldff", "$dffsr")) for cell in module["cells"].values())
    }
    assert makes <= {"CrossingReset", "ResetSynchronizer"}
    for name, module in modules.items():
        logic = {
            bit: cell["type"]
            for cell in module["cells"].values()
            if cell["type"].startswith("$") and "CLK" not in cell["connections"] and not cell["type"].startswith("$mem")
            for bit in cell["connections"].get("Y", [])
        }
        for instance, cell in module["cells"].items():
            if cell["type"].split("_")[0] == "ResetSynchronizer":
                driver = logic.get(cell["connections"]["in"][0], "$not")
                assert driver in ("$not", "$logic_not"), f"{name}: {driver} before {instance}"
