# SPDX-License-Identifier: Apache-2.0
"""Goals of the throughput search against boxes with known behaviour, some of them noisy."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from sallyport import suites
from sallyport.backend import Capabilities, Setup, Trial, TrialResult
from sallyport.compare import SAME, WORSE, compare
from sallyport.rfc2544 import TESTS, command, plan
from sallyport.rfc2544.case import Case, Options
from sallyport.rfc2544.search import GOALS
from sallyport.rfc2544.sizes import parse
from tests.tester.report_rows import result, row

SETUP = Setup({64: 1}, suites.parse("aes256gcm16"), measure_ns=60_000_000_000)
CAPABILITIES = Capabilities("noisy", False, (), (2,), (), (), 0, SETUP.measure_ns, SETUP.measure_ns, False)


@dataclass
class NoisyBox:
    """Carries `part` of line rate, and `queue` frames more of each trial. At any load it loses a
    frame `noise` times a second, and `leak` of all frames."""

    part: Fraction = Fraction(2, 5)
    noise: float = 0.0
    leak: float = 0.0
    queue: int = 0
    seed: int = 1
    made: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def run(self, trial: Trial) -> TrialResult:
        self.made.append(trial)
        sent = int(trial.fps * trial.setup.measure_ns / 10**9)
        carried = self.part * trial.setup.line_fps * Fraction(trial.setup.measure_ns, 10**9) + self.queue
        noisy = self.chance.random() > math.exp(-self.noise * trial.setup.measure_ns / 10**9)
        lost = min(sent, max(0, int(sent - carried)) + int(sent * self.leak) + noisy)
        return replace(
            result(lost=lost), intended_fps=trial.fps, offered_fps=trial.fps, tx_frames=sent, rx_frames=sent - lost
        )

    def rows(self, goal: str = "rfc2544", **options: object) -> list[dict]:
        chosen = Options(goal=GOALS[goal], **options)  # type: ignore[arg-type]
        return list(TESTS["throughput"](Case("throughput", "64", SETUP, chosen, CAPABILITIES, self.run)))


def test_noise_decides_one_trial_a_load_and_not_twenty_one() -> None:
    ones = [NoisyBox(noise=0.1, seed=seed).rows()[0]["throughput_pct"] for seed in range(10)]
    assert ones.count(0) == 8
    many = [NoisyBox(noise=0.1, seed=seed).rows("ndr")[0] for seed in range(10)]
    assert [each["throughput_pct"] for each in many] == pytest.approx([40] * 10, rel=0.006)
    ndr = many[0]
    assert (ndr["passed"], ndr["goal"], ndr["loss_tolerance_pct"]) == (True, "ndr", 0)
    assert 0 < max(each["trials_lossy"] for each in many) <= 10


def test_a_box_that_leaks_has_a_partial_drop_rate_and_no_other() -> None:
    assert not NoisyBox(leak=0.002).rows("ndr")[0]["passed"]
    (pdr,) = NoisyBox(leak=0.002).rows("pdr")
    assert pdr["passed"] and pdr["loss_tolerance_pct"] == 0.5
    assert pdr["throughput_pct"] == pytest.approx(40, rel=0.01)


def test_trials_are_as_long_as_the_search_asks() -> None:
    box = NoisyBox()
    box.rows("ndr")
    assert {trial.setup.measure_ns for trial in box.made} == {1_000_000_000}


@pytest.mark.parametrize("queue", [0, 1000, 1_000_000])
def test_a_queue_misleads_no_search(queue: int) -> None:
    """A million frames are what the box carries in 17 ms: 1.7 % more in a trial of 1 s."""
    box = NoisyBox(queue=queue)
    (found,) = box.rows()
    assert found["throughput_pct"] == pytest.approx(40, rel=0.002)
    assert len(box.made) <= 5


@pytest.mark.parametrize("part", [Fraction(1, 40_000), Fraction(1, 900_000)])
def test_a_slow_box_on_fast_ports_is_found_at_once(part: Fraction) -> None:
    """3,720 and 165 frames a second behind ports of 100 Gb/s, as software behind real NICs is."""
    box = NoisyBox(part)
    (found,) = box.rows()
    assert found["passed"]
    assert found["mpps"] * 1e6 == pytest.approx(float(part * SETUP.line_fps), abs=1, rel=0.002)
    assert len(box.made) <= 4


@pytest.mark.parametrize(("measure_ns", "least"), [(200_000, 18), (1_000_000_000, 1000), (60_000_000_000, 5434)])
def test_a_box_that_carries_nothing_is_found_by_two_trials(measure_ns: int, least: int) -> None:
    """The second has frames, however short it is."""
    box = NoisyBox(Fraction(0))
    short = replace(SETUP, measure_ns=measure_ns)
    (found,) = TESTS["throughput"](Case("throughput", "64", short, Options(), CAPABILITIES, box.run))
    assert not found["passed"]
    assert (len(box.made), found["tx_frames"]) == (2, least)


def test_repeated_searches_show_their_spread() -> None:
    (found,) = NoisyBox(noise=0.02).rows(repeats=5)
    runs = found["throughput_runs_pct"]
    assert len(runs) == 5 and min(runs) < max(runs)
    assert found["throughput_pct"] == sorted(runs)[2]


def test_a_difference_within_the_spread_is_none() -> None:
    before = row("64", "throughput", throughput_runs_pct=[55.0, 60.0, 61.0])
    after = before | {"throughput_pct": before["throughput_pct"] * 0.95, "throughput_runs_pct": [54.0, 58.0, 59.0]}
    assert [pair.status for pair in compare([before], [after], Fraction(1))] == [SAME]
    apart = after | {"throughput_runs_pct": [50.0, 51.0, 52.0]}
    assert [pair.status for pair in compare([before], [apart], Fraction(1))] == [WORSE]


def test_all_tests_of_a_size_share_one_search() -> None:
    box = NoisyBox()
    names = ["throughput", "latency", "back-to-back", "recovery"]
    options = Options(latency_measure_ns=2 * SETUP.measure_ns)
    cases = plan.cases(names, SETUP, parse("64", SETUP), options, CAPABILITIES, lambda _, trial: box.run(trial))
    first = next(iter(TESTS["throughput"](cases[0])))["trials"]
    assert len(box.made) == first
    for case in cases[1:]:
        list(TESTS[case.test](case))
    others = [trial for trial in box.made[first:] if trial.burst is None and trial.then_fps is None]
    assert len(others) == 4  # the latency test's own
    assert {trial.setup.measure_ns for trial in others} == {2 * SETUP.measure_ns}


class Dying:
    """A backend of [NoisyBox] that is killed in its n-th trial."""

    def __init__(self, box: NoisyBox, after: int) -> None:
        self.box, self.after = box, after

    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def check(self, setup: Setup, tests: object = ()) -> None: ...

    def close(self) -> None: ...

    def run_trial(self, trial: Trial) -> TrialResult:
        if len(self.box.made) == self.after:
            raise KeyboardInterrupt
        return self.box.run(trial)


def test_a_run_that_was_killed_goes_on_from_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_file, box = tmp_path / "rows.json", NoisyBox()
    arguments = ["--test", "loss", "--frame-size", "64,128,256", "--json", str(rows_file), "-q"]

    def run(after: int, *more: str):
        monkeypatch.setattr("sallyport.rfc2544.asked.Asked.backend", lambda *_: Dying(box, after))
        # as power loss would
        monkeypatch.setattr("sallyport.rfc2544.asked.Asked.write", lambda *_: None)
        return CliRunner().invoke(command.rfc2544_command, [*arguments, *more])

    run(10)
    kept = json.loads(rows_file.read_text())
    assert {row["frame_size"] for row in kept} == {64}
    made = len(box.made)
    done = run(1000, "--resume")
    assert done.exit_code == 0, done.output
    rows = json.loads(rows_file.read_text())
    assert rows[: len(kept)] == kept and [*dict.fromkeys(row["frame_size"] for row in rows)] == [64, 128, 256]
    assert len(box.made) - made == len(rows) - len(kept)
    for other in (
        ["--direction", "encrypt"],
        ["--core-mhz", "250"],
        ["--load", "50"],
        ["--share", "50"],
        ["--goal", "ndr"],
        ["--test", "latency"],
    ):
        done = run(1000, "--resume", *other)
        assert done.exit_code == 2 and "the row of loss 64 is of another command" in done.output
    assert len(box.made) - made == len(rows) - len(kept)
    rows_file.write_text("{}")
    done = run(1000, "--resume")
    assert done.exit_code == 2 and "has no rows of this version" in done.output and done.output.count("\n") == 1
