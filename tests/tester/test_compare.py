# SPDX-License-Identifier: Apache-2.0
"""`./sallyport compare`: the rows that it pairs, those that it finds worse, and its exit status;
and the boxes against the baseline."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sallyport.commands.compare import compare_command
from sallyport.compare import BETTER, FAILED, MISSING, NEW, SAME, WORSE, compare, read
from sallyport.report.kinds import verdict
from sallyport.simulator import CRYPTO_VARIABLE
from tests.tester import make_baseline
from tests.tester.report_rows import SETUP, connections, every, ike, of_latency, row, throughput

ONE = Fraction(1)


def statuses(before: list[dict], after: list[dict], limit: Fraction = ONE) -> list[str]:
    return [pair.status for pair in compare(before, after, limit)]


def changed(path: str, value: Callable[[float], object], **of: object) -> tuple[dict, dict]:
    """A throughput row, and the same with one figure changed; `path` is a column, or two with
    a dot."""
    before = row("64", "throughput") | of
    after = deepcopy(before)
    place, *inner = path.split(".")
    holder, name = (after[place], inner[0]) if inner else (after, place)
    holder[name] = value(holder[name])
    return before, after


@pytest.fixture
def run(tmp_path: Path):
    """Runs the command on two lists of rows, or on whatever text stands for a file."""

    def command(before: object, after: object, *options: str) -> Result:
        for name, content in (("A", before), ("B", after)):
            path = tmp_path / f"{name}.json"
            if content is not None:
                path.write_text(content if isinstance(content, str) else json.dumps(content))
        return CliRunner().invoke(compare_command, [str(tmp_path / "A.json"), str(tmp_path / "B.json"), *options])

    return command


def test_a_run_is_the_same_as_itself(run) -> None:
    # what failed there fails here too
    rows = [each for each in every() if verdict(each) is not False]
    assert set(statuses(rows, deepcopy(rows), Fraction(0))) == {SAME}
    done = run(rows, rows, "--threshold", "0")
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"{len(rows)} rows, threshold 0 %: {len(rows)} same" in done.stdout


def test_figures_of_ike_are_compared_by_their_units() -> None:
    """A rate may not fall and a time may not grow. Wall clocks vary, so runs whose figures lie
    among each other are the same."""
    rows = [each for each in ike() if verdict(each) is not False]
    names = [row["figure_name"] for row in rows]
    for name, factor, expected in (
        ("tunnels set up", 0.5, WORSE),
        ("tunnels set up", 2, BETTER),
        ("tunnels set up", 0.98, SAME),
        ("first packet", 2, WORSE),
        ("first packet", 0.5, BETTER),
        ("blocked", 1.02, WORSE),
    ):
        after = deepcopy(rows)
        changed_row = after[names.index(name)]
        changed_row["figure"] *= factor
        changed_row["figure_runs"] = [factor * each for each in changed_row["figure_runs"]]
        found = dict(zip(names, statuses(rows, after), strict=True))
        assert found == dict.fromkeys(names, SAME) | {name: expected}
    lost = deepcopy(rows)
    lost[0]["passed"] = False
    assert statuses(rows, lost) == [FAILED, *[SAME] * (len(rows) - 1)]


def test_figures_of_connections_are_compared_by_object_and_unit() -> None:
    rows = [each for each in connections() if verdict(each) is not False]
    for at, factor, expected in ((0, 0.5, WORSE), (1, 2, BETTER), (2, 0.5, WORSE), (0, 0.99, SAME)):
        after = deepcopy(rows)
        after[at]["figure"] *= factor
        after[at]["figure_runs"] = [factor * each for each in after[at]["figure_runs"]]
        wanted = [expected if number == at else SAME for number in range(len(rows))]
        assert statuses(rows, after) == wanted


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("throughput_pct", lambda v: v * 0.98, WORSE),
        ("throughput_pct", lambda v: v * 0.995, SAME),  # within the threshold
        ("throughput_pct", lambda v: v * 1.02, BETTER),
        ("latency_ns.avg", lambda v: v * 1.02, WORSE),
        ("latency_ns.avg", lambda v: v * 0.98, BETTER),
        ("latency_ns.p99", lambda v: v * 1.02, WORSE),
        ("latency_ns.max", lambda v: v * 9, SAME),  # one packet's fate is not compared
        ("loss_pct", lambda _: 0.0001, WORSE),  # from none to some, however few
        ("passed", lambda _: False, FAILED),
        ("wall_s", lambda v: v * 9, SAME),
        ("seed", lambda v: v + 1, SAME),
    ],
)
def test_what_is_worse(path: str, value: Callable, expected: str) -> None:
    before, after = changed(path, value)
    assert statuses([before], [after]) == [expected]


def test_worse_in_one_figure_is_worse() -> None:
    before, after = changed("throughput_pct", lambda v: v * 1.02)
    after["latency_ns"]["p99"] *= 1.02
    assert statuses([before], [after]) == [WORSE]


def test_latency_is_compared_at_the_same_load_alone() -> None:
    before, after = changed("throughput_pct", lambda v: v * 1.5)
    after["load_pct"] *= 1.5
    after["latency_ns"]["avg"] *= 3
    assert statuses([before], [after]) == [BETTER]


def test_loss_is_compared_in_points() -> None:
    before = row("64", "loss", lost=100) | {"loss_pct": 39.0}
    assert statuses([before], [before | {"loss_pct": 39.9}]) == [SAME]
    assert statuses([before], [before | {"loss_pct": 40.1}]) == [WORSE]
    assert statuses([before], [before | {"loss_pct": 37.0}]) == [BETTER]
    # another load is another row
    assert statuses([before], [before | {"load_pct": 10.0}]) == [MISSING, NEW]


@pytest.mark.parametrize(("test", "column"), [("recovery", "recovery_ns"), ("reset", "outage_ns")])
def test_times_until_traffic_is_back(test: str, column: str) -> None:
    own = {"overload_pct": 67.0, "then_pct": 33.0} if test == "recovery" else {"reset": "software"}
    none, some, more, never = (row("64", test, **own, **{column: value}) for value in (0.0, 900.0, 990.0, None))
    assert [statuses([a], [b]) for a, b in ((none, some), (some, more), (more, some), (some, never), (never, some), (never, never))] == [
        [WORSE], [WORSE], [BETTER], [FAILED], [BETTER], [FAILED],
    ]  # fmt: skip


def test_bursts_are_compared() -> None:
    before = next(r for r in every() if r["test"] == "back-to-back")
    assert statuses([before], [before | {"burst_frames": 3000}]) == [WORSE]


@pytest.mark.parametrize(
    "other",
    [
        {"suite": "sm4-sm3"}, {"mode": "transport"}, {"ip": 6}, {"nat_t": True}, {"direction": "encrypt"}, {"boxes": 1}, {"sas": 16},
        {"tables": "full"}, {"frame_size": 65}, {"test": "tunnels"}, {"rekeys": 8}, {"simulated": False},
    ],
)  # fmt: skip
def test_what_identifies_a_row(other: dict) -> None:
    before = row("64", "throughput")
    assert statuses([before], [before | other]) == [MISSING, NEW]


def test_rows_of_latency_are_told_apart_by_their_share_of_throughput() -> None:
    rows = of_latency()
    assert statuses(rows, rows[::-1]) == [SAME] * len(rows)


def test_rows_of_several_seeds_are_paired_in_their_order() -> None:
    rows = [row("64", "throughput", setup=replace(SETUP, seed=seed)) for seed in (1, 2, 3)]
    assert statuses(rows, rows[:2]) == [SAME, SAME, MISSING]


def test_the_command_says_what_is_worse(run, tmp_path: Path) -> None:
    before, after = throughput(), throughput()
    after[0]["throughput_pct"] *= 0.9
    after[1]["latency_ns"]["avg"] *= 0.9
    after[2]["passed"] = False
    after[3] |= {"suite": "sm4-sm3"}
    done = run(before, after, "--json", str(tmp_path / "C.json"))
    assert done.exit_code == 1
    assert "60.87 → 54.78 (-10.00 %)" in done.stdout
    assert "6 rows, threshold 1 %: 1 worse, 1 better, 1 failed, 1 missing, 1 same, 1 new" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "is worse than" in done.stderr and "1 worse, 1 failed, 1 missing of 6 rows" in done.stderr
    rows = json.loads((tmp_path / "C.json").read_text())
    assert [r["status"] for r in rows] == [WORSE, BETTER, FAILED, MISSING, SAME, NEW]
    assert rows[0]["changes"]["throughput"] == {
        "before": before[0]["throughput_pct"], "after": after[0]["throughput_pct"], "change_pct": pytest.approx(-10),
    }  # fmt: skip


def test_better_and_new_rows_do_not_fail(run) -> None:
    after = throughput()
    after[0]["throughput_pct"] *= 1.1
    done = run(throughput()[:4], after, "--threshold", "0.5 %")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "5 rows, threshold 0.5 %: 1 better, 3 same, 1 new" in done.stdout


GOOD = row("64", "throughput")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "B.json cannot be read (No such file or directory)"),
        ("{", "B.json is not JSON"),
        ("\x00\xff", "B.json is not JSON"),
        ({"rows": []}, "B.json is no list of rows"),
        ([], "B.json is no list of rows"),
        ([1], "B.json is no list of rows"),
        ([GOOD, {**GOOD, "schema": 1}], "B.json: row 2 has schema 1, and this compares rows of schema 2"),
        ([{"test": "throughput"}], "B.json: row 1 has no schema"),
        ([{k: v for k, v in GOOD.items() if k != "load_pct"}], "B.json: row 1 has no load_pct"),
        ([{**GOOD, "test": "reset"}], "B.json: row 1 has no reset"),
        ([{**GOOD, "loss_pct": "much"}], "B.json: loss_pct of row 1 is 'much'"),
        ([{**GOOD, "throughput_pct": True}], "B.json: throughput_pct of row 1 is True"),
        ([{**GOOD, "latency_ns": {"avg": 1}}], "B.json: latency_ns of row 1 is {'avg': 1}"),
        ([{**GOOD, "suite": ["a"]}], "B.json: suite of row 1 is ['a']"),
    ],
)
def test_what_is_no_rows_is_refused(run, tmp_path: Path, content: object, why: str) -> None:
    done = run([GOOD], content, "--json", str(tmp_path / "C.json"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert why in done.stderr
    assert done.stderr.startswith("sallyport: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "C.json").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("many", "give a number of percent"),
        ("-1", "choose 0 to 100"),
        ("nan", "give a number"),
        ("101%", "choose 0 to 100"),
    ],
)
def test_a_threshold_that_is_none_is_refused(run, text: str, why: str) -> None:
    done = run([GOOD], [GOOD], "--threshold", text)
    assert done.exit_code == 2
    assert why in done.stderr


def test_the_boxes_are_as_fast_as_the_baseline(tmp_path: Path) -> None:
    """Every figure, exactly: what changes one changes the baseline in the same commit
    (`python -m tests.tester.make_baseline`)."""
    if not make_baseline.BASELINE.exists():
        pytest.skip(
            f"{make_baseline.BASELINE.name} is not there yet: make it with python -m tests.tester.make_baseline"
        )
    fresh = tmp_path / "fresh.json"
    fresh.write_text(json.dumps(make_baseline.measured(os.environ.get(CRYPTO_VARIABLE, "rtl"))))
    before, after = read(make_baseline.BASELINE), read(fresh)
    assert set(statuses(before, after, Fraction(0))) == {SAME}
    # A column that came in since is no difference.
    assert [{name: row.get(name) for name in old} for row, old in zip(after, before, strict=True)] == before
