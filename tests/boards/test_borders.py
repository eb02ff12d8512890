# SPDX-License-Identifier: Apache-2.0
"""Borders between SLRs, on a small core: each planted way over two of them is caught."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from boards import places
from boards.board import Board
from boards.check import borders

CORE = """module InnerCore(input clock, input reset, input [3:0] in, output [3:0] out);
  wire [3:0] near_out, looked_up, far_out;
  reg [3:0] between;
  always @(posedge clock) between <= reset ? 4'd0 : near_out ^ far_out;
  Near near (
    .clock(clock), .reset(reset), .in(in), .far(far_out), .out(near_out));
  Table table_0 (
    .clock(clock), .in(near_out), .out(looked_up));
  Far far (
    .clock(clock), .reset(reset), .in(between), .out(far_out));
  assign out = looked_up;
endmodule
"""
NEAR = """module Near(input clock, input reset, input [3:0] in, input [3:0] far, output [3:0] out);
  reg [3:0] kept;
  always @(posedge clock) kept <= reset ? 4'd0 : in;
  assign out = kept;
endmodule
"""
FAR = """module Far(input clock, input reset, input [3:0] in, output [3:0] out);
  reg [3:0] kept;
  always @(posedge clock) kept <= reset ? 4'd0 : in;
  assign out = kept;
endmodule
"""
TABLE = """module Table(input clock, input [3:0] in, output [3:0] out);
  reg [3:0] index;
  always @(posedge clock) index <= in;
  RowMemory memory (
    .clock(clock), .read(index), .row(out));
endmodule
"""
ROWS = """module RowMemory(input clock, input [3:0] read, output reg [3:0] row);
  wire [3:0] row_0, row_1;
  MemoryBank banks_0 (
    .clock(clock), .valid(read[3]), .write(read[2]), .read(read), .row(row_0));
  MemoryBank banks_1 (
    .clock(clock), .valid(~read[3]), .write(read[2]), .read(read), .row(row_1));
  always @(posedge clock) row <= row_0 | row_1;
endmodule
"""
BANK = """module MemoryBank(input clock, input valid, input write, input [3:0] read, output [3:0] row);
  reg [3:0] memory [0:15];
  reg [3:0] front, behind;
  reg writes;
  always @(posedge clock) begin
    front <= read;
    writes <= valid & write;
    if (writes) memory[front] <= 4'd1;
    behind <= memory[front];
  end
  assign row = behind;
endmodule
"""
SOURCES = {"InnerCore": CORE, "Near": NEAR, "Far": FAR, "Table": TABLE, "RowMemory": ROWS, "MemoryBank": BANK}
PARTS = {"near": [1, 2], "far": [0, 1], "table_0": [1]}
TABLES = {"table_0/memory": [0, 0]}
BARE = [f"table_0/memory/banks_{bank}.read does not lead to registers alone" for bank in range(2)]

PLANTED: dict[str, tuple[str, str, list[str]]] = {
    "nothing": ("", "", []),
    "a register left out": (
        ".reset(reset), .in(between)",
        ".reset(reset), .in(near_out)",
        ["near (out) leads to far (in) over two borders"],
    ),
    "logic in the middle": (
        ".reset(reset), .in(between)",
        ".reset(reset), .in(between & near_out)",
        ["near (out) leads to far (in) over two borders"],
    ),
    "into a module": (
        "4'd0 : in;",
        "4'd0 : in ^ far;",
        ["far (out) leads to near (far) over two borders"],
    ),
    "through a module": (
        "assign out = kept;\nendmodule\n",
        "assign out = kept ^ far;\nendmodule\n",
        ["far (out) leads to between over two borders", "far (out) leads to table_0/index over two borders"],
    ),
    "a table without a register of its own": (
        ".read(index)",
        ".read(in)",
        [f"near (out) leads to table_0/memory/banks_{bank} (" for bank in range(2)],
    ),
    "a bank without registers in front": ("front <= read", "front <= ~read", BARE),
    "a bank that its index reaches": ("memory[front];", "memory[read];", BARE),
    "a bank without registers behind": (
        "assign row = behind",
        "assign row = ~behind",
        [f"table_0/memory/banks_{bank}.row does not come from registers" for bank in range(2)],
    ),
    "a bank of another kind": (
        "MemoryBank",
        "LevelMemory",
        [f"table_0/memory/banks_{bank} is a LevelMemory, which is no bank of a table" for bank in range(2)],
    ),
    "another name of a part": (
        "Near near",
        "Near nearer",
        ["InnerCore has no part near"],
    ),
}


def problems(
    folder: Path, before: str, after: str, parts: dict[str, list[int]], tables: dict[str, list[int]]
) -> list[str]:
    for name, text in SOURCES.items():
        changed = text.replace(before, after) if before and name != "Far" else text
        (folder / f"{name.replace(before, after) if before == 'MemoryBank' else name}.sv").write_text(changed)
    found = Board.load("vcu1525")
    raw = copy.deepcopy(found.raw)
    raw["chips"]["inner"] |= {"core_slrs": [1], "parts": parts, "tables": tables}
    said = borders.problems([Board(found.path, raw)], "inner", folder, folder / "work")
    return [problem.removeprefix("vcu1525.yaml: ") for problem in said]


@pytest.mark.parametrize("kind", PLANTED)
def test_way_over_two_borders_is_caught(tmp_path: Path, kind: str):
    before, after, said = PLANTED[kind]
    found = problems(tmp_path, before, after, PARTS, TABLES)
    assert len(found) == len(said), found
    assert all(problem.startswith(sentence) for problem, sentence in zip(found, said, strict=True)), found


@pytest.mark.parametrize(
    ("parts", "tables", "said"),
    [
        ({"near": [1, 2], "far": [0, 1]}, {}, []),
        (PARTS, {"table_0/memory": [0]}, ["table_0/memory/banks_1 has no SLR"]),
        (PARTS, {"table_1/memory": [1]}, ["InnerCore has no table table_1/memory"]),
        # A variant has fewer banks.
        (PARTS, {"table_0/memory": [0, 0, 0, 0]}, []),
    ],
)
def test_places_are_compared_with_the_core(
    tmp_path: Path, parts: dict[str, list[int]], tables: dict[str, list[int]], said: list[str]
):
    found = problems(tmp_path, "", "", parts, tables)
    assert [problem[: len(sentence)] for problem, sentence in zip(found, said, strict=True)] == said


FARM = """module LaneFarm(input clock, input reset, input [3:0] in, output [3:0] out);
  wire [3:0] there_0, back_0, there_1, back_1;
  wire [3:0] out_0;
  LaneWay lane_0_way (
    .clock(clock), .near_in(in), .near_out(out_0), .far_in(there_0), .far_out(back_0));
  Lane lane_0_far (
    .clock(clock), .reset(reset), .in(there_0), .out(back_0));
  LaneWay lane_1_way (
    .clock(clock), .near_in(in ^ out_0), .near_out(out), .far_in(there_1), .far_out(back_1));
  Lane lane_1_far (
    .clock(clock), .reset(reset), .in(there_1), .out(back_1));
