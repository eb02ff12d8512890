# SPDX-License-Identifier: Apache-2.0
"""The gate on a routed design: reports in Vivado's layout, one bad figure or another layout at
a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from boards.check import tcl

WORST = 'expr {{[dict exists $options -slack_lesser_than] && [dict get $options -delay_type] eq "{}" ? "path" : ""}}'
VIOLATIONS = {
    "setup": ({"get_timing_paths": WORST.format("max")}, "setup slack 0.05 ns from a/b_reg/C to c/d_reg/D"),
    "hold": ({"get_timing_paths": WORST.format("min")}, "hold slack 0.05 ns from a/b_reg/C to c/d_reg/D"),
    "no bus skew": ({"report_bus_skew": "format {No bus skew constraints}"}, "there is no bus skew constraint"),
}
LUTAR = "| LUTAR-1   | Warning  |"
NO_LOADS = "| RTSTAT-10 | Warning  |"
ANOTHER_WAY = "do not add up to what it found: this Vivado writes it in another way"
# Of a report of a good design: its command, its file, what a bad one has in the place of what, and
# the gate's sentence.
NO_CLOCK = ("checking no_clock (0)", "checking no_clock (3)")
CDC_ROW = "CDC-3   Info         12  1-bit synchronized with ASYNC_REG property\n"
REPORTED = {
    "pulse width": ("report_timing_summary", "timing_summary", ("0.301", "-0.12"), "pulse width slack -0.12 ns"),
    "no path": (
        "report_timing_summary",
        "timing_summary",
        (
            "      0.052        0.000                      0              1218953",
            "         NA           NA                     NA                   NA",
        ),
        "the timing summary has no setup slack (NA): no path has a constraint",
    ),
    "no path within a clock": (
        "report_timing_summary",
        "timing_summary",
        ("        0.010        0.000", "          inf        0.000"),
        "the timing summary has no hold slack (inf): no path has a constraint",
    ),
    "worst slack": (
        "report_timing_summary",
        "timing_summary",
        ("0.010", "-0.010"),
        "hold slack -0.010 ns is the worst",
    ),
    "timing in another form": ("report_timing_summary", "timing_summary", ("WNS(ns)", "WNS"), "no line of figures"),
    "no clock": ("check_timing", "check_timing", NO_CLOCK, "check_timing: no_clock: 3"),
    "unconstrained": (
        "check_timing",
        "check_timing",
        ("internal_endpoints (0)", "internal_endpoints (7)"),
        "check_timing: unconstrained_internal_endpoints: 7",
    ),
    "check_timing in another form": ("check_timing", "check_timing", ("checking", "check"), "lists no checks"),
    "bus skew": (
        "report_bus_skew",
        "bus_skew",
        ("0.388      2.715", "3.500     -0.397"),
        "bus skew of constraint 2 is 3.500 ns, more than 3.103 ns",
    ),
    "bus skew of nothing": (
        "report_bus_skew",
        "bus_skew",
        ("0.388      2.715", "0.000        inf"),
        "bus skew of constraint 2 has no path",
    ),
    "bus skew in another form": (
        "report_bus_skew",
        "bus_skew",
        ("\n1. Bus Skew Report Summary\n--", "\nBus Skews\n--"),
        "there is no bus skew constraint",
    ),
    "bus skew without a slack": (
        "report_bus_skew",
        "bus_skew",
        ("0.388      2.715", "0.388"),
        "2 constraints and 1 slacks",
    ),
    "cdc": (
        "report_cdc",
        "cdc",
        (CDC_ROW, "CDC-1   Critical     14  1-bit unknown CDC circuitry\n" + CDC_ROW),
        "cdc: CDC-1: 14: 1-bit unknown CDC circuitry",
    ),
    "cdc in another form": ("report_cdc", "cdc", ("CDC-", "CDC"), "report_cdc lists no rule"),
    "methodology": (
        "report_methodology",
        "methodology",
        (LUTAR, "| TIMING-6  | Critical Warning |"),
        "methodology: Critical Warning: TIMING-6: 12: LUT drives",
    ),
    "methodology that does not add up": (
        "report_methodology",
        "methodology",
        ("Violations found: 15", "Violations found: 16"),
        f"the rows of report_methodology {ANOTHER_WAY}",
    ),
    "methodology in another form": ("report_methodology", "methodology", ("Violations found", "Found"), ANOTHER_WAY),
    "drc": ("report_drc", "drc", (NO_LOADS, "| UCIO-1    | Error    |"), "drc: Error: UCIO-1: 1: No routable loads"),
    "drc without its table": ("report_drc", "drc", (NO_LOADS, NO_LOADS.replace("|", ":")), ANOTHER_WAY),
    "a net in part": (
        "report_route_status",
        "route_status",
        ("fully routed nets............. :     1171086", "fully routed nets............. :     1171085"),
        "1171085 of 1171086 nets are routed, 0 with errors",
    ),
    "a short": ("report_route_status", "route_status", (":           0 :", ":           2 :"), "routed, 2 with errors"),
    "routes in another form": ("report_route_status", "route_status", ("# of", "Number of"), "has no count of nets"),
}


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_gate_stops_each_kind_of_violation(described, tmp_path: Path, kind: str):
    stopped(described(), tmp_path, *VIOLATIONS[kind])


@pytest.mark.parametrize("kind", REPORTED)
def test_gate_stops_what_a_report_says(described, tmp_path: Path, kind: str):
    command, name, change, said = REPORTED[kind]
    good = (tcl.REPORTS / f"{name}.rpt").read_text()
    bad = good.replace(*change)
    assert bad != good
    (tmp_path / "bad.rpt").write_text(bad)
    stopped(described(), tmp_path, {command: f"read_text {{{tmp_path / 'bad.rpt'}}}"}, said)


def stopped(description: Path, tmp_path: Path, scenario: dict[str, str], said: str) -> None:
    """The gate says one sentence, which has `said`, and no bitstream is written."""
    result = run_gate(description, tmp_path, scenario)
    assert result.status == 1, result.errors
    assert said in result.errors
    assert (description.parent / "gate.txt").read_text().count("\n") == result.errors.count("\n") == 1
    assert result.of("write_bitstream") == []


def test_gate_lets_a_good_design_pass(described, tmp_path: Path):
    result = run_gate(described(), tmp_path, {})
    assert result.status == 0, result.errors
    assert result.errors == ""


def run_gate(description: Path, tmp_path: Path, scenario: dict[str, str]) -> tcl.Run:
    """The gate alone, on a design that is routed."""
    script = tmp_path / "gate_alone.tcl"
    script.write_text(
        f"foreach part {{log licences ip synth waivers steps gate}} {{ source [file join {{{tcl.TCL}}} $part.tcl] }}\n"
        f"source {{{description}}}\ntouch [checkpoint route]\nrun_step gate\nexit 0\n"
    )
    return tcl.run(script, [], tmp_path / "run", scenario)


def test_reports_of_later_releases_are_read(described, tmp_path: Path):
    """They call violations checks."""
    text = (tcl.REPORTS / "drc.rpt").read_text()
    later = text.replace("Violations found", "Checks found").replace("Violations |", "Checks     |")
    assert later != text
    (tmp_path / "later.rpt").write_text(later)
    result = run_gate(described(), tmp_path, {"report_drc": f"read_text {{{tmp_path / 'later.rpt'}}}"})
    assert result.status == 0, result.errors
