# SPDX-License-Identifier: Apache-2.0
"""Elaboration, clock crossings and lint of board tops, on a small top made by hand; each planted
error is caught."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from boards import corundum, ip
from boards.board import CHIPS, Board
from boards.check import lint, top

CORE = """module InnerCore(
  input clock, input reset, input [255:0] io_in, input io_in_valid, output reg [255:0] io_out, output reg io_out_valid);
  always @(posedge clock) begin io_out <= io_in; io_out_valid <= io_in_valid & ~reset; end
endmodule
"""
SYNCHRONISER = """module BitSynchronizer(input clock, input in, output out);
  (* ASYNC_REG = "TRUE" *) reg stage0;
  (* ASYNC_REG = "TRUE" *) reg stage1;
  always @(posedge clock) begin stage0 <= in; stage1 <= stage0; end
  assign out = stage1;
endmodule
"""
FIFO = """module AsyncFifo(input writeClock, input readClock, input [255:0] in, output reg [255:0] out);
  reg [2:0] write = 0, read = 0;
  wire [2:0] settled;
  always @(posedge writeClock) write <= write + 1;
  always @(posedge readClock) if (settled != read) read <= read + 1;
  GrayCrossing crossing (.fromClock(writeClock), .toClock(readClock), .source(write ^ (write >> 1)), .out(settled));
  wire [255:0] found;
  Store store (.W0_clk(writeClock), .W0_addr(write), .W0_data(in), .R0_clk(readClock), .R0_addr(read), .R0_data(found));
  always @(posedge readClock) out <= found;
endmodule
"""
GRAY = """module GrayCrossing(input fromClock, input toClock, input [2:0] source, output [2:0] out);
  reg [2:0] from;
  (* ASYNC_REG = "TRUE" *) reg [2:0] stage0;
  (* ASYNC_REG = "TRUE" *) reg [2:0] stage1;
  always @(posedge fromClock) from <= source;
  always @(posedge toClock) begin stage0 <= from; stage1 <= stage0; end
  assign out = stage1;
endmodule
"""
STORE = """module Store(
  input W0_clk, input [2:0] W0_addr, input [255:0] W0_data, input R0_clk, input [2:0] R0_addr, output [255:0] R0_data);
  reg [255:0] memory [0:7];
  reg [255:0] found;
  always @(posedge W0_clk) memory[W0_addr] <= W0_data;
  always @(posedge R0_clk) found <= memory[R0_addr];
  assign R0_data = found;
