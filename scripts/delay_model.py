# SPDX-License-Identifier: Apache-2.0
"""Delays of UltraScale+ primitives and nets in ns: speed grade -2, 0.85 V, slow corner.

A netlist of yosys has no placement, so the delay of a net is a guess by its fan-out and by the area
of its loads. `docs/explanation/delays.md` has the calibration of the whole and its error.

Sources. RapidWright 325baa00, `timing/ultrascaleplus` (Apache-2.0; FPT 2019, "An Open-source
Lightweight Timing Model for RapidWright"): slices, block RAM and UltraRAM. It names no speed grade;
Vivado's paths for -2 in calibration.yaml have the same delays of cells. Where each bit of a pin has
a delay, this has the largest. DS890: the number of each block in an XCVU9P. No public figure: those
marked "assumed".
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import NamedTuple

# The estimate of a path divided by this is what Vivado would reach: see calibrate_delays.py.
PESSIMISM = 1.25

# --- nets -----------------------------------------------------------------------------------------

# LOCAL + OCTAVE * log2(fan-out): least squares over the NETS of calibration.yaml, routed by Vivado.
LOCAL = 0.203
OCTAVE = 0.045
# To the farthest load of a kind, logic or blocks, if the loads fill a square with the driver in its
# middle. A long wire spans 12 rows and takes some 0.13 ns by RapidWright's constants.
NS_PER_CLB = 0.010
# CLBs of the device for each block of it (DS890: 147,780 CLBs, 2160 BRAM36, 960 URAM, 6840 DSPs).
# LUTs and registers are assumed to fill CLBs to 60 %: eight of them a CLB.
CLBS = 147_780
AREA = (
    (re.compile("URAM"), CLBS / 960),
    (re.compile("RAMB36|FIFO36"), CLBS / 2160),
    (re.compile("RAMB18|FIFO18"), CLBS / 4320),
    (re.compile("DSP"), CLBS / 6840),
)
AREA_OF_LOGIC = 1 / 8 / 0.6


class Pin(NamedTuple):
    """An input of a primitive: the delay from there to its outputs, or its setup time. If a driver
    in the same slice needs no routing to it, `near` is the delay of that wire; Vivado merges the
    whole primitive with its driver if `merged`. Blocks have few sites, so a pin of one is far from
    its driver if the net has many of them; a placer puts logic beside its driver."""

    ns: float
    near: float | None = None
    merged: bool = False
    is_far: bool = False


# Mean of a LUT's six inputs; the site pins' 0.04 to 0.07 ns are in the nets.
LUT = Pin(0.092)
# A LUT's register is in its slice.
REGISTER = Pin(-0.025, near=0.05)
CONTROL = Pin(0.061)

MERGED = Pin(0.0, near=0.0, merged=True)

# Of primitives that paths go through, the first pattern of "kind pin" that matches.
THROUGH = (
    (r"LUT\d|RAM\d", LUT),
    (r"MUXF\d S", Pin(0.077)),
    (r"MUXF\d I", Pin(0.070, near=0.025)),
    # From one block of a chain to the next; what the last one takes to its sum is in S and DI.
    (r"CARRY8 CI\b", Pin(0.023, near=0.026)),
    (r"CARRY4 CI\b", Pin(0.012, near=0.013)),
    (r"CARRY\d CYINIT", Pin(0.228)),
    (r"CARRY\d S", Pin(0.241, near=0.015)),
    (r"CARRY\d DI", Pin(0.211, near=0.0)),
)
# Where paths end.
ENDS = (
    (r"FD\w+ D$|LD\w+ D$", REGISTER),
    (r"FD|LD", CONTROL),
    (r"RAM\d+\w* WE", Pin(0.180)),
    (r"RAM\d+\w* (ADDR|A)", Pin(0.117)),
    (r"RAM\d", Pin(0.081)),
    (r"RAMB\w+ ADDR", Pin(0.329, is_far=True)),
    (r"RAMB\w+ WE", Pin(0.394, is_far=True)),
    (r"RAMB\w+ EN", Pin(0.342, is_far=True)),
    (r"RAMB", Pin(0.313, is_far=True)),
    (r"URAM\w+ ADDR_A", Pin(0.522, is_far=True)),
    (r"URAM\w+ (ADDR|RDB_WR)_B", Pin(0.376, is_far=True)),
    (r"URAM\w+ DIN", Pin(0.536, is_far=True)),
    (r"URAM\w+ BWE", Pin(0.491, is_far=True)),
    (r"URAM", Pin(0.458, is_far=True)),
    (r"SRL", Pin(0.081)),
    # assumed
    (r"DSP", Pin(0.3, is_far=True)),
)
REGISTER_OUT = 0.077
# Without and with its output register.
BRAM_OUT = (1.003, 0.229)
# Port B of an UltraRAM is served after port A, in the same cycle (UG573).
URAM_OUT = {"A": (1.292, 0.767), "B": (2.059, 0.698)}
SRL_OUT = 0.312
# assumed: yosys leaves the registers around a product outside the DSP, and Vivado moves them in
DSP_OUT = 0.3


@cache
def through(kind: str, pin: str) -> Pin:
    return _first(THROUGH, kind, pin)


@cache
def end(kind: str, pin: str) -> Pin:
    return _first(ENDS, kind, pin)


def _first(table: tuple[tuple[str, Pin], ...], kind: str, pin: str) -> Pin:
    # Else a buffer or an inverter.
    return next((delay for pattern, delay in table if re.match(pattern, f"{kind} {pin}")), MERGED)


def launch(kind: str, pin: str, parameters: dict[str, str]) -> float:
    """From the clock to an output of a register or memory."""
    if kind.startswith("RAMB"):
        port = "A" if pin.startswith(("DOUTA", "DOUTPA")) else "B"
        return BRAM_OUT[_is_set(parameters.get(f"DO{port}_REG", "0"))]
    if kind.startswith("URAM"):
        port = "A" if pin.endswith("_A") else "B"
        return URAM_OUT[port][_is_set(parameters.get(f"OREG_{port}", "0"))]
    return SRL_OUT if kind.startswith("SRL") else DSP_OUT if kind.startswith("DSP") else REGISTER_OUT


def _is_set(value: str) -> bool:
    """A parameter as yosys writes it: bits, or a word."""
    return value.strip() == "TRUE" or value.endswith("1")


@cache
def area(kind: str) -> float:
    """CLBs that a load of a net takes, with what lies around it."""
    return next((clbs for pattern, clbs in AREA if pattern.match(kind)), AREA_OF_LOGIC)


def net(fan_out: int, clbs: float) -> float:
    """Of a net with so many loads: to the farthest of those that take so many CLBs together."""
    return LOCAL + OCTAVE * math.log2(max(fan_out, 1)) + NS_PER_CLB * math.sqrt(clbs)
