# SPDX-License-Identifier: Apache-2.0
"""Vivado's verdicts of clock crossings on small netlists, and corundum's waivers against them."""

from __future__ import annotations

from pathlib import Path

import pytest

from boards.check import cdc, netlist, top, topologies

CROSSED = """module Crossed(
  input a, input b, input c, input in, input other,
  output reg first, output reg second, output reg third, output reg [1:0] word, output reg flag, output reg set1);
  reg sent, more, enable, set0;
  reg [1:0] wide;
  always @(posedge a) begin sent <= in; wide <= {in, other}; end
  always @(posedge c) more <= other;
  always @(posedge b) begin DATA end
  RESETS
endmodule
"""
GOOD_DATA = "first <= sent; second <= first; third <= second;"
GOOD_RESETS = """always @(posedge b or posedge sent) if (sent) begin set0 <= 1; set1 <= 1; end
  else begin set0 <= 0; set1 <= set0; end"""
VERDICTS = {
    "good": (GOOD_DATA, "", []),
    "held word": ("enable <= other; if (enable) word <= wide;", "", []),
    "one stage": ("first <= sent; third <= !first;", "", ["CDC-1: sent to first_reg/D"]),
    "one stage of a word": ("word <= wide;", "", ["CDC-4: wide to word_reg/D"]),
    "enable of another clock": ("if (sent) third <= other;", "", ["CDC-1: sent to third_reg/CE"]),
    "logic": ("first <= sent & !wide[0]; second <= first;", "", ["CDC-10: sent, wide to first_reg/D"]),
    "two clocks": ("first <= sent ^ more; second <= first;", "", ["CDC-12: more, sent to first_reg/D"]),
    "reset": ("", GOOD_RESETS, []),
    "reset without a second stage": (
        "",
        "always @(posedge b or posedge sent) if (sent) flag <= 0; else flag <= 1;",
        ["CDC-7: sent to flag_reg/CLR"],
    ),
    "reset and level of one register": (
        GOOD_DATA,
        GOOD_RESETS,
        ["CDC-11: sent to first_reg/D", "CDC-11: sent to set0_reg/PRE"],
    ),
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_verdicts_of_report_cdc(tmp_path: Path, kind: str):
    """Rules and order of UG906, each on the smallest netlist that meets it."""
    data, resets, wanted = VERDICTS[kind]
    (tmp_path / "Crossed.sv").write_text(CROSSED.replace("DATA", data).replace("RESETS", resets))
    flat = netlist.elaborate("Crossed", [tmp_path / "Crossed.sv"], [], tmp_path, top.FLAT)
    found = topologies.critical(cdc.Checker(flat, {}, set()), "Crossed")
    assert [str(finding) for finding in found] == [f"report_cdc: {text} of b" for text in wanted]


def test_rules_behind_a_waived_row(tmp_path: Path):
    """UG906, CDC Rules Precedence: the report has them once the first one is waived."""
    text = CROSSED.replace("DATA", "first <= sent ^ more; second <= first; third <= !sent;").replace("RESETS", "")
    (tmp_path / "Crossed.sv").write_text(text)
    flat = netlist.elaborate("Crossed", [tmp_path / "Crossed.sv"], [], tmp_path, top.FLAT)
    found = topologies.critical(cdc.Checker(flat, {}, set()), "Crossed", every=True)
    rules = {(finding.rule, finding.path) for finding in found}
    assert rules == {
        *((rule, "first_reg/D") for rule in ("CDC-10", "CDC-11", "CDC-12")),
        *((rule, "third_reg/D") for rule in ("CDC-1", "CDC-11")),
    }


WAIVED = [("CDC-1", "polarity_reg/D"), ("CDC-7", "flag_reg/CLR")]


def test_a_waiver_has_a_finding_and_a_finding_a_waiver(tmp_path: Path):
    text = """module cmac_gty_wrapper(input a, input b, input in, output reg out);
      reg sent, cleared, polarity, flag;
      always @(posedge a) begin sent <= in; cleared <= !in; end
      always @(posedge b) begin polarity <= sent; out <= !polarity & flag; end
      always @(posedge b or posedge cleared) if (cleared) flag <= 0; else flag <= 1;
    endmodule"""
    (tmp_path / "wrapper.sv").write_text(text)
    flat = netlist.elaborate("cmac_gty_wrapper", [tmp_path / "wrapper.sv"], [], tmp_path, top.FLAT)
    assert top.waiver_problems(flat, WAIVED) == []
    assert top.waiver_problems(flat, [*WAIVED, ("CDC-13", "block/RESET")]) == []
    assert top.waiver_problems(flat, WAIVED[1:]) == ["report_cdc: CDC-1: sent to polarity_reg/D of b: no waiver"]
    assert top.waiver_problems(flat, [*WAIVED, ("CDC-10", "x_reg/D")]) == [
        "the waiver of CDC-10 at x_reg/D covers nothing"
    ]
