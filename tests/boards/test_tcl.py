# SPDX-License-Identifier: Apache-2.0
"""The board flow's Tcl under stubs of Vivado's commands: it runs to its end, and each planted error
is caught."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from boards import flow
from boards.board import CHIPS, Board
from boards.check import tcl

CARDS = [(board, chip) for board in Board.names() for chip in CHIPS]
STEPS = ["ip", "licences", "synth", "constrain", "opt", "place", "phys_opt", "route", "reports", "gate", "bitstream"]


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Describes a chip as `make bitstreams` does, with one file of Verilog and empty files instead
    of corundum's."""

    def describe(board: str = "vcu1525", chip: str = "inner", verilog: str = "") -> Path:
        monkeypatch.setattr(flow.corundum, "FOLDER", tmp_path / "corundum")
        for name in (*flow.corundum.VERILOG, *flow.corundum.CONSTRAINTS):
            (tmp_path / "corundum" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "corundum" / name).write_text("")
        rtl = tmp_path / "rtl"
        rtl.mkdir(exist_ok=True)
        (rtl / "Top.sv").write_text(f"module Top({verilog}); endmodule\n")
        return flow.write_chip(Board.load(board), chip, tmp_path / "build", rtl)

    return describe


def run_flow(description: Path, tmp_path: Path, scenario: dict[str, str] | None = None, last: str = "") -> tcl.Run:
    return tcl.run(tcl.TCL / "flow.tcl", [str(description), *([last] if last else [])], tmp_path / "run", scenario)


@pytest.mark.parametrize(("board", "chip"), CARDS)
def test_flow_runs_to_the_bitstream(described, tmp_path: Path, board: str, chip: str):
    result = run_flow(described(board, chip), tmp_path)
    assert result.status == 0, result.errors
    assert re.findall(r"sallyport: \w+ \w+: (\w+): done", result.output) == STEPS
    assert tcl.property_problems(board, tcl.ip_properties(result)) == []
    links = [qsfp.name for qsfp in Board.load(board).link_qsfps(chip)]
    mac = [] if chip == "crypto" else ["cmac_gty_channel", "cmac_gty_full", "cmac_usplus"]
    assert sorted(tcl.ip_properties(result)) == sorted(
        [*(f"aurora_{name}" for name in links), *mac, "pcie4_uscale_plus"]
    )
    assert result.of("write_bitstream")
    waived = [dict(zip(call[::2], call[1::2], strict=True)) for call in result.of("create_waiver")]
    assert [waiver["-id"] for waiver in waived] == ["CDC-7", "CDC-7", "CDC-10", "CDC-10"]
    assert all(len(waiver["-description"].split()) >= 10 for waiver in waived)


def test_synthesis_is_told_that_it_is_one(described, tmp_path: Path):
    """Without SYNTHESIS a clock gate is a latch and an AND, which are for simulation, and an S-box
    is no ROM."""
    (design,) = [call for call in run_flow(described(), tmp_path).of("synth_design") if "InnerBoard" in call]
    assert design[design.index("-verilog_define") + 1] == "SYNTHESIS"


def test_second_run_goes_on_from_the_last_checkpoint(described, tmp_path: Path):
    description = described()
    assert run_flow(description, tmp_path).status == 0
    (description.parent / "route.dcp").unlink()
    result = run_flow(description, tmp_path)
    assert result.status == 0, result.errors
    assert result.of("create_ip") == []
    assert [call[-1].split("/")[-1] for call in result.of("open_checkpoint")] == ["phys_opt.dcp"]
    assert len(result.of("route_design")) == 1 and result.of("place_design") == []


def test_changed_input_makes_all_steps_run_again(described, tmp_path: Path):
    description = described()
    assert run_flow(description, tmp_path).status == 0
    result = run_flow(described(verilog="input wire clock"), tmp_path)
    assert result.of("create_ip") == [], "the IPs did not change"
    assert len(result.of("place_design")) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("place_design -directive ExtraTimingOpt", "place_design -directive Fastest"), "Fastest is not one of"),
        (("opt_design -directive ExploreWithRemap", "opt_design -remap"), "opt_design has no option -remap"),
        (("route_design -directive", "route_the_design -directive"), 'invalid command name "route_the_design"'),
        (("set_property is_enabled false", "set_property IS_ENABLD false"), "unknown property IS_ENABLD"),
        (("get_property SLACK", "get_property SLAK"), "unknown property SLAK"),
        (("  read_xdc -unmanaged $chip(ports)\n", "  read_xdc nowhere.xdc\n"), "nowhere.xdc"),
    ],
)
def test_planted_error_in_tcl_fails(described, tmp_path: Path, change: tuple[str, str], said: str):
    scripts = tmp_path / "tcl"
    scripts.mkdir()
    texts = {file.name: file.read_text() for file in tcl.TCL.glob("*.tcl")}
    assert any(change[0] in text for text in texts.values())
    for name, text in texts.items():
        (scripts / name).write_text(text.replace(*change))
    result = tcl.run(scripts / "flow.tcl", [str(described())], tmp_path / "run")
    assert result.status == 1
    assert said in result.errors


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"GT_LOCATION": "1"}, "cmac_usplus: GT_LOCATION is 1, the allow-list says 0"),
        ({"RX_MAX_PACKT_LEN": "9600"}, "cmac_usplus: RX_MAX_PACKT_LEN is 9600, the allow-list says nothing"),
        ({"INCLUDE_RS_FEC": None}, "cmac_usplus: INCLUDE_RS_FEC is not set, the allow-list says 1"),
    ],
)
def test_planted_ip_property_fails(described, tmp_path: Path, change: dict[str, str | None], said: str):
    recorded = tcl.ip_properties(run_flow(described(), tmp_path))
    for name, value in change.items():
        if value is None:
            del recorded["cmac_usplus"][1][name]
        else:
            recorded["cmac_usplus"][1][name] = value
    assert tcl.property_problems("vcu1525", recorded) == [said]


