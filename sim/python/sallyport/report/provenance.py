# SPDX-License-Identifier: Apache-2.0
"""Where a report comes from: what somebody needs who wants the same figures again."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from sallyport.report import cells
from sallyport.report.settings import origin
from sallyport.simulator import ROOT


def provenance(rows: list[dict], command: str | None = None) -> list[tuple[str, str]]:
    """Names and values, for the page; `command` is the typed command, if it differs from the
    arguments of this process."""
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {_memory()}{platform.system()} {platform.release()}"
    versions = [f"Sallyport {_version()}", f"Python {platform.python_version()}"]
    found = [("Figures", origin(rows)), ("Command", command or shlex.join(["./sallyport", *sys.argv[1:]]))]
    found += _testers(rows)
    found.append(("Seed", ", ".join(map(str, sorted({row["seed"] for row in rows})))))
    mixes = sorted({f"{row['frame_size']} {row['mix']}" for row in rows if row["mix"]})
    if mixes:
        found.append(("Mixes", "; ".join(mixes) + " (RFC 6985, sizes spread evenly)"))
    if any(row["simulated"] for row in rows):
        versions.append(f"Verilator {_package('verilator')}")
        cycles, seconds = sum(row["sim_cycles"] for row in rows), sum(row["wall_s"] for row in rows)
        found.append(("Simulation", f"{cycles:,} cycles in {seconds:,.0f} s of machine time, of the trials shown"))
    return [*found, ("Versions", ", ".join(versions)), ("Machine", machine), ("CPU", cpu()), ("Made", made)]


def _testers(rows: list[dict]) -> list[tuple[str, str]]:
    """The real testers of rows, how busy they were and what a cable showed of them."""
    real = [row["tester"] for row in rows if row.get("tester")]
    if not real:
        return []
    names = dict.fromkeys(
        f"{each['name']} {each['version']} at {each['server']}, driver {each['driver']}" for each in real
    )
    labs = dict.fromkeys(each["lab"] for each in real)
    busy = max(max(each["cpu_pct"], each["rx_cpu_pct"]) for each in real)
    tester = f"{'; '.join(names)}; at most {busy:.0f} % busy"
    return [("Tester", tester), ("Lab file", ", ".join(labs))]


def calibration(rows: list[dict]) -> str:
    """What a cable showed of the tester that measured rows; nothing of simulated rows, and of
    connections, which have no calibration."""
    sizes = {cells.sized(row): row["tester"]["cable"] for row in rows if "cable" in (row.get("tester") or {})}
    cables = [
        f"{size} {'at least ' if cable.get('bounded') else ''}{cable['fps']:,.0f} frames a second, "
        f"{cable['latency_ns']['avg'] / 1000:.1f} µs"
        for size, cable in sizes.items()
        if cable
    ]
    none = "none; ./sallyport calibrate measures the tester through a cable instead of the boxes"
    return ("; ".join(cables) or none) if sizes else ""


def cpu() -> str:
    """The processor's name, as well as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB, "
    except (OSError, ValueError):
        return ""


def _version() -> str:
    """VERSION, and the commit where there is a clone."""
    version = (ROOT / "VERSION").read_text().strip()
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return version
    return f"{version} (commit {commit.removesuffix('-dirty')}{', with changes' if commit.endswith('-dirty') else ''})"


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "of unknown version"