endmodule
"""
WAY = """module LaneWay(
  input clock, input [3:0] near_in, output [3:0] near_out, output [3:0] far_in, input [3:0] far_out);
  wire [3:0] sent, came;
  SlrStage stage (
    .clock(clock), .in(near_in), .out(sent));
  SlrStage stage_1 (
    .clock(clock), .in(sent), .out(far_in));
  SlrStage stage_4 (
    .clock(clock), .in(far_out), .out(came));
  SlrStage stage_5 (
    .clock(clock), .in(came), .out(near_out));
endmodule
"""
LANES = {
    "CryptoCore": """module CryptoCore(input clock, input reset, input [3:0] in, output [3:0] out);
  Path encrypt (
    .clock(clock), .reset(reset), .in(in), .out(out));
endmodule
""",
    "Path": """module Path(input clock, input reset, input [3:0] in, output [3:0] out);
  LaneFarm farm (
    .clock(clock), .reset(reset), .in(in), .out(out));
endmodule
""",
    "LaneFarm": FARM,
    "LaneWay": WAY,
    "Lane": "module Lane(input clock, input reset, input [3:0] in, output [3:0] out);\nendmodule\n",
    "SlrStage": "module SlrStage(input clock, input [3:0] in, output reg [3:0] out);\n"
    "  always @(posedge clock) out <= in;\nendmodule\n",
}


@pytest.mark.parametrize("found", [False, True])
def test_a_stage_far_from_the_farm_is_caught(tmp_path: Path, found: bool):
    """Stages of other names may be in their lanes' SLRs, and those of two lanes two borders
    apart."""
    for module, text in LANES.items():
        named = text.replace("stage (", "first (").replace("stage_5 (", "last (") if found else text
        (tmp_path / f"{module}.sv").write_text(named)
    board = Board.load("vcu1525")
    raw = copy.deepcopy(board.raw)
    raw["chips"]["crypto"] |= {"core_slrs": [1], "lane_slrs": {"encrypt": [0, 2]}, "parts": {}, "tables": {}}
    said = borders.problems([Board(board.path, raw)], "crypto", tmp_path, tmp_path / "work")
    first, last = (f"encrypt/{places.FARM}/lane_{lane}_way" for lane in (1, 0))
    way = f"{last}/last (out) leads to {first}/first (in) over two borders"
    absent = "CryptoCore has no near ends of ways"
    assert said == ([f"vcu1525.yaml: {absent}", f"vcu1525.yaml: {way}"] if found else [])


def test_a_core_that_cannot_be_read_is_one_sentence(tmp_path: Path):
    found = problems(tmp_path, "Near near", "Nowhere near", PARTS, TABLES)
    assert len(found) == 1 and "Nowhere" in found[0]