def test_property_that_vivado_did_not_take_stops_the_run(described, tmp_path: Path):
    result = run_flow(described(), tmp_path, {"get_property": "format X0Y9"})
    assert result.status == 1
    assert "is X0Y9, not" in result.errors


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
        f"foreach part {{log licences ip waivers steps gate}} {{ source [file join {{{tcl.TCL}}} $part.tcl] }}\n"
        f"source {{{description}}}\ntouch [checkpoint route]\nrun_step gate\nexit 0\n"
    )
    return tcl.run(script, [], tmp_path / "run", scenario)


def test_a_waiver_that_covers_nothing_stops_the_run(described, tmp_path: Path):
    """Names below corundum's modules have changed: better told before placement than by the gate
    behind it."""
    result = run_flow(described(), tmp_path, {"get_pins": "expr {[string match *rx_active* $rest] ? {} : {some_pin}}"})
    assert result.status == 1
    assert "the waiver of CDC-7 covers nothing" in result.errors
    assert "gt_userclk_rx_active_reg_reg/CLR; mend boards/tcl/waivers.tcl" in result.errors


WAIVED = re.findall(r"^  (CDC-\d+) (\w+) (\S+)$", (tcl.TCL / "waivers.tcl").read_text(), re.MULTILINE)


@pytest.mark.skipif(not (flow.corundum.FOLDER / ".git").exists(), reason="make corundum")
@pytest.mark.parametrize(("rule", "module", "pins"), WAIVED)
def test_what_is_waived_is_in_corundum(rule: str, module: str, pins: str):
    """The register of each waiver, and what makes report_cdc report it: an asynchronous reset, or
    logic before one."""
    source = (flow.corundum.FOLDER / "fpga/common/rtl" / f"{module}.v").read_text()
    first = pins.split("/")[0]
    if rule == "CDC-7":
        register = first.removesuffix("_reg")
        assert re.search(
            rf"posedge gt_[rt]x_reset_reg\) begin\s+if \(gt_[rt]x_reset_reg\) begin\s+{register} <= 1'b0;", source
        )
    else:
        assert re.search(rf"{first} \(\s+\.clk\(\w+\),\s+\.rst\([^)]*\|\|", source)


LEVEL = (
    "| cmac_usplus       | Simulation     | cmac_usplus@2020.05   | Included                | Included                |"
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            (
                "| Included                |\n|                   | Synth",
                "| Design_Linking          |\n|                   | Synth",
            ),
            "cmac_usplus has no more than Design_Linking for cmac_usplus@2020.05",
        ),
        (
            ("cmac_an_lt@2020.05    | Included      ", "cmac_an_lt@2020.05    | Design_Linking"),
            "cmac_usplus has no more than Design_Linking for cmac_an_lt@2020.05",
        ),
    ],
)
def test_a_licence_that_stops_at_the_bitstream_stops_before_synthesis(
    described, tmp_path: Path, change: tuple[str, str], said: str
):
    good = (tcl.REPORTS / "ip_licences.rpt").read_text()
    assert change[0] in good
    (tmp_path / "bad.rpt").write_text(good.replace(*change, 1))
    scenario = {"report_ip_status": f"read_text {{{tmp_path / 'bad.rpt'}}}"}
    result = run_flow(described(), tmp_path, scenario)
    assert result.status == 2
    assert said in result.errors and result.errors.count("\n") == 1
    assert [call for call in result.of("synth_design") if "InnerBoard" in call] == []
    # Up to routing such a licence is enough.
    result = run_flow(described(), tmp_path, scenario, "route")
    assert result.status == 0, result.errors
    assert said in result.output and result.of("write_bitstream") == []


def test_a_licence_to_evaluate_is_told(described, tmp_path: Path):
    good = (tcl.REPORTS / "ip_licences.rpt").read_text()
    row = "cmac_an_lt@2020.05    | {0:<23} | {0:<23} |"
    assert row.format("Included") in good
    (tmp_path / "bad.rpt").write_text(good.replace(row.format("Included"), row.format("Hardware_Evaluation")))
    result = run_flow(described(), tmp_path, {"report_ip_status": f"read_text {{{tmp_path / 'bad.rpt'}}}"})
    assert result.status == 0, result.errors
    assert "licences: cmac_usplus has no more than Hardware_Evaluation for cmac_an_lt@2020.05" in result.output


