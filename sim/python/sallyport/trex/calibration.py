# SPDX-License-Identifier: Apache-2.0
"""TRex's own limits, measured through a cable between its ports, kept beside the lab file and
compared with every result.

The file `<lab>.calibration.json` holds the settings of the measurement. For each frame size or mix
it has the rate without loss and the latency at a tenth of it. `bounded` rates are those of the
highest load that was tried: TRex carries as much at least.
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


def name(mix: dict[int, int]) -> str:
    """What the file calls frames of one size, or a mix: "64", "64:7,594:4,1518:1"."""
    return str(next(iter(mix))) if len(mix) == 1 else ",".join(f"{size}:{mix[size]}" for size in sorted(mix))


def load(lab: Lab, about: dict) -> dict[str, dict]:
    """The calibration of this lab by [name], {} without one; [InputError] if it belongs to another
    tester or cable."""
    file = place(lab)
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_text())
        sizes = {
            str(size): {
                "fps": float(row["fps"]),
                "bounded": bool(row.get("bounded", False)),
                "latency_ns": dict(row["latency_ns"]),
            }
            for size, row in found["sizes"].items()
        }
        known = {field: found[field] for field in IDENTITY}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{file}: is no calibration of this version; make it anew with ./sallyport calibrate"
        ) from None
    for field in IDENTITY:
        if found.get("schema") != VERSION or known[field] != about[field]:
            raise InputError(
                f"{file}: is of another cable or tester ({field} {known[field]}, here {about[field]}); "
                "remove it, or make it anew with ./sallyport calibrate"
            )
    return sizes


def text(about: dict, start_ms: list[float | None], sizes: dict[str, dict]) -> str:
    """The file of a calibration."""
    named = {field: about[field] for field in IDENTITY}
    return json.dumps({"schema": VERSION, **named, "start_ms": start_ms, "sizes": sizes}, indent=2) + "\n"
