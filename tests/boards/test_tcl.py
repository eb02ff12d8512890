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
from boards.top import CONSTRAINTS

CARDS = [(board, chip) for board in Board.names() for chip in CHIPS]
STEPS = ["ip", "licences", "synth", "constrain", "opt", "place", "phys_opt", "route", "reports", "gate", "bitstream"]


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
    assert [waiver["-id"] for waiver in waived] == [rule for rule, _ in tcl.waivers()]
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
    assert result.status == 0, result.errors
    assert result.of("create_ip") == [], "the IPs did not change"
    assert len(result.of("place_design")) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("place_design -directive ExtraTimingOpt", "place_design -directive Fastest"), "Fastest is not one of"),
        (("opt_design -directive ExploreWithRemap", "opt_design -remap"), "opt_design has no option -remap"),
        (("route_design -directive", "route_the_design -directive"), 'invalid command name "route_the_design"'),
        (("set_property is_enabled false", "set_property IS_ENABLD false"), "unknown property IS_ENABLD"),
        (("foreach step {ip", "lmap step {ip"), 'invalid command name "lmap"'),
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


def test_a_waiver_that_covers_nothing_stops_the_run(described, tmp_path: Path):
    """Names below corundum's modules have changed: better told before placement than by the gate
    behind it."""
    result = run_flow(described(), tmp_path, {"get_pins": "expr {[string match *rx_active* $rest] ? {} : {some_pin}}"})
    assert result.status == 1
    assert "the waiver of CDC-7 covers nothing" in result.errors
    assert "gt_userclk_rx_active_reg_reg/CLR; mend boards/tcl/waivers.tcl" in result.errors


@pytest.mark.skipif(not (flow.corundum.FOLDER / ".git").exists(), reason="make corundum")
@pytest.mark.parametrize("named", re.findall(r"CDC-13 \w+ (\S+) (\S+)", (tcl.TCL / "waivers.tcl").read_text()))
def test_a_hard_block_is_waived_where_corundum_excepts_its_pin(named: tuple[str, str]):
    """Vivado then has a path there, from another clock; no netlist of ours shows it."""
    folder = flow.corundum.FOLDER / "fpga/common/syn/vivado"
    excepted = "".join(
        line
        for file in folder.glob("cmac*.tcl")
        for line in file.open()
        if "set_false_path" in line or "driver_ffs" in line
    )
    (pin,) = [end.split("/")[-1] if "/RX" in end else end.split("/")[0] for end in named if end != "*"]
    assert pin in excepted


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


def test_a_crossing_whose_cells_are_gone_stops_the_run(described, tmp_path: Path):
    """get_cells -quiet finds none, and its constraint would except nothing."""
    description = described("xupp3r", "crypto")
    rtl = tmp_path / "rtl"
    (rtl / "constraints").mkdir()
    for name in ("GrayCrossing", "ValueCrossing"):
        (rtl / f"constraints/{name}.tcl").write_text((CONSTRAINTS / f"{name}.tcl").read_text())
    (rtl / "GrayCrossing_2.sv").write_text("module GrayCrossing_2(); endmodule\n")
    flow.write_chip(Board.load("xupp3r"), "crypto", description.parent, rtl)
    gone = {"get_cells": "expr {[string match *Crossing* $options] ? {} : {some_cell}}"}
    result = run_flow(description, tmp_path, gone)
    assert result.status == 1
    assert "no cell of GrayCrossing is left in the netlist" in result.errors, "there is no file of a ValueCrossing"
    assert run_flow(description, tmp_path).status == 0


def test_the_shares_of_the_pblocks_are_told_after_synthesis(described, tmp_path: Path):
    result = run_flow(described(), tmp_path, last="constrain")
    told = "CLB LUTs 29.00 %, CLB Registers 17.01 %, Block RAM Tile 51.99 %, URAM 57.81 %"
    assert f"constrain: pblock_core has {told}\n" in result.output
    assert f"constrain: pblock_pcie has {told}\n" in result.output


def test_what_no_placement_mends_is_told_after_synthesis(described, tmp_path: Path):
    """The gate would say it a night later."""
    text = (
        (tcl.REPORTS / "cdc.rpt")
        .read_text()
        .replace(
            "CDC-3   Info         12  1-bit synchronized with ASYNC_REG property\n",
            "CDC-11  Critical      3  Fan-out from launch flop\n",
        )
    )
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
