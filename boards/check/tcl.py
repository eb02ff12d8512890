# SPDX-License-Identifier: Apache-2.0
"""Runs our Tcl in tclsh under stubs of Vivado's commands, and compares its calls with lists made
apart from it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
TCL = HERE.parent / "tcl"
REPORTS = HERE / "reports"


@dataclass(frozen=True)
class Run:
    """The run of a script: exit status, the calls in order, its output."""

    status: int
    calls: list[list[str]]
    output: str
    errors: str

    @property
    def warnings(self) -> list[str]:
        """Vivado's critical warnings, which end no run."""
        return re.findall(r"^CRITICAL WARNING: (.*)$", self.output, re.MULTILINE)

    def of(self, command: str) -> list[list[str]]:
        return [call[1:] for call in self.calls if call[0] == command]


def tcl_list(values: Any) -> str:
    """A Python value as Tcl: lists and dicts become lists, everything else a word."""
    if isinstance(values, dict):
        return " ".join(f"{{{key}}} {{{tcl_list(value)}}}" for key, value in values.items())
    if isinstance(values, list):
        return " ".join(f"{{{tcl_list(value)}}}" for value in values)
    return str(values)


def run(script: Path, arguments: list[str], work: Path, scenario: dict[str, str] | None = None) -> Run:
    """Run one script; `scenario` maps commands to Tcl that answers instead of the stub."""
    allowed = yaml.safe_load((HERE / "vivado.yaml").read_text())
    work.mkdir(parents=True, exist_ok=True)
    record = work / "record.txt"
    main = work / "main.tcl"
    lines = [
        f"set commands {{{tcl_list(allowed['commands'])}}}",
        f"set values {{{tcl_list(allowed['values'])}}}",
        f"set needs {{{tcl_list(allowed['needs'])}}}",
        f"set some {{{tcl_list(allowed['some'])}}}",
        f"set settable {{{tcl_list(allowed['set_properties'])}}}",
        f"set readable {{{tcl_list(allowed['get_properties'])}}}",
        f"set xdc_commands {{{tcl_list(allowed['xdc'])}}}",
        f"set reports {{{REPORTS}}}",
        f"set scenario {{{tcl_list(scenario or {})}}}",
        f"set record [open {{{record}}} w]",
        f"source {{{HERE / 'stub.tcl'}}}",
        f"set argv {{{tcl_list(arguments)}}}",
        f"set argc {len(arguments)}",
        f"source {{{script}}}",
    ]
    main.write_text("\n".join(lines) + "\n")
    done = subprocess.run(["tclsh", str(main)], capture_output=True, text=True, check=False, timeout=60)
    calls = [line.split("\x1f") for line in record.read_text().splitlines()] if record.exists() else []
    return Run(done.returncode, calls, done.stdout, done.stderr)


def ip_properties(result: Run) -> dict[str, tuple[str, dict[str, str]]]:
    """Module to its IP and the properties that the script set on it."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for call in result.of("create_ip"):
        options = dict(zip(call[::2], call[1::2], strict=True))
        found[options["-module_name"]] = (options["-name"], {})
    for call in result.of("set_property"):
        if call[0] == "-dict":
            words = tcl_words(call[1])
            pairs = dict(zip(words[::2], words[1::2], strict=True))
            target = call[2]
        else:
            pairs = {call[0]: call[1]}
            target = call[2]
        if target in found:
            found[target][1].update(
                {name.removeprefix("CONFIG."): value for name, value in pairs.items() if name.startswith("CONFIG.")}
            )
    return found


def tcl_words(text: str) -> list[str]:
    """The words of a flat Tcl list."""
    return [braced or bare for braced, bare in re.findall(r"\{([^{}]*)\}|(\S+)", text)]


def waivers(text: str = "") -> list[tuple[str, str]]:
    """Rules of tcl/waivers.tcl with the pins where the waived paths end."""
    rows = re.findall(r"^  (CDC-\d+) \w+ \S+ (\S+)$", text or (TCL / "waivers.tcl").read_text(), re.MULTILINE)
    return [(rule, end) for rule, end in rows]


def property_problems(board: str, found: dict[str, tuple[str, dict[str, str]]]) -> list[str]:
    """Differences between recorded IP properties and the allow-list."""
    allowed = yaml.safe_load((HERE / "allowed" / "ip.yaml").read_text())
    problems = []
    for module, (ip, recorded) in found.items():
        kind = re.sub(r"_qsfp\d+$", "", module)
        if allowed["modules"].get(kind) != ip:
            problems.append(f"{module}: IP {ip} is not the one of the allow-list")
            continue
        wanted = {
            name: str(value)
            for name, value in {**allowed["common"][kind], **allowed["boards"][board].get(module, {})}.items()
        }
        values = dict(recorded)
        optional = values.pop("ENABLE_OPTIONAL_PORTS", "").split()
        ports = yaml.safe_load((HERE.parent / "ip" / f"{module}.yaml").read_text())["ports"] if optional else {}
        problems += [
            f"{module}: optional port {port} is none that corundum connects" for port in optional if port not in ports
        ]
        if kind.startswith("cmac_gty"):
            # the flow leaves one of the preset's channels, whichever is first
            values.pop("CHANNEL_ENABLE", "")
        for name in sorted(wanted.keys() | values.keys()):
            if wanted.get(name) != values.get(name):
                problems.append(
                    f"{module}: {name} is {values.get(name, 'not set')}, the allow-list says {wanted.get(name, 'nothing')}"
                )
    return problems
