# SPDX-License-Identifier: Apache-2.0
"""TRex's own limits, measured through a cable between its ports, kept beside the lab file and
compared with every result.

The file `<lab>.calibration.json` holds the settings of the measurement. For each frame size it has
the rate without loss and the latency at a tenth of it.
"""

from __future__ import annotations

import json
from pathlib import Path

from sallyport.errors import InputError
from sallyport.trex.lab import Lab

VERSION = 1
IDENTITY = ("server", "version", "driver", "ports")
LATENCY_PART = 10  # of the rate, at which latency is measured


def place(lab: Lab) -> Path:
    """Where the calibration of a lab is."""
    return lab.file.with_suffix(".calibration.json")


def load(lab: Lab, about: dict) -> dict:
    """The calibration of this lab, {} without one; [InputError] if it belongs to another tester
    or cable."""
    file = place(lab)
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_text())
        sizes = {int(size): (float(row["fps"]), dict(row["latency_ns"])) for size, row in found["sizes"].items()}
        known = {name: found[name] for name in IDENTITY}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{file}: is no calibration of this version; make it anew with ./sallyport calibrate"
        ) from None
    for name in IDENTITY:
        if found.get("schema") != VERSION or known[name] != about[name]:
            raise InputError(
                f"{file}: is of another cable or tester ({name} {known[name]}, here {about[name]}); "
                "remove it, or make it anew with ./sallyport calibrate"
            )
    return {size: {"fps": fps, "latency_ns": latency} for size, (fps, latency) in sizes.items()}


def text(about: dict, start_ms: list[float | None], sizes: dict[int, dict]) -> str:
    """The file of a calibration."""
    named = {name: about[name] for name in IDENTITY}
    return json.dumps({"schema": VERSION, **named, "start_ms": start_ms, "sizes": sizes}, indent=2) + "\n"
