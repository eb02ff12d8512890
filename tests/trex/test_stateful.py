# SPDX-License-Identifier: Apache-2.0
"""Tests of connections by TRex's ASTF mode, against the stand-in of its client."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from sallyport.backend import Trial, TrialResult
from sallyport.errors import CheckFailed, InputError
from sallyport.stateful import TESTS, Wire
from sallyport.trex.connections import Connections, Look
from tests.support.replay import Result, sallyport
from tests.trex.lab import BOX_MAC, MAC, Lab, fields, setup
from tests.trex.test_refusals import refused


def made(test: str = "http-connections", cps: int = 1000, size: int = 1400, **of: object) -> Trial:
    """A trial of so many connections a second."""
    asked = setup({size: 1}, warmup_ns=1_000_000_000, **({"object_bytes": TESTS[test].object_bytes} | of))
    return Trial(asked, cps * Wire(TESTS[test], asked).frames, stateful=test)


def stateful(lab: Lab, **world: object) -> None:
    lab.world(mode="astf", **world)


def figures(result: TrialResult) -> dict[str, float | None]:
    return {figure.name: figure.value for figure in result.figures}


@pytest.mark.parametrize(
    ("test", "transactions"), [("http-connections", 1), ("http-throughput", 10), ("tcp-throughput", 1)]
)
def test_figures_of_boxes_that_keep_up(lab: Lab, test: str, transactions: int) -> None:
    stateful(lab)
    result = lab.backend().run_trial(made(test))
    assert result.passed, result.reasons
    found = figures(result)
    assert found["connections"] == pytest.approx(1000, rel=0.01)
    assert found["transactions"] == pytest.approx(1000 * transactions, rel=0.01)
    answer = TESTS[test].answer_bytes(TESTS[test].object_bytes)
    assert found["answers"] == pytest.approx(8e-9 * 1000 * transactions * answer, rel=0.01)
    assert (found["segments sent again"], found["connections failed"]) == (0, 0)
    assert float(result.offered_fps) == pytest.approx(float(result.intended_fps), rel=0.01)
    assert result.tester["name"] == "TRex"


def test_the_wire_of_a_connection_by_hand() -> None:
    # Each frame has 18 B of Ethernet, 20 of IPv4, 32 of TCP with timestamps, and 20 of preamble and
    # gap. The answer has 1024 B behind a header of 100, and three frames have none of it.
    frames = made().fps / 1000
    assert frames == Fraction(1124 + (1 + 3) * (18 + 20 + 32 + 20), 1400 + 20)
    assert Wire(TESTS["http-connections"], made().setup).mss == 1400 - 18 - 20 - 20
    # Ten answers of 65,637 B, each in 50 segments of up to 1330.
    frames = made("http-throughput").fps / 1000
    assert frames == Fraction(10 * 65_637 + (10 * 50 + 3) * 90, 1420)


def test_clients_and_servers_are_the_hosts_behind_the_boxes(lab: Lab) -> None:
    stateful(lab)
    lab.backend().run_trial(made())
    (loaded,) = (call for call in lab.calls() if call["call"] == "load_profile")
    assert loaded["addresses"] == ["198.18.0.1", "198.18.0.2", "198.19.0.1", "198.19.0.2"]
    assert loaded["cps"] == pytest.approx(1000)
    (start,) = (call for call in lab.calls() if call["call"] == "start")
    assert (start["client_mask"], start["duration"]) == (1, 7.5)


def test_clients_are_at_the_even_port_wherever_that_is(lab: Lab) -> None:
    stateful(lab)
    swapped = fields()
    left, right = swapped["boxes"]
    left["red"] |= {"port": 1, "mac": MAC[1], "next_hop": BOX_MAC[1]}
    right["red"] = {"port": 0, "mac": MAC[0], "next_hop": BOX_MAC[0]}
    assert lab.backend(text=yaml.safe_dump(swapped)).run_trial(made()).passed
    (loaded,) = (call for call in lab.calls() if call["call"] == "load_profile")
    assert loaded["addresses"][0] == "198.19.0.1"


def test_bumps_in_the_wire_pass_frames_for_the_far_port(lab: Lab) -> None:
    stateful(lab, bridge=True)
    assert lab.backend().run_trial(made(mode="transport")).passed
    assert not lab.backend().run_trial(made()).passed


@pytest.mark.parametrize(("part", "passes"), [(1.0, True), (0.955, True), (0.945, False)])
def test_95_percent_of_the_rate_must_be_served(lab: Lab, part: float, passes: bool) -> None:
    trial = made(cps=1000)
    # The stand-in counts a segment for the answer, and three more.
    stateful(lab, capacity_fps=4 * 1000 * part)
    result = lab.backend().run_trial(trial)
    assert result.passed is passes
    assert any("of the rate asked for was served" in reason for reason in result.reasons) is not passes
    if part < 1:
        assert result.lost and figures(result)["segments sent again"]


@pytest.mark.parametrize(("fail", "passes"), [(0, True), (1, True), (2, False)])
def test_one_of_100000_connections_may_fail(lab: Lab, fail: int, passes: bool) -> None:
    stateful(lab, fail=fail)
    result = lab.backend().run_trial(made(cps=13_400))  # 7.5 s
    assert figures(result)["connections failed"] == fail
    assert result.passed is passes, result.reasons
    assert result.reasons == ([] if passes else ["2 of 100500 connections failed"])


def test_connections_that_hang_are_stopped_and_failed(lab: Lab) -> None:
    stateful(lab, capacity_fps=40)
    result = lab.backend().run_trial(made())
    assert any("connections failed" in reason for reason in result.reasons)
    assert [call["call"] for call in lab.calls()].count("stop") == 1


def test_boxes_that_take_no_frame_serve_nothing(lab: Lab) -> None:
    stateful(lab)
    result = lab.backend(boxes__0__red__next_hop="02:00:00:00:09:09").run_trial(made())
    assert "0.0 % of the rate asked for was served" in result.reasons


@pytest.mark.parametrize(
    ("counter", "reason"),
    [
        ("err_c_tuple_err", "ran out of addresses and ports (7)"),
        ("err_s_nf_throttled", "took connections too slowly (7)"),
        ("rss_redirect_drops", "dropped packets between its cores (7)"),
    ],
)
def test_what_trex_did_not_manage_is_said_of_a_trial_that_fails(lab: Lab, counter: str, reason: str) -> None:
    stateful(lab, errors={counter: 7}, capacity_fps=2000)
    reasons = lab.backend().run_trial(made()).reasons
    assert reasons[-1] == f"TRex at 192.0.2.10:4501 {reason}" and "was served" in reasons[0]
    # TCP sends a refused packet again, and TRex tries a full queue again: neither fails a trial.
    stateful(lab, errors={counter: 7}, queue_full=1)
    assert lab.backend().run_trial(made()).passed


@pytest.mark.parametrize("sends", [0.9, 0.94])
def test_a_trex_that_begins_too_few_connections_is_named(lab: Lab, sends: float) -> None:
    stateful(lab, sends=sends, cpu_util=100.0)
    reasons = lab.backend().run_trial(made()).reasons
    assert reasons == [
        f"{100 * sends:.1f} % of the rate asked for was served",
        f"TRex at 192.0.2.10:4501 began {100 * sends:.1f} % of the connections asked for, was 100 % busy",
    ]


def test_a_server_that_answers_too_late_ends_the_trial_by_one_sentence(lab: Lab) -> None:
    stateful(lab)
    backend = lab.backend()
    assert lab.clock
    late = Connections._read

    def read(self: Connections, began: float) -> Look:
        lab.clock and lab.clock.sleep(10)
        return late(self, began)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connections, "_read", read)
        with pytest.raises(CheckFailed, match="answered too late to measure 6 s of a trial; choose a longer"):
            backend.run_trial(made())


def test_a_trial_in_ipv6(lab: Lab) -> None:
    stateful(lab)
    trial = made(ip=6)
    assert Wire(TESTS["http-connections"], trial.setup).mss == 1400 - 18 - 40 - 20
    assert lab.backend().run_trial(trial).passed


def test_a_server_that_goes_away_ends_the_command_by_one_sentence(lab: Lab) -> None:
    stateful(lab, die_at="lost:get_stats:3")
    with pytest.raises(CheckFailed, match=r"was lost in the middle of a trial .*go on with --resume"):
        lab.backend().run_trial(made())


def test_an_interrupted_trial_stops_its_connections(lab: Lab) -> None:
    stateful(lab)
    backend = lab.backend()

    def interrupt(*_: float) -> None:
        raise KeyboardInterrupt

    backend._on_progress = interrupt
    with pytest.raises(KeyboardInterrupt):
        backend.run_trial(made())
    assert [call["call"] for call in lab.calls()][-1] == "stop"


@pytest.mark.parametrize(
    ("mode", "tests", "sentence"),
    [
        ("stl", ["http-connections"], "run the server as './t-rex-64 -i --astf'"),
        ("astf", ["throughput"], "run the server as './t-rex-64 -i', without --astf"),
    ],
)
def test_a_server_in_the_other_mode(lab: Lab, mode: str, tests: list[str], sentence: str) -> None:
    lab.world(mode=mode)
    with pytest.raises(InputError) as error:
        lab.backend().check(made().setup, tests)
    refused(error, sentence)


@pytest.mark.parametrize(
    ("changes", "of", "sentence"),
    [
        ({"boxes__0__red__port": 2}, {}, "TRex's clients are at an even port and their servers at the next one"),
        ({"boxes__1__red__vlan": 7}, {}, "vlan of red of right: a stateful test has no tags"),
        ({}, {"mix": {64: 7, 1518: 1}}, "--frame-size: a stateful test has segments of one size"),
        ({}, {"mix": {133: 1}}, "--frame-size 133: a stateful test needs 134 or more over IPv4"),
        ({}, {"mix": {153: 1}, "ip": 6}, "--frame-size 153: a stateful test needs 154 or more over IPv6"),
    ],
)
def test_a_lab_or_frames_of_other_tests(lab: Lab, changes: dict, of: dict, sentence: str) -> None:
    stateful(lab)
    with pytest.raises(InputError) as error:
        lab.backend(**changes).check(replace(made().setup, **of), ["http-connections"])
    refused(error, sentence)
    assert not [call for call in lab.calls() if call["call"] == "start"]


def test_the_smallest_frame_is_taken(lab: Lab) -> None:
    stateful(lab)
    backend = lab.backend()
    backend.check(made(size=134).setup, ["http-connections"])
    backend.check(made(size=154, ip=6).setup, ["http-connections"])


def run(lab: Lab, *options: str, **changes: object) -> Result:
    stateful(lab, capacity_fps=40_000)
    lab.file.write_text(yaml.safe_dump(fields(**changes)))
    measured = ("--measure-us", "300000", "--warmup-us", "100000")
    return sallyport("rfc2544", "--backend", "trex", "--lab", str(lab.file), *measured, *options, check=False)


def test_a_search_finds_what_the_boxes_carry_and_reports_it(lab: Lab, tmp_path: Path) -> None:
    files = ["--json", str(tmp_path / "rows.json"), "--html", str(tmp_path / "page.html")]
    done = run(lab, "--test", "http-connections", "--load", "2", "--object-size", "1k,8k", *files)
    assert done.exit_code == 0, done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert {(row["object_bytes"], row["figure_name"]) for row in rows} >= {(1024, "connections"), (8192, "connections")}
    assert all(row["passed"] for row in rows)
    found = {row["object_bytes"]: row["figure"] for row in rows if row["figure_name"] == "connections"}
    # four and ten segments a connection, and up to 5 % more are asked for than are served
    assert found[1024] == pytest.approx(10_000, rel=0.1) and found[8192] == pytest.approx(4000, rel=0.1)
    page = (tmp_path / "page.html").read_text()
    assert "HTTP: connections a second" in page and "8,192" in page
    again = run(lab, "--test", "http-connections", "--load", "2", "--object-size", "1k,8k", "--resume", *files)
    assert again.exit_code == 0 and json.loads((tmp_path / "rows.json").read_text()) == rows
    compared = sallyport("compare", str(tmp_path / "rows.json"), str(tmp_path / "rows.json"))
    assert compared.exit_code == 0, compared.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--test", "http-connections,loss"], "tests of connections want TRex in another mode"),
        (["--test", "stateful", "--sas", "2"], "--sas with --test stateful: the hosts share the boxes' policies"),
        (["--test", "stateful", "--object-size", "0"], "--object-size '0': give sizes of 1 to 1073741824 bytes"),
        (["--test", "stateful", "--object-size", "1m"], "--object-size '1m': give sizes of 1 to 1073741824 bytes"),
        (["--test", "stateful", "--goal", "pdr"], "--goal pdr with --test stateful: TCP sends lost frames again"),
        (["--test", "loss", "--object-size", "1k"], "--object-size is of the tests of connections"),
        (["--test", "stateful", "--direction", "encrypt"], "connections go both ways"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(lab: Lab, options: list[str], sentence: str) -> None:
    done = run(lab, *options)
    assert done.exit_code == 2 and sentence in done.stderr and done.stderr.count("\n") == 1


def test_the_simulator_has_none_of_them() -> None:
    done = sallyport("rfc2544", "--test", "http-throughput", check=False)
    assert done.exit_code == 2 and "--backend sim has no test 'http-throughput'" in done.stderr