endmodule
"""
BODY = """
  wire free, core_clock, init_clock, feedback;
  IBUFDS pins (.I(clk_300mhz_0_p), .IB(clk_300mhz_0_n), .O(free));
  wire core_raw, init_raw;
  MMCME4_BASE #(.CLKFBOUT_MULT_F(5.0), .CLKOUT0_DIVIDE_F(5.0), .CLKOUT1_DIVIDE(30)) mmcm (
    .CLKIN1(free), .CLKFBIN(feedback), .CLKFBOUT(feedback), .RST(1'b0), .PWRDWN(1'b0), .CLKOUT0(core_raw), .CLKOUT1(init_raw));
  BUFG core_buffer (.I(core_raw), .O(core_clock));
  BUFG init_buffer (.I(init_raw), .O(init_clock));

  wire user_clock, up, present;
  wire [255:0] received, crossed, sent;
  wire [0:3] lane_up;
  aurora_qsfp1 link (
    .gt_refclk1_p(qsfp1_refclk_p), .gt_refclk1_n(qsfp1_refclk_n), .rxp(qsfp1_rx_p), .rxn(qsfp1_rx_n), .txp(qsfp1_tx_p), .txn(qsfp1_tx_n),
    .init_clk(init_clock), .user_clk_out(user_clock), .m_axi_rx_tdata(received), .s_axi_tx_tdata(256'd0), .s_axi_tx_tvalid(1'b0),
    .lane_up(lane_up));
  AsyncFifo fifo (.writeClock(user_clock), .readClock(core_clock), .in(received), .out(crossed));
  BitSynchronizer up_synchroniser (.clock(core_clock), .in(lane_up[0]), .out(up));
  BitSynchronizer present_synchroniser (.clock(core_clock), .in(qsfp0_modprsl), .out(present));
  InnerCore core (.clock(core_clock), .reset(present), .io_in(crossed), .io_in_valid(up), .io_out(sent), .io_out_valid(led[0]));
  assign led[2:1] = sent[1:0];
  cmac_gty_wrapper mac (.xcvr_txp(qsfp0_tx_p), .xcvr_txn(qsfp0_tx_n), .xcvr_rxp(qsfp0_rx_p), .xcvr_rxn(qsfp0_rx_n), .rx_pfc_ack(8'd0));
  pcie4_uscale_plus pcie (.pci_exp_rxp(pcie_rx_p), .pci_exp_rxn(pcie_rx_n), .pci_exp_txp(pcie_tx_p), .pci_exp_txn(pcie_tx_n));
"""
MEMORY = "foreach cell [get_cells a] {\n  set_false_path -to [get_cells $cell/store/found_reg*]\n}\n"
CROSSING = "foreach cell [get_cells a] {\n  set_false_path -to [get_pins $cell/stage0_reg/D]\n}\n"
FILES = {
    "InnerCore.sv": CORE,
    "BitSynchronizer.sv": SYNCHRONISER,
    "AsyncFifo.sv": FIFO,
    "GrayCrossing.sv": GRAY,
    "Store.sv": STORE,
    "constraints/BitSynchronizer.tcl": CROSSING,
    "constraints/GrayCrossing.tcl": CROSSING,
    "constraints/AsyncFifo.tcl": MEMORY,
}


def tie_inputs(body: str, board: Board) -> str:
    """Zeros at the inputs of IPs that the hand-made top does not connect."""
    for module in ip.instances(board, "inner"):
        if start := re.search(rf"{module.module} \w+ \(", body):
            connected = body[start.end() : body.index(");", start.end())]
            ties = [
                f".{port.name}({port.width}'d0)"
                for port in module.ports
                if port.direction == "in" and f".{port.name}(" not in connected
            ]
            body = body[: start.end()] + "".join(f"{tie}, " for tie in ties) + body[start.end() :]
    return body


def make_top(folder: Path, changes: dict[str, tuple[str, str]]) -> Path:
    """A folder as the generator leaves it; `changes` replaces a piece of a file, or of all of them
    but the first."""
    board = Board.load("vcu1525")
    words = {"in": "input", "out": "output", "inout": "inout"}
    ports = [
        f"  {words[port.direction]} {f'[{len(port.pins) - 1}:0] ' if port.vector else ''}{port.name}"
        for port in board.ports("inner")
    ]
    declared = ",\n".join(ports)
    files = {"InnerBoard.sv": f"module InnerBoard(\n{declared});{tie_inputs(BODY, board)}endmodule\n", **FILES}
    for name, change in changes.items():
        assert change[0] in files[name], name
        files[name] = files[name].replace(*change)
    (folder / "constraints").mkdir(parents=True)
    for name, text in files.items():
        if text:
            (folder / name).write_text(text)
    return folder


def problems(tmp_path: Path, **changes: tuple[str, str]) -> list[str]:
    renamed = {
        name.replace("__", "/").replace("_sv", ".sv").replace("_tcl", ".tcl"): change
        for name, change in changes.items()
    }
    rtl = make_top(tmp_path / "rtl", renamed)
    return top.netlist_problems(Board.load("vcu1525"), "inner", rtl, tmp_path / "work")


def test_good_top_has_no_problem(tmp_path: Path):
    assert problems(tmp_path) == []


PLANTED = {
    "register of another clock": (
        {"InnerBoard_sv": (".io_in(crossed)", ".io_in(received)")},
        "link.user_clk_out reaches a register of mmcm.CLKOUT0: core.io_in",
    ),
    "pin without a synchroniser": (
        {"InnerBoard_sv": (".reset(present)", ".reset(qsfp0_modprsl)")},
        "pin qsfp0_modprsl reaches a register of mmcm.CLKOUT0 without a synchroniser",
    ),
    "logic before a synchroniser": (
        {"InnerBoard_sv": (".in(lane_up[0])", ".in(&lane_up)")},
        "link.user_clk_out comes through logic to up_synchroniser.stage0",
    ),
    "logic of pins before a synchroniser": (
        {"InnerBoard_sv": (".in(qsfp0_modprsl)", ".in(qsfp0_modprsl & qsfp0_intl)")},
        "pin qsfp0_intl comes through logic to present_synchroniser.stage0",
    ),
    "constraint that names no register": (
        {"constraints__GrayCrossing_tcl": ("stage0_reg", "first_reg")},
        "GrayCrossing.tcl names first, which no register of GrayCrossing is called",
    ),
    "two synchronisers of one register": (
        {
            "InnerBoard_sv": (
                "BitSynchronizer present_synchroniser",
                "wire again; BitSynchronizer other (.clock(core_clock), .in(lane_up[0]), .out(again));\n"
                "  assign led[2:1] = {2{again}}; BitSynchronizer present_synchroniser",
            )
        },
        "report_cdc: CDC-11: up_synchroniser.in to other/stage0_reg/D of mmcm.CLKOUT0",
    ),
    "stages that differ in their reset": (
        {"BitSynchronizer_sv": ("stage1 <= stage0;", "stage1 <= stage0; if (in) stage1 <= 0;")},
        "BitSynchronizer.stage0 and the register behind it differ in reset or enable",
    ),
    "stages that differ in their enable": (
        {"GrayCrossing_sv": ("stage1 <= stage0;", "if (out[0]) stage1 <= stage0;")},
        "GrayCrossing.stage0 and the register behind it differ in reset or enable",
    ),
    "one stage": (
        {"GrayCrossing_sv": ("stage1 <= stage0", "stage1 <= from")},
        "GrayCrossing.stage0 has no second stage and no enable",
    ),
    "enable of another clock": (
        {"GrayCrossing_sv": ("begin stage0 <= from; stage1", "begin if (source[0]) stage0 <= from; stage1")},
        "link.user_clk_out reaches a register of mmcm.CLKOUT0: fifo.crossing.source",
    ),
    "two outputs of one MMCM": (
        {
            "InnerBoard_sv": (
                "assign led[2:1]",
                "reg slow; always @(posedge init_clock) slow <= sent[0]; assign led[2:1]",
            )
        },
        "mmcm.CLKOUT0 reaches a register of mmcm.CLKOUT1: slow",
    ),
    "unmarked register in a crossing module": (
        {"GrayCrossing_sv": ('(* ASYNC_REG = "TRUE" *) reg [2:0] stage0', "reg [2:0] stage0")},
        "link.user_clk_out reaches a register of mmcm.CLKOUT0: fifo.crossing.stage0",
    ),
    "logic past the crossing": (
        {"AsyncFifo_sv": ("if (settled != read)", "if (settled != write)")},
        "link.user_clk_out reaches a register of mmcm.CLKOUT0: fifo.read",
    ),
    "memory of two clocks outside": (
        {"constraints__AsyncFifo_tcl": (MEMORY, "")},
        "link.user_clk_out reaches a memory of mmcm.CLKOUT0: fifo.store.found",
    ),
    "the same with a register at the address": (
        {
            "constraints__AsyncFifo_tcl": (MEMORY, ""),
            "Store_sv": (
                "found <= memory[R0_addr];\n  assign R0_data = found",
                "found <= R0_addr;\n  assign R0_data = memory[found[2:0]]",
            ),
        },
        "link.user_clk_out reaches a memory of mmcm.CLKOUT0: fifo.out",
    ),
    "constraint that excepts nothing": (
        {"constraints__GrayCrossing_tcl": ("set_false_path -to", "puts")},
        "GrayCrossing.tcl excepts no path",
    ),
    "port that the IP has not": ({"InnerBoard_sv": (".init_clk(", ".initclk(")}, "does not have a port named"),
    "module that is not there": ({"InnerBoard_sv": ("AsyncFifo fifo", "AsyncFifos fifo")}, "is not part of the design"),
    "port of the top": (
        {"InnerBoard_sv": ("[2:0] led", "[3:0] led")},
        "port led is ('output', 4), vcu1525.yaml says ('output', 3)",
    ),
    "module of the floorplan": (
        {"InnerBoard_sv": ("cmac_gty_wrapper mac (", "BitSynchronizer mac (); // (")},
        "the floorplan names cmac_gty_wrapper",
    ),
    "input of an IP left open": (
        {"InnerBoard_sv": (".init_clk(init_clock), ", "")},
        "link.init_clk of aurora_qsfp1 is left open",
    ),
    "latch": (
        {
            "InnerBoard_sv": (
                "assign led[2:1] = sent[1:0];",
                "reg hold; always @* if (up) hold = sent[0]; assign led[2:1] = {hold, hold};",
            )
        },
        "is a latch",
    ),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_error_is_caught(tmp_path: Path, kind: str):
    changes, said = PLANTED[kind]
    found = problems(tmp_path, **changes)
    assert any(said in problem for problem in found), found


def test_core_has_one_clock(tmp_path: Path):
    rtl = make_top(tmp_path / "rtl", {})
    assert top.core_problems(rtl, "InnerCore") == []
    (rtl / "InnerCore.sv").write_text(CORE.replace("posedge clock", "posedge io_in_valid"))
    assert top.core_problems(rtl, "InnerCore") == ["InnerCore.sv: a register has the clock io_in_valid"]


def test_every_port_of_an_ip_has_one_clock():
    for table in ip.tables():
        clocks = table.get("clocks")
        if clocks is None:
            continue
        for port in [each.name for name, text in table["ports"].items() for each in ip.expand(name, text)]:
            of = [
                clock for clock, patterns in clocks.items() if any(fnmatchcase(port, pattern) for pattern in patterns)
            ]
            assert port in clocks or len(of) == 1, f"{table['module']}.{port}: {of}"


def test_every_stub_elaborates(tmp_path: Path):
    for name in Board.names():
        for chip in CHIPS:
            for module in ip.instances(Board.load(name), chip):
                (tmp_path / f"{module.module}.v").write_text(module.stub())
    messages = [message for file in tmp_path.glob("*.v") for message in lint.verilate(file.stem, [file], [])]
    assert {message.rule for message in messages} <= {"UNDRIVEN", "UNUSEDSIGNAL", "UNUSEDPARAM", "ASCRANGE"}


@pytest.mark.skipif(not (corundum.FOLDER / ".git").exists(), reason="make corundum")
def test_corundum_elaborates_with_our_stubs(tmp_path: Path):
    assert top.corundum_problems(Board.load("xupp3r"), "outer", tmp_path) == []


def test_lint_of_a_top(tmp_path: Path):
    rtl = make_top(tmp_path / "rtl", {"AsyncFifo.sv": ("write = 0, read = 0", "write = 0, read = 4'd0")})
    used: set[int] = set()
    waivers = [
        {"rule": rule, "reason": "the top is a small one"} for rule in ("PINMISSING", "UNUSEDSIGNAL", "DECLFILENAME")
    ]
    found = top.lint_problems(Board.load("vcu1525"), "inner", rtl, tmp_path / "work", waivers, used)
    assert any(problem.startswith("WIDTHTRUNC AsyncFifo.sv:2:") for problem in found), found
    assert 0 in used


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {rule: WIDTHTRUNC}", "has no reason"),
        ("- {rule: WIDTHTRUNC, reason: because, files: x}", "unknown key files"),
    ],
)
def test_waiver_needs_a_reason(tmp_path: Path, text: str, said: str):
    file = tmp_path / "waivers.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=said):
        lint.load_waivers(file)
