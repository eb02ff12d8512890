# SPDX-License-Identifier: Apache-2.0
"""What report_cdc takes for a synchroniser: registers in a row whose controls are alike, or held
words that an enable lets in.

Vivado counts as a synchroniser's depth the flip-flops in a row that share their control signals
(UG906, report_cdc). A first register with a reset or an enable which the second has not is
therefore a depth of 1: CDC-1 or CDC-4, both critical. A word that is held while it is taken needs
no second register, if the enable of the one that takes it has been synchronised: CDC-15, a warning.

Registers are those with ASYNC_REG, after yosys's `opt_dff`, which finds enables and resets as
Vivado's synthesis does.
"""

from __future__ import annotations

from typing import Any

from boards.check.clocks import Nets
from boards.check.design import Design

CONTROLS = ("EN", "SRST", "ARST", "ALOAD", "CLR", "SET")
POLARITIES = ("EN_POLARITY", "SRST_POLARITY", "ARST_POLARITY")


def problems(design: Design) -> list[str]:
    """Of every crossing module: the registers that report_cdc would not take for a synchroniser."""
    names = sorted(name for name, module in design.modules.items() if design.is_allowed(name) and module["cells"])
    return [problem for name in names for problem in _module_problems(Nets(design, name))]


def _module_problems(nets: Nets) -> list[str]:
    registers = {name: cell for name, cell in nets.cells.items() if nets.is_settling(cell)}
    found = []
    for name, cell in registers.items():
        following = [
            other for other in registers.values() if set(other["connections"]["D"]) & set(cell["connections"]["Q"])
        ]
        before = [
            other for other in registers.values() if set(other["connections"]["Q"]) & set(cell["connections"]["D"])
        ]
        place = f"{nets.name}.{nets.place(cell['connections']['Q'], name)}"
        if any(_controls(other) != _controls(cell) for other in following):
            found.append(f"{place} and the register behind it differ in reset or enable: report_cdc counts one stage")
        if not following and not before and "EN" not in cell["connections"]:
            found.append(f"{place} has no second stage and no enable")
    return found


def _controls(cell: dict[str, Any]) -> list[Any]:
    connections = [cell["connections"].get(port) for port in CONTROLS]
    return [*connections, *(cell["parameters"].get(name) for name in POLARITIES)]