def test_the_trial_of_the_licence_has_a_register(described, tmp_path: Path):
    """opt_design has nothing to do on a wire, and stops."""
    description = described()
    run_flow(description, tmp_path)
    assert "always @(posedge" in (description.parent / "trial.v").read_text()


def test_optional_ports_may_come_in_another_order(described, tmp_path: Path):
    turned = """
        lassign $rest name object
        set value [dict get $::properties $object $name]
        expr {$name eq "CONFIG.ENABLE_OPTIONAL_PORTS" ? [lsort -decreasing $value] : $value}
    """
    assert run_flow(described(), tmp_path, {"get_property": turned}, "ip").status == 0
    (tmp_path / "build/ip/done").unlink()
    less = turned.replace("[lsort -decreasing $value]", "[lrange $value 1 end]")
    assert "ENABLE_OPTIONAL_PORTS is" in run_flow(described(), tmp_path, {"get_property": less}, "ip").errors


def test_refused_constraints_cost_no_synthesis(described, tmp_path: Path):
    description = described()
    result = run_flow(description, tmp_path, {"resize_pblock": "error {[Vivado 12-4739] No valid object(s) found}"})
    assert result.status == 1 and "12-4739" in result.errors
    assert (description.parent / "synth.dcp").exists() and not (description.parent / "constrain.dcp").exists()
    result = run_flow(description, tmp_path)
    assert result.status == 0, result.errors
    assert [call for call in result.of("synth_design") if "InnerBoard" in call] == []


def test_what_no_placement_mends_is_told_after_synthesis(described, tmp_path: Path):
    """The gate would say it a night later."""
    text = (tcl.REPORTS / "cdc.rpt").read_text().replace(CDC_ROW, "CDC-11  Critical      3  Fan-out from launch flop\n")
    (tmp_path / "bad.rpt").write_text(text)
    result = run_flow(described(), tmp_path, {"report_cdc": f"read_text {{{tmp_path / 'bad.rpt'}}}"}, "constrain")
    assert result.status == 0, result.errors
    said = "sallyport: vcu1525 inner: constrain: the gate will stop at cdc: CDC-11: 3: Fan-out from launch flop\n"
    assert said in result.output and result.output.count("will stop") == 1


@pytest.mark.parametrize("name", ["ports.xdc", "floorplan.xdc"])
def test_a_refused_constraint_ends_the_run(described, tmp_path: Path, name: str):
    """UG835: read_xdc without -unmanaged makes a critical warning of it, and the pin or the clock
    would be missed hours later."""
    description = described()
    with (description.parent / name).open("a") as file:
        file.write("set_false_path -from [get_ports {}]\n")
    result = run_flow(description, tmp_path)
    assert result.status == 1 and "set_false_path -from: no object" in result.errors
    assert result.of("place_design") == []


def test_reports_of_later_releases_are_read(described, tmp_path: Path):
    """They call violations checks."""
    text = (tcl.REPORTS / "drc.rpt").read_text()
    later = text.replace("Violations found", "Checks found").replace("Violations |", "Checks     |")
    assert later != text
    (tmp_path / "later.rpt").write_text(later)
    result = run_gate(described(), tmp_path, {"report_drc": f"read_text {{{tmp_path / 'later.rpt'}}}"})
    assert result.status == 0, result.errors


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ({"get_parts": "format {}"}, "does not know the part xcvu9p-fsgd2104-2L-e"),
        (
            {"synth_design": "error {[Common 17-345] A valid license was not found for feature 'Synthesis'}"},
            "install a licence",
        ),
        (
            {"opt_design": "error {[Common 17-345] A valid license was not found for feature 'Implementation'}"},
            "install a licence",
        ),
    ],
)
def test_missing_part_or_licence_stops_before_any_work(described, tmp_path: Path, scenario: dict[str, str], said: str):
    result = run_flow(described(), tmp_path, scenario)
    assert result.status == 2
    assert said in result.errors and result.errors.count("\n") == 1
    assert result.of("create_ip") == []


@pytest.mark.parametrize(
    ("scenario", "status", "said"),
    [
        ({}, 0, ""),
        ({"get_hw_targets": "format {}"}, 2, "no JTAG cable matches"),
        ({"get_hw_targets": "list cable/1 cable/2"}, 2, "choose one with TARGET="),
        ({"get_hw_devices": "list xcvu9p_0 xcvu9p_1"}, 2, "has 2 devices"),
        ({"get_property": "format xcku040"}, 2, "is it another card?"),
    ],
)
def test_program(tmp_path: Path, scenario: dict[str, str], status: int, said: str):
    bitstream = tmp_path / "InnerBoard.bit"
    bitstream.write_text("")
    result = tcl.run(tcl.TCL / "program.tcl", [str(bitstream), "xcvu9p xcu200"], tmp_path / "run", scenario)
    assert result.status == status, result.errors
    assert said in result.errors
    assert bool(result.of("program_hw_devices")) == (status == 0)
