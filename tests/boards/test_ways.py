# SPDX-License-Identifier: Apache-2.0
"""Ways to lanes in other SLRs: each planted short cut is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from boards.check import ways

STAGE = """module SlrStage(input clock, input [3:0] io_in_x, output reg [3:0] io_out_x);
  always @(posedge clock) io_out_x <= io_in_x;
endmodule
"""
LANE = "module Lane(input clock, input reset, input [3:0] io_in, output [3:0] io_out);\nendmodule\n"
WAY = """module LaneWay(
  input clock, input [3:0] io_near_in, output [3:0] io_near_out, output [3:0] io_far_in, input [3:0] io_far_out);
  wire [3:0] a, b, c;
  SlrStage in0 (
    .clock(clock), .io_in_x(io_near_in), .io_out_x(a));
  SlrStage in1 (
    .clock(clock), .io_in_x(a), .io_out_x(io_far_in));
  SlrStage out0 (
    .clock(clock), .io_in_x(io_far_out), .io_out_x(b));
  SlrStage out1 (
    .clock(clock), .io_in_x(b), .io_out_x(c));
  assign io_near_out = ~c;
endmodule
"""
FARM = """module LaneFarm(input clock, input reset, input [3:0] in, output [3:0] out);
  wire [3:0] there, back;
  LaneWay lane_0_way (
    .clock(clock), .io_near_in(in), .io_near_out(out), .io_far_in(there), .io_far_out(back));
  Lane lane_0_far (
    .clock(clock), .reset(reset), .io_in(there), .io_out(back));
endmodule
"""
PLANTED = {
    "nothing": ("", "", []),
    "one stage in": (
        ".io_in_x(a), .io_out_x(io_far_in)",
        ".io_in_x(~a), .io_out_x(io_far_in)",
        ["LaneWay.io_far_in has less than 2 stages"],
    ),
    "one stage out": (".io_in_x(b)", ".io_in_x(~b)", ["LaneWay.io_far_out has less than 2 stages"]),
    "logic at the far end": (
        "assign io_near_out = ~c",
        "assign io_near_out = c ^ io_far_out",
        ["LaneWay.io_far_out leads past its stages"],
    ),
    "past the way": (
        ".io_in(there)",
        ".io_in(in)",
        ["LaneFarm: lane_0_far.io_in does not come from or lead to lane_0_way"],
    ),
    "logic beside the way": (".io_in(there)", ".io_in(there & in)", ["LaneFarm: lane_0_far.io_in does not come"]),
    "another name": ("lane_0_far", "first", ["LaneFarm has no cell lane_0_far"]),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_short_cut_is_caught(tmp_path: Path, kind: str):
    before, after, said = PLANTED[kind]
    for name, text in {"SlrStage": STAGE, "Lane": LANE, "LaneWay": WAY, "LaneFarm": FARM}.items():
        (tmp_path / f"{name}.sv").write_text(text.replace(before, after) if before else text)
    found = ways.problems(tmp_path, tmp_path / "work")
    assert len(found) == len(said), found
    assert all(problem.startswith(sentence) for problem, sentence in zip(found, said, strict=True)), found


def test_a_folder_without_lanes_is_named(tmp_path: Path):
    assert ways.problems(tmp_path, tmp_path / "work") == [f"{tmp_path} has no LaneFarm or no LaneWay"]
