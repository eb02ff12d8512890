# SPDX-License-Identifier: Apache-2.0
"""Verilator's lint of generated Verilog: every warning is fixed, or waived in waivers.yaml with
a reason."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

WAIVERS = Path(__file__).with_name("waivers.yaml")
MESSAGE = re.compile(
    r"^%(?P<kind>Warning|Error)(?:-(?P<rule>\w+))?: (?:(?P<file>[^:\s]+):(?P<line>\d+):\d+: )?(?P<text>.*)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Message:
    """One of Verilator's warnings or errors."""

    rule: str
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.rule} {self.file}:{self.line}: {self.text}"


def verilate(top: str, files: list[Path], library: list[Path]) -> list[Message]:
    """All messages of `verilator --lint-only -Wall`; `library` are folders with one module
    a file."""
    command = ["verilator", "--lint-only", "-Wall", "-Wno-fatal", "--top-module", top, "+libext+.sv+.v"]
    command += [word for folder in library for word in ("-y", str(folder))]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    found = [
        Message(
            match["rule"] or match["kind"].upper(),
            Path(match["file"] or "").name,
            int(match["line"] or 0),
            match["text"],
        )
        for match in MESSAGE.finditer(done.stderr)
    ]
    # The closing lines only count the others.
    return [
        message
        for message in found
        if message.file or (message.rule == "ERROR" and "Exiting due to" not in message.text)
    ]


def load_waivers(path: Path = WAIVERS) -> list[dict[str, Any]]:
    waivers = yaml.safe_load(path.read_text()) or []
    for waiver in waivers:
        if not str(waiver.get("reason", "")).strip():
            raise ValueError(f"{path.name}: the waiver of {waiver.get('rule')} has no reason")
        if unknown := waiver.keys() - {"rule", "file", "text", "tops", "reason"}:
            raise ValueError(f"{path.name}: unknown key {', '.join(unknown)}")
    return waivers


def _waives(waiver: dict[str, Any], message: Message) -> bool:
    return (
        waiver["rule"] == message.rule
        and re.fullmatch(waiver.get("file", ".*"), message.file) is not None
        and re.search(waiver.get("text", ""), message.text) is not None
    )


def problems(
    messages: list[Message], waivers: list[dict[str, Any]], used: Callable[[int], None] = lambda _: None
) -> list[str]:
    """Messages that no waiver covers; `used` hears the index of each waiver that covers one."""
    found = []
    for message in messages:
        covering = next((index for index, waiver in enumerate(waivers) if _waives(waiver, message)), None)
        if covering is None:
            found.append(str(message))
        else:
            used(covering)
    return found
