# SPDX-License-Identifier: Apache-2.0
"""The delay model of `make synth-check`: on paths that Vivado has routed, on small netlists, and
the gate on the modules that it finds late."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import yaml

from tests.repo.test_netlist_paths import BOX, cell, module
from tests.support.paths import ROOT

# The scripts are in no package.
sys.path.insert(0, str(ROOT / "scripts"))
calibrate_delays = importlib.import_module("calibrate_delays")
delay_model = importlib.import_module("delay_model")
late_paths = importlib.import_module("late_paths")
netlist_delays = importlib.import_module("netlist_delays")
netlist_paths = importlib.import_module("netlist_paths")

ROUTED = [row for row in calibrate_delays.DATA["paths"] if row["source"].endswith("routed")]


def test_the_model_is_pessimistic_on_routed_paths_by_what_it_divides_by():
    assert len(ROUTED) == 2
    for row in ROUTED:
        estimated = calibrate_delays.published(row["cells"]) / delay_model.PESSIMISM
        assert estimated == pytest.approx(row["ns"], rel=0.05), row["source"]


def test_the_constants_of_nets_fit_published_ones():
    nets = [tuple(net) for path in calibrate_delays.DATA["nets"] for net in path]
    local, octave, error = calibrate_delays.fit(nets)
    assert (round(local, 3), round(octave, 3)) == (delay_model.LOCAL, delay_model.OCTAVE)
    assert 0.1 < error < 0.2


# begin -> lut -> loads registers, beside what `source` and `sink` are.
def delays(loads: int = 1, source: dict | None = None) -> object:
    first = source or cell("FDRE", {"C": 1, "D": 9}, Q=3)
    registers = {f"end{at}": cell("FDRE", {"C": 1, "D": 4}, Q=10 + at) for at in range(loads)}
    top = module(
        {"clock": ("input", 1)},
        {"begin": 3, "middle": 4} | {f"end{at}": 10 + at for at in range(loads)},
        {"first": first, "lut": cell("LUT2", {"I0": 3}, O=4)} | registers,
    )
    boxes = dict.fromkeys(("FDRE", "LUT2", "RAMB36E2", "URAM288"), BOX)
    return netlist_delays.Delays(netlist_paths.Paths(boxes | {"Top": top}, "Top"))


def late(of: object, name: str = "end0") -> float:
    return max(end.ns for end in of.ends() if end.name == name)


def test_a_path_is_the_sum_of_its_parts():
    # Clock to Q, routed net, LUT, wire inside the slice, setup (RapidWright's figures).
    net = delay_model.net(1, delay_model.area("LUT2"))
    assert late(delays()) * delay_model.PESSIMISM == pytest.approx(0.077 + net + 0.092 + 0.050 - 0.025)


def test_fan_out_makes_a_path_later():
    found = [late(delays(loads)) for loads in (1, 4, 64, 1024)]
    assert found == sorted(found)
    assert found[-1] > found[0] + 0.4


def memory(kind: str, pin: str, clock: str, **parameters: str) -> dict:
    return cell(kind, {clock: 1}, **{pin: 3}) | {"parameters": parameters}


@pytest.mark.parametrize(
    ("kind", "pin", "clock", "register", "without"),
    [
        ("RAMB36E2", "DOUTBDOUT", "CLKBWRCLK", {"DOB_REG": "0001"}, 1.003),
        ("URAM288", "DOUT_A", "CLK", {"OREG_A": "TRUE"}, 1.292),
        ("URAM288", "DOUT_B", "CLK", {"OREG_B": "TRUE"}, 2.059),
    ],
)
def test_a_memory_without_output_register_is_late(kind: str, pin: str, clock: str, register: dict, without: float):
    plain = late(delays(source=memory(kind, pin, clock)))
    registered = late(delays(source=memory(kind, pin, clock, **register)))
    of_register = late(delays())
    assert (plain - of_register) * delay_model.PESSIMISM == pytest.approx(without - 0.077)
    assert registered < plain - 0.4


def test_a_net_to_many_memories_spans_the_device():
    assert delay_model.net(256, 256 * delay_model.area("URAM288")) > 2 * delay_model.net(
        256, 256 * delay_model.area("LUT6")
    )


def test_the_report_names_the_nets_of_the_latest_path():
    report = late_paths.LatePaths(delays(3)).report()
    assert report["late_paths"][0]["clock"] == "clock"
    assert [line.split(",")[0] for line in report["late_paths"][0]["nets"]] == ["FDRE begin", "LUT2 middle"]
    assert report["late_nets"][0].startswith("LUT2 middle, fan-out 3, ")


def test_a_late_module_fails_unless_it_is_listed_with_that_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    beyond = late_paths.LatePaths(delays(3)).beyond(lambda _: 0.3)
    ns = beyond["clock"]["Top"]
    assert ns > 0.3

    def failures(most: float | None) -> list[str]:
        listed = {} if most is None else {"Top": {"clock": {"Top": most}}}
        (tmp_path / "known.yaml").write_text(yaml.safe_dump(listed))
        monkeypatch.setattr(late_paths, "KNOWN", tmp_path / "known.yaml")
        return late_paths.failures("Top", beyond, lambda _: 0.3)

    assert failures(ns) == []
    assert failures(None) == [f"Top: {ns:.2f} ns of clock exceed 0.30"]
    assert failures(ns - 0.1) == [f"Top: {ns:.2f} ns of clock exceed {ns - 0.1:.2f}"]
    assert late_paths.LatePaths(delays(3)).beyond(lambda _: 3.0) == {}


def test_a_loop_through_a_carry_chain_ends():
    # A chain is one cell of many bits: a LUT between two of them only seems a loop.
    top = module(
        {"clock": ("input", 1)},
        {"sum": 4, "end": 6},
        {
            "carry": cell("CARRY8", {"S": 5}, O=4),
            "lut": cell("LUT2", {"I0": 4}, O=5),
            "last": cell("FDRE", {"C": 1, "D": 5}, Q=6),
        },
    )
    boxes = dict.fromkeys(("FDRE", "LUT2", "CARRY8"), BOX)
    found = netlist_delays.Delays(netlist_paths.Paths(boxes | {"Top": top}, "Top"))
    (path,) = late_paths.LatePaths(found).report()["late_paths"]
    assert [line.split()[0] for line in path["nets"]] == ["CARRY8", "LUT2"]
