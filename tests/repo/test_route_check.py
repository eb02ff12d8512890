# SPDX-License-Identifier: Apache-2.0
"""How `make route-check` reads nextpnr's report and ports, and refuses bad input. The report is a
real one, of `LinkUnpacker`, less its source lines."""

from __future__ import annotations

import copy
import importlib
import json
import sys
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from tests.support.paths import ROOT

# The scripts are in no package.
sys.path.insert(0, str(ROOT / "scripts"))
route_check = importlib.import_module("route_check")

REPORT = json.loads(Path(__file__).with_name("route_report.json").read_text())
MODULE = """// Generated
module Half(
  input         clock,
                reset,
  input  [15:0] io_in_a,
                io_in_b,
  input         io_in_valid,
  output        io_out_valid,
  output [7:0]  io_out_bits
);
endmodule
"""


def test_the_path_from_register_to_register_counts():
    found = route_check.summary(REPORT)
    achieved = next(iter(REPORT["fmax"].values()))["achieved"]
    assert found["mhz"] == pytest.approx(achieved, abs=0.2)
    assert found["cells"] == {"TRELLIS_COMB": 5906, "TRELLIS_FF": 4819, "TRELLIS_IO": 3}
    assert (found["ns"], found["routing_ns"], found["routing_percent"]) == (5.22, 3.98, 76)
    assert found["path"][0].startswith("0.40 clk-to-q to routed.valid1_TRELLIS_FF_Q.Q at ")


def test_a_planted_slow_path_fails_in_one_sentence():
    slow = copy.deepcopy(REPORT)
    before = route_check.summary(slow)["mhz"]
    slow["critical_paths"][0]["path"][-2]["delay"] += 1.0
    after = route_check.summary(slow)["mhz"]
    assert route_check.failure("LinkUnpacker", before, before, 10) is None
    assert route_check.failure("LinkUnpacker", after, before, 10) == (
        "LinkUnpacker: 160.8 MHz are more than 10 % below the baseline of 191.7 MHz"
    )


def test_a_path_from_a_pin_does_not_count():
    slow = copy.deepcopy(REPORT)
    pins = [path for path in slow["critical_paths"] if path["from"] != path["to"]]
    assert len(pins) == 2
    for path in pins:
        path["path"][0]["delay"] += 50
    assert route_check.summary(slow) == route_check.summary(REPORT)


def test_a_report_without_such_a_path_is_refused():
    with pytest.raises(click.UsageError, match="no path from register to register"):
        route_check.summary(REPORT | {"critical_paths": []})


def test_ports_go_on_with_direction_and_width_of_the_line_before():
    ports = route_check.ports(MODULE, "Half")
    assert ports == [
        ("input", 1, "clock"),
        ("input", 1, "reset"),
        ("input", 16, "io_in_a"),
        ("input", 16, "io_in_b"),
        ("input", 1, "io_in_valid"),
        ("output", 1, "io_out_valid"),
        ("output", 8, "io_out_bits"),
    ]
    text = route_check.wrapper(ports, "Half")
    assert ".clock(clock), .reset(ins[0:0]), .io_in_a(ins[16:1]), .io_in_b(ins[32:17])" in text
    assert ".io_out_bits(outs[8:1])" in text


@pytest.mark.parametrize(
    ("baselines", "module", "sentence"),
    [
        ("percent: 10", "Half", "is no list of baselines"),
        ("percent: many\nmodules: {Half: 100}", "Half", "is no list of baselines"),
        ("percent: 10\nmodules: {Half: 100}", "Other", "Other has no baseline"),
        ("percent: 10\nmodules: {Half: 100}", "Half", "holds no Half.sv; run 'make route-check'"),
    ],
)
def test_bad_input_ends_with_a_sentence_and_2(tmp_path: Path, baselines: str, module: str, sentence: str):
    file = tmp_path / "baselines.yaml"
    file.write_text(baselines)
    done = CliRunner().invoke(route_check.main, [str(tmp_path), "--baselines", str(file), "--module", module])
    assert done.exit_code == 2
    assert sentence in done.output


def test_a_slow_module_ends_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "Half").mkdir()
    (tmp_path / "Half/Half.sv").write_text(MODULE)
    monkeypatch.setattr(route_check, "run", lambda *_: None)
    monkeypatch.setattr(route_check, "place", lambda *_: REPORT)
    file = tmp_path / "baselines.yaml"
    for mhz, status in ((191.7, 0), (212, 0), (214, 1)):
        file.write_text(yaml.safe_dump({"percent": 10, "modules": {"Half": mhz}}))
        done = CliRunner().invoke(
            route_check.main, [str(tmp_path), "--baselines", str(file), "--out", str(tmp_path / "out")]
        )
        assert done.exit_code == status, done.output
        report = json.loads((tmp_path / "out/report.json").read_text())
        assert (report["Half"]["mhz"], report["Half"]["baseline_mhz"]) == (191.7, mhz)


def test_every_module_of_the_baselines_is_written():
    _, known = route_check.load(route_check.BASELINES)
    written = (ROOT / "boards/src/ElaborateRouted.scala").read_text()
    assert len(known) == 5
    assert all(f'emit("{name}", ' in written for name in known)
