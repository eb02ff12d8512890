# SPDX-License-Identifier: Apache-2.0
"""Generated constraints against ports and pins of each card; each planted error is caught."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from boards import top, xdc
from boards.board import CHIPS, Board, BoardError
from boards.check import tcl
from boards.check import xdc as check
from boards.top import CONSTRAINTS

CARDS = [(board, chip) for board in Board.names() for chip in CHIPS]


def ports_of(board: Board, chip: str) -> list[check.TopPort]:
    return [check.TopPort(name, port.direction) for port in board.ports(chip) for name, _ in port.bits()]


def lint(board_name: str, chip: str, work: Path, change: tuple[str, str] | None = None) -> list[str]:
    """Lint of a chip's constraints, with one piece replaced."""
    board = Board.load(board_name)
    text = xdc.port_constraints(board, chip)
    if change:
        assert change[0] in text
        text = text.replace(*change, 1)
    file = work / "ports.xdc"
    file.write_text(text)
    script = work / "read.tcl"
    script.write_text(f"read_xdc {{{file}}}\nexit 0\n")
    result = tcl.run(script, [], work / "run")
    assert result.status == 0, result.errors
    clocks = dict(xdc.clock_ports(board, chip).values())
    return check.lint(result, ports_of(board, chip), check.pin_table(board_name), clocks)


@pytest.mark.parametrize(("board", "chip"), CARDS)
def test_constraints_are_clean(tmp_path: Path, board: str, chip: str):
    assert lint(board, chip, tmp_path) == []


def test_what_may_hang_open_is_pulled_up():
    """Connectors of the XUP-P3R: a cut loop at tamper is an alarm, an absent noise chip a
    constant."""
    text = xdc.port_constraints(Board.load("xupp3r"), "crypto")
    for port in ("noise", "tamper"):
        (line,) = [line for line in text.splitlines() if line.endswith(f"[get_ports {{{port}}}]") and "PACKAGE" in line]
        assert "PULLUP true" in line


