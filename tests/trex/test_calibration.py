# SPDX-License-Identifier: Apache-2.0
"""What a cable shows of TRex, kept with the lab and held against results; percentiles by --hdrh; a
tester that is the limit."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from sallyport import report, rows
from sallyport.commands.calibrate import calibrate_command
from sallyport.errors import InputError
from sallyport.trex import calibration
from tests.trex.lab import MAC, Lab, setup, trial

CABLE = [{"box_mac": MAC[1]}, {"box_mac": MAC[0]}]


def calibrate(lab: Lab, sizes: str = "64", **world: object):
    lab.world(ports=CABLE, **world)
    lab.backend()  # writes the lab file
    arguments = ["--lab", str(lab.file), "--frame-size", sizes, "--measure-us", "1000000", "--load", "0.1"]
    return CliRunner().invoke(calibrate_command, arguments)


def test_a_cable_tells_what_the_tester_carries_and_adds(lab: Lab) -> None:
    done = calibrate(lab, capacity_fps=80_000)
    assert done.exit_code == 0, done.output
    kept = json.loads(calibration.place(lab.backend().lab).read_text())
    assert (kept["version"], kept["driver"], kept["ports"]) == ("v3.08", "net_mlx5", list(MAC))
    assert kept["start_ms"] == pytest.approx([49.5, 49.5])
    assert kept["sizes"]["64"]["fps"] == pytest.approx(80_000, rel=0.01)
    assert kept["sizes"]["64"]["latency_ns"]["min"] == 3000


def test_results_are_held_against_the_cable(lab: Lab) -> None:
    assert calibrate(lab, capacity_fps=80_000).exit_code == 0
    lab.world(capacity_fps=80_000)
    backend = lab.backend()
    good, bad = backend.run_trial(trial(50_000)), backend.run_trial(trial(100_000))
    assert good.passed and good.tester["cable"]["fps"] == pytest.approx(80_000, rel=0.01)
    (said,) = bad.checks
    assert "may have lost frames by itself: a cable carried " in said
    row = rows.make("64", "throughput", setup(), good, 1)
    page = report.html([row], "x")
    assert "the tester through a cable" in page
    assert (
        "TRex v3.08 at 192.0.2.10:4501, driver net_mlx5" in page
        and f"64 B {good.tester['cable']['fps']:,.0f} frames" in page
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": "v3.07"}, "is of another cable or tester (version v3.07, here v3.08)"),
        ({"ports": ["02:00:00:00:09:09", MAC[1]]}, "is of another cable or tester (ports"),
        ({"sizes": 3}, "is no calibration of this version; make it anew"),
    ],
)
def test_a_calibration_of_another_cable_is_refused(lab: Lab, change: dict, sentence: str) -> None:
    assert calibrate(lab).exit_code == 0
    lab.world()
    backend = lab.backend()
    file = calibration.place(backend.lab)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(InputError) as error:
        backend.check(setup())
    assert sentence in error.value.message and "\n" not in error.value.message


def test_a_cable_that_is_none_is_one_sentence(lab: Lab) -> None:
    done = calibrate(lab, capacity_fps=0.001)
    assert done.exit_code == 1 and "no load passes" in done.output
    assert not Path(lab.file).with_suffix(".calibration.json").exists()


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ({"cpu_util": 97.0}, "its sending cores were 97 % busy"),
        ({"rx_cpu_util": 99.0}, "its receiving cores were 99 % busy"),
        ({"queue_full": 12}, "it found its own queue full 12 times"),
    ],
)
def test_a_loss_that_may_be_the_testers_own_says_so(lab: Lab, world: dict, said: str) -> None:
    lab.world(lose={"1": 5}, **world)
    assert any(said in each for each in lab.backend().run_trial(trial()).checks)
    lab.world(**world)
    assert lab.backend().run_trial(trial()).passed


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ({"unsent": 20}, "its ports sent 40 frames fewer than its streams"),
        ({"uncounted": 20, "strangers": 5}, "50 frames more reached its ports than it counted"),
    ],
)
def test_a_loss_inside_the_tester_is_seen_by_its_ports(lab: Lab, world: dict, said: str) -> None:
    """Two directions lose 20 frames each before the boxes, or behind them."""
    lab.world(**world)
    result = lab.backend().run_trial(trial())
    assert result.lost == 40
    (check,) = result.checks
    assert said in check
    (check,) = lab.backend().run_trial(trial(burst=20_000)).checks
    assert said in check


def test_frames_of_others_at_a_port_accuse_nobody(lab: Lab) -> None:
    """LLDP and the like are not as many as those that the boxes lost."""
    lab.world(lose={"1": 40}, strangers=5)
    result = lab.backend().run_trial(trial())
    assert (result.lost, result.checks) == (40, [])


def test_percentiles_are_exact_where_trex_keeps_hdr_histograms(lab: Lab) -> None:
    """3 and 25 µs instead of 10 and 30, the ends of TRex's own buckets."""
    world = {"latency_us": [[3, 900], [25, 90], [140, 10]]}
    lab.world(**world)
    coarse = lab.backend().run_trial(trial()).fifo_ns
    lab.world(hdrh=True, **world)
    result = lab.backend().run_trial(trial())
    assert coarse and (coarse.p50, coarse.p99) == (10_000, 30_000)
    assert result.fifo_ns and (result.fifo_ns.p50, result.fifo_ns.p99, result.fifo_ns.p99_99) == (3000, 25_000, 140_000)
    assert result.histogram == [(3000, 10_800), (25_000, 1080), (140_000, 120)]


def test_a_cable_that_was_not_the_limit_accuses_nobody(lab: Lab) -> None:
    """It carried all that the calibration sent, so what it carries above that is not known; and a
    search with a loss tolerance must not take it for the limit."""
    done = calibrate(lab)
    assert "64 B: at least 148,810 frames a second" in done.output
    lab.world(capacity_fps=200_000)
    backend = lab.backend()
    found = backend.run_trial(trial(300_000))
    assert found.lost and found.sound and found.checks == []
    row = rows.make("64", "throughput", setup(), found, 1)
    page = report.html([row], "x")
    assert "64 B at least 148,810 frames" in page and "the tester through a cable" not in page


def test_a_mix_has_a_calibration_of_its_own(lab: Lab) -> None:
    assert calibrate(lab, sizes="64,imix", capacity_fps=20_000).exit_code == 0
    lab.world()
    mix = {64: 7, 594: 4, 1518: 1}
    result = lab.backend().run_trial(trial(1000, mix))
    assert result.tester["cable"]["fps"] == pytest.approx(20_000, rel=0.01)
    page = report.html([rows.make("imix", "throughput", setup(mix), result, 1)], "x")
    assert f"IMIX {result.tester['cable']['fps']:,.0f} frames" in page
    done = calibrate(lab, sizes="64,tiny")
    assert done.exit_code == 2 and "--frame-size 'tiny'" in done.output


def test_a_calibration_goes_by_size(lab: Lab) -> None:
    assert calibrate(lab).exit_code == 0
    lab.world()
    backend = lab.backend()
    other = replace(trial(), setup=setup({1400: 1}), fps=Fraction(1000))
    assert backend.run_trial(other).tester["cable"] is None
