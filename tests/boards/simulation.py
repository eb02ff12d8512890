# SPDX-License-Identifier: Apache-2.0
"""Simulates one part of the boards' shells by itself: cocotb drives it, Verilator runs it.

`make board-parts` writes the Verilog of each part into build/boards/parts/<part>; the cocotb tests
are in tests/boards/parts.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from tests.support.paths import ROOT

PARTS = ROOT / "build" / "boards" / "parts"
SIMULATIONS = ROOT / "build" / "boards" / "simulations"
PREFIX = "PART_"
# A clock that starts high is an edge to Verilator, at time 0, before a test can reset anything. An
# assertion must not judge registers then. firtool guards each assertion by these macros.
CHECKS = ["--assert", "-DSTOP_COND_=($time!=0)", "-DASSERT_VERBOSE_COND_=($time!=0)"]


def parameter(name: str, default: object = None) -> str:
    """What `run_part` was given under this name, as text; for the cocotb tests."""
    value = os.environ.get(PREFIX + name.upper())
    return str(default) if value is None else value


def top_of(sources: list[Path]) -> str:
    """The one module that no other names: Emit writes a file a module."""
    texts = {source.stem: source.read_text() for source in sources}
    named = {word for name, text in texts.items() for word in set(re.findall(r"\w+", text)) - {name}}
    (top,) = texts.keys() - named
    return top


def run_part(part: str, module: str, *, testcase: str | None = None, seed: int = 1, **parameters: object) -> None:
    """Build the part if its Verilog changed, run the tests of tests/boards/parts/<module>.py on it,
    and fail where one does.

    `parameters` are the tests' own, read by `parameter`; generated Verilog has none. Registers
    without a reset start at random, by `seed`: 1 at least, for Verilator would choose one for 0. A
    failed assertion of the Verilog ends the simulation and fails too. WAVES=1 leaves a dump.vcd
    beside the logs.
    """
    assert seed >= 1, "seed 0 is another one each time"
    sources = sorted((PARTS / part).glob("*.sv"))
    if not sources:
        pytest.fail(f"build/boards/parts/{part} has no Verilog: run make board-parts", pytrace=False)
    top = top_of(sources)
    build = SIMULATIONS / part
    build.mkdir(parents=True, exist_ok=True)
    runner = get_runner("verilator")
    log = build / "build.log"
    try:
        runner.build(
            sources=sources,
            hdl_toplevel=top,
            build_dir=build,
            build_args=[*CHECKS, "-Wno-fatal", "--x-initial", "unique", "-CFLAGS", "-std=c++17"],
            timescale=("1ns", "1ps"),
            log_file=log,
        )
        case = "-".join([module, *([testcase] if testcase else []), *(f"{k}={v}" for k, v in parameters.items())])
        log = build / f"{case}.log"
        results = runner.test(
            test_module=f"tests.boards.parts.{module}",
            hdl_toplevel=top,
            build_dir=build,
            testcase=testcase,
            seed=seed,
            plusargs=["+verilator+rand+reset+2", f"+verilator+seed+{seed}"],
            results_xml=str(build / f"{case}.xml"),
            log_file=log,
            extra_env={PREFIX + name.upper(): str(value) for name, value in parameters.items()},
        )
        ran, failed = get_results(results)
    except (RuntimeError, SystemExit) as error:
        pytest.fail(f"{part}: {error}\n{log.read_text()[-6000:]}", pytrace=False)
    if failed or not ran:
        pytest.fail(f"{part}: {failed} of {ran} tests of {module} failed\n{log.read_text()[-6000:]}", pytrace=False)