LED = "set_property -dict {PACKAGE_PIN BC21 IOSTANDARD LVCMOS12 SLEW SLOW DRIVE 8} [get_ports {led[0]}]\n"
PLANTED = {
    "port without a pin": ((LED, ""), "port led[0] has no pin"),
    "port with two pins": ((LED, LED + LED.replace("BC21", "BB20")), "port led[0] has 2 pins"),
    "pin used twice": (("PACKAGE_PIN BB21", "PACKAGE_PIN BC21"), "pin BC21 is used 2 times"),
    "pin that is not there": (("PACKAGE_PIN BC21", "PACKAGE_PIN BC99"), "pin BC99 is not in the card's table"),
    "port that is not there": (("{led[0]}]", "{lamp}]"), "a pin is given to lamp, which is no port of the top"),
    "pair torn apart": (
        ("PACKAGE_PIN K10} [get_ports {qsfp0_refclk_n}]", "PACKAGE_PIN M10} [get_ports {qsfp0_refclk_n}]"),
        "qsfp0_refclk_n is at MGTREFCLK0N_231, the pair of qsfp0_refclk_p needs MGTREFCLK1N_231",
    ),
    "pair the wrong way round": (("PACKAGE_PIN AY37", "PACKAGE_PIN AY38"), "pin AY38 is used 2 times"),
    "lane of another quad": (
        ("PACKAGE_PIN N3} [get_ports {qsfp0_rx_n[0]}]", "PACKAGE_PIN U3} [get_ports {qsfp0_rx_n[0]}]"),
        "qsfp0_rx_n[0] is at MGTYRXN0_230, the pair of qsfp0_rx_p[0] needs MGTYRXN0_231",
    ),
    "receiver at a transmitter's pin": (
        ("PACKAGE_PIN N4} [get_ports {qsfp0_rx_p[0]}]", "PACKAGE_PIN N9} [get_ports {qsfp0_rx_p[0]}]"),
        "qsfp0_rx_p[0] is an input at MGTYTXP0_231",
    ),
    "wrong I/O standard": (
        ("PACKAGE_PIN BC21 IOSTANDARD LVCMOS12", "PACKAGE_PIN BC21 IOSTANDARD LVCMOS18"),
        "led[0] has I/O standard LVCMOS18",
    ),
    "I/O standard of a transceiver": (
        ("PACKAGE_PIN N4}", "PACKAGE_PIN N4 IOSTANDARD LVDS}"),
        "qsfp0_rx_p[0] is at a transceiver's pin",
    ),
    "no clock": (
        ("create_clock -name qsfp1_refclk -period 6.206 [get_ports {qsfp1_refclk_p}]\n", ""),
        "qsfp1_refclk_p is a reference clock and has no",
    ),
    "wrong clock": (
        ("-name qsfp1_refclk -period 6.206", "-name qsfp1_refclk -period 6.400"),
        "has a period of 6.4 ns, the board's is 6.206 ns",
    ),
    "clock at another port": (("[get_ports {qsfp1_refclk_p}]\n", "[get_ports {tamper}]\n"), "has no pin"),
    "no exception": (("set_false_path -to [get_ports {led[*]}]\n", ""), "led[0] has no set_false_path -to"),
    "command of Tcl": ((LED, "foreach one {1} { }\n" + LED), "foreach is not a command of an XDC file"),
    "exception of nothing": (
        ("set_false_path -to [get_ports {led[*]}]\n", "set_false_path -to [get_ports {}]\n"),
        "set_false_path -to: no object",
    ),
    "no delay": (("set_input_delay 0 [get_ports {pcie_reset_n}]\n", ""), "pcie_reset_n has no set_input_delay"),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_error_is_caught(tmp_path: Path, kind: str):
    change, said = PLANTED[kind]
    problems = lint("vcu1525", "inner", tmp_path, change)
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize(("board", "chip"), CARDS)
def test_floorplan_runs(tmp_path: Path, board: str, chip: str):
    file = tmp_path / "floorplan.xdc"
    file.write_text(xdc.floorplan(Board.load(board), chip))
    script = tmp_path / "read.tcl"
    script.write_text(f"read_xdc -unmanaged {{{file}}}\nexit 0\n")
    result = tcl.run(script, [], tmp_path / "run")
    assert result.status == 0, result.errors
    blocks = [call[0] for call in result.of("create_pblock")]
    assert blocks == [call[0] for call in result.of("resize_pblock")]
    filled = [call[0] for call in result.of("add_cells_to_pblock")]
    assert len(blocks) == len(set(blocks)) and set(filled) == set(blocks)


def placed(tmp_path: Path, board: Board, chip: str, scenario: dict[str, str] | None = None) -> dict[str, str]:
    """SLRs of each pblock of a floorplan."""
    result = run_constraint("floorplan", xdc.floorplan(board, chip), tmp_path, scenario or {})
    assert result.errors == ""
    return {call[0].removeprefix("pblock_"): call[2] for call in result.of("resize_pblock")}


def test_each_lane_has_its_slr(tmp_path: Path):
    """The stages of a way go to either end, but those at the farm stay there."""
    board = Board.load("vcu1525")
    area = placed(tmp_path, board, "crypto")
    for path, slrs in board.lane_slrs("crypto").items():
        assert [area[f"lane_{path}_{lane}"] for lane in range(4)] == [f"SLR{slr}" for slr in slrs]
        assert area[f"farm_{path}"] == area[f"near_{path}"] == "SLR1"
    assert area["core"] == "SLR1 SLR2" and area["core_reset"] == "SLR1"
    assert [area[f"way_encrypt_{lane}"] for lane in range(4)] == ["SLR0 SLR1", "SLR1", "SLR1 SLR2", "SLR1 SLR2"]
    assert area["core_ports"] == "SLR1 SLR2"
    # In Vivado the last pblock that takes a cell has it.
    assert list(area).index("near_decrypt") > list(area).index("way_decrypt_3")


@pytest.mark.parametrize("chip", CHIPS)
def test_no_pblock_is_soft(tmp_path: Path, chip: str):
    """Vivado takes cells out of soft ones behind the first placement."""
    result = run_constraint("floorplan", xdc.floorplan(Board.load("xupp3r"), chip), tmp_path, {})
    hard = [call[2] for call in result.of("set_property") if call[:2] == ["IS_SOFT", "FALSE"]]
    assert sorted(hard) == sorted(call[0] for call in result.of("create_pblock"))


def test_stages_are_not_merged(tmp_path: Path):
    """Those that carry the same to several lanes may be in several SLRs."""
    result = run_constraint("floorplan", xdc.floorplan(Board.load("xupp3r"), "crypto"), tmp_path, {})
    assert [call for call in result.of("set_property") if "DONT_TOUCH TRUE" in call[1]]


def test_parts_and_banks_have_their_slrs(tmp_path: Path):
    area = placed(tmp_path, Board.load("xupp3r"), "inner")
    assert (area["core"], area["paths_encrypt"], area["paths_decrypt"]) == ("SLR1", "SLR0 SLR1", "SLR1 SLR2")
    banks = [area[f"paths_decrypt_selectors_memory_banks_{bank}"] for bank in range(4)]
    assert banks == ["SLR0", "SLR0", "SLR0", "SLR1"]


@pytest.mark.parametrize(
    ("chip", "pattern", "names"),
    [
        ("crypto", "*lane_[23]_far*", [f"lane_{path}_{lane}" for path in ("encrypt", "decrypt") for lane in (2, 3)]),
        ("crypto", "*banks_[123]*", [f"engine_decrypt_fetch_keys_table_0_memory_banks_{bank}" for bank in (1, 2, 3)]),
    ],
)
def test_a_variant_with_fewer_cells_is_placed(tmp_path: Path, chip: str, pattern: str, names: list[str]):
    few = {"get_cells": f"expr {{[string match {{{pattern}}} $options] ? {{}} : {{cell}}}}"}
    board = Board.load("vcu1525")
    assert placed(tmp_path, board, chip).keys() - placed(tmp_path, board, chip, few).keys() == set(names)


def floorplan(tmp_path: Path, scenario: dict[str, str]) -> tcl.Run:
    return run_constraint("floorplan", xdc.floorplan(Board.load("vcu1525"), "inner"), tmp_path, scenario)


def test_clocks_of_pcie_are_asynchronous_to_its_reference(tmp_path: Path):
    """AMD's example constraints for the core; without them methodology reports TIMING-6 and
    TIMING-7."""
    result = floorplan(tmp_path, {"get_clocks": "format %s $rest$options"})
    pins = [word for call in result.of("get_pins") for word in call if "pcie/" in word]
    assert [pin.split("/")[-2:] for pin in pins] == [
        ["*GTYE4_CHANNEL_PRIM_INST", "TXOUTCLK"],
        *(["bufg_gt_" + clock, "O"] for clock in ("pclk", "intclk", "userclk")),
    ]
    assert [call[:3] for call in result.of("set_clock_groups")] == [["-asynchronous", "-group", "pcie_refclk"]] * 4


def test_what_the_floorplan_does_not_find_it_leaves_alone(tmp_path: Path):
    """set_property and set_clock_groups refuse an empty list, and so a stage that was optimised
    away would stop the run."""
    nothing = {"get_clocks": "expr {[dict exists $options -of_objects] ? {} : {pcie_refclk}}"}
    assert floorplan(tmp_path, nothing).of("set_clock_groups") == []
    parent = {"get_cells": "expr {[string match {*PARENT ==*} $options] ? {} : {cell}}"}
    result = floorplan(tmp_path, parent)
    assert result.errors == ""
    assert not any("USER_SLL_REG" in call for call in result.of("set_property"))


@pytest.mark.parametrize(
    ("chip", "cells", "kind"),
    [
        ("crypto", "*[0-9]_far*", "lanes"),
        ("crypto", "*stage_5*", "near ends of ways"),
        ("crypto", "*banks_*", "table engine/decrypt/fetch/keys/table_0/memory"),
        ("inner", "*hairpin*", "part paths/encrypt/hairpin"),
        ("outer", "*core_reset_stage*", "the core's reset"),
    ],
)
def test_a_floorplan_that_does_not_find_a_kind_stops_the_run(tmp_path: Path, chip: str, cells: str, kind: str):
    none = {"get_cells": f"expr {{[string match {{{cells}}} $options] ? {{}} : {{cell}}}}"}
    result = run_constraint("floorplan", xdc.floorplan(Board.load("vcu1525"), chip), tmp_path, none)
    assert f"no cell of {kind} is left in the netlist under its name" in result.errors


def test_xdc_takes_constraints_alone(tmp_path: Path):
    file = tmp_path / "ports.xdc"
    file.write_text("synth_design -top Top\n")
    script = tmp_path / "read.tcl"
    script.write_text(f"read_xdc {{{file}}}\nexit 0\n")
    assert tcl.run(script, [], tmp_path / "run").warnings == ["synth_design is not a command of an XDC file"]


@pytest.mark.parametrize(("board", "chip"), CARDS)
def test_the_mmcm_stays_beside_its_pin(tmp_path: Path, board: str, chip: str):
    """UG949: CLOCK_DEDICATED_ROUTE is for the net of a clock buffer, and none lies between the
    pin and the MMCM, which then could not be reached from another clock region."""
    buffers = re.findall(r"IBUF(?:DS)? \w+ \(.*\.O\((\w+)\)\);", top.text(Board.load(board), chip))
    assert re.search(rf"\.CLKIN1\(({'|'.join(buffers)})\)", top.text(Board.load(board), chip))
    planted = xdc.floorplan(Board.load(board), chip) + "set_property CLOCK_DEDICATED_ROUTE BACKBONE [get_nets a]\n"
    assert "unknown property CLOCK_DEDICATED_ROUTE" in run_constraint("floorplan", planted, tmp_path).errors


CROSSING = "set_max_delay -datapath_only -from [get_cells a] -to [get_cells b] 3.0\n"


@pytest.mark.parametrize(
    ("files", "modules", "said"),
    [
        ({"GrayCrossing.tcl": CROSSING}, {"GrayCrossing", "GrayCrossing_3"}, None),
        (
            {"GrayCrossing.tcl": CROSSING},
            {"GrayCrossing", "Handshake"},
            "Handshake crosses clocks and has no constraint",
        ),
        (
            {"GrayCrossing.tcl": "set_bus_skew -from a -to b 3.0\n"},
            {"GrayCrossing"},
            "GrayCrossing.tcl excepts no path",
        ),
        ({"GrayCrossing.tcl": "set_max_dely 3.0\n"}, {"GrayCrossing"}, "GrayCrossing.tcl does not run"),
        (
            {"GrayCrossing.tcl": CROSSING + "set_clock_groups -asynchronous -group [get_clocks a]\n"},
            {"GrayCrossing"},
            "GrayCrossing.tcl has set_clock_groups",
        ),
    ],
)
def test_each_crossing_has_its_exception(tmp_path: Path, files: dict[str, str], modules: set[str], said: str | None):
    folder = tmp_path / "constraints"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    problems = check.crossing_problems(folder, modules, tmp_path / "run")
    assert problems == [] if said is None else any(said in problem for problem in problems)


def run_constraint(name: str, text: str, work: Path, scenario: dict[str, str] | None = None) -> tcl.Run:
    file = work / f"{name}.tcl"
    file.write_text(text)
    script = work / "read.tcl"
    script.write_text(f"read_xdc -unmanaged {{{file}}}\nexit 0\n")
    return tcl.run(script, [], work / "run", scenario)


OURS = {path.stem: path.read_text() for path in sorted(CONSTRAINTS.glob("*.tcl"))}


@pytest.mark.parametrize("name", OURS)
def test_constraint_of_a_crossing_runs(tmp_path: Path, name: str):
    assert run_constraint(name, OURS[name], tmp_path).errors == ""


@pytest.mark.parametrize("name", [name for name, text in OURS.items() if "-datapath_only" in text])
def test_a_datapath_has_a_beginning(tmp_path: Path, name: str):
    """UG903: `-datapath_only` needs `-from`; Vivado reports Constraints 18-540 and applies no
    exception."""
    planted = re.sub(r"-datapath_only -from (\$\w+|\[.*?\])", "-datapath_only", OURS[name])
    assert planted != OURS[name]
    assert "set_max_delay -datapath_only needs -from" in run_constraint(name, planted, tmp_path).errors


def test_a_bus_has_two_ends(tmp_path: Path):
    planted = re.sub(r"set_bus_skew -from \S+", "set_bus_skew", OURS["GrayCrossing"])
    assert "set_bus_skew needs -from" in run_constraint("GrayCrossing", planted, tmp_path).errors


def test_a_synchroniser_of_a_constant_is_left_alone(tmp_path: Path):
    """Its input has no beginning, and Vivado refuses an empty `-from`."""
    result = run_constraint("BitSynchronizer", OURS["BitSynchronizer"], tmp_path, {"all_fanin": "format {}"})
    assert result.errors == "" and result.of("set_max_delay") == []
    planted = re.sub(r"if \{.*?\} \{(.*?)\}\n", r"\1\n", OURS["BitSynchronizer"])
    assert "no object" in run_constraint("BitSynchronizer", planted, tmp_path, {"all_fanin": "format {}"}).errors


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("qsfp1: {quad", "qsfp7: {quad"), "uses qsfp1, which is not among qsfps"),
        (("dir: out", "dir: outward"), "dir is in, out or inout"),
        (("title:", "colour:"), "title missing"),
        (("pins: BE16", "pin: BE16"), "unknown key pin"),
        (("inner: [qsfp0], outer", "inner: [], outer"), "has not as many QSFPs as the one back"),
        (("farm_slr: 1", "farm_slr: 0"), "encrypt lane 2 in SLR2 is two borders away from SLR0"),
        (("encrypt: [0, 1", "encrypt: [0, 3"), r"lane_slrs of encrypt has SLRs \[0, 3, .*: give one or more of 0 to 2"),
        (
            ("core_slrs: [1]", "core_slrs: [0, 1, 2]"),
            r"vcu1525.yaml: chip inner: core_slrs has SLRs \[0, 1, 2\], which span two .* parts, tables or lane_slrs",
        ),
        (
            ("core_slrs: [1, 2]", "core_slrs: [0, 2]"),
            r"chip crypto: core_slrs has SLRs \[0, 2\], which span two borders",
        ),
        (("core_slrs: [1]", "core_slrs: []"), r"core_slrs has SLRs \[\]: give one or more"),
        (
            ("paths/decrypt: [0, 1]", "paths/decrypt: [0, 2]"),
            r"part paths/decrypt has SLRs \[0, 2\], which span two borders",
        ),
        (
            ("      paths/decrypt/selectors: [1]\n", ""),
            "bank 0 of table paths/decrypt/selectors/memory in SLR2 is two borders away from SLR0",
        ),
        (("    farm_slr: 1\n", ""), "give both farm_slr and lane_slrs, or none"),
        (("    farm_slr: 1\n", "    farm_slr:\n"), "farm_slr is None: give one of 0 to 2"),
        (
            ("    parts:\n      paths", "    part:\n      paths"),
            "chip inner: unknown key part: choose of mac, links, core_slrs",
        ),
        (("    core_slrs: [1]\n", ""), "chip inner: core_slrs missing"),
        (("core_slrs: [1]", "core_slrs: 1"), r"core_slrs is 1: give a list of SLRs, such as \[1, 2\]"),
        (("paths/decrypt: [0, 1]", "paths/decrypt: 1"), "paths/decrypt in parts is 1: give a list of SLRs"),
        (("      paths/decrypt: [0, 1]", "      paths_encrypt: [0, 1]"), "two pblocks would be called paths_encrypt"),
        (("      paths/decrypt: [0, 1]", "      mac: [0, 1]"), "two pblocks would be called mac"),
        (("{encrypt: [0", "{outbound: [0"), "lane_slrs has outbound, which is none of encrypt, decrypt"),
    ],
)
def test_bad_board_file_is_one_sentence(tmp_path: Path, change: tuple[str, str], said: str):
    text = (Path(xdc.__file__).with_name("data") / "vcu1525.yaml").read_text()
    assert change[0] in text
    (tmp_path / "vcu1525.yaml").write_text(text.replace(*change, 1))
    with pytest.raises(BoardError, match=said) as wrong:
        Board.load("vcu1525", tmp_path)
    assert "\n" not in str(wrong.value)
