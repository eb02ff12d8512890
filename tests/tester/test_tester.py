# SPDX-License-Identifier: Apache-2.0
"""The tests of RFC 2544 against a box with known behaviour, and short runs of each against
simulated boxes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest

from sallyport import suites
from sallyport.backend import Capabilities, Latency, Setup, Trial, TrialResult
from sallyport.backend_sim import SimBackend
from sallyport.errors import InputError
from sallyport.ike import MEASURES
from sallyport.mixes import genome
from sallyport.rfc2544 import TESTS, plan
from sallyport.rfc2544.case import Case, Options
from sallyport.rfc2544.sizes import STANDARD, parse
from tests.support.replay import sallyport

GCM = suites.parse("aes256gcm16")
SETUP = Setup({64: 1}, GCM, measure_ns=200_000)
QUICK = ("--warmup-us", 10, "--measure-us", 40, "--threads", 2)
NO_LATENCY = Latency(0, 0, 0, 0, 0, 0, 0)


@dataclass
class KnownBox:
    """Forwards `capacity` frames a second, holds `buffer` frames, and loses the rest; how it is
    asked, `trials` tells."""

    capacity: Fraction
    buffer: int = 0
    says_first_lost: bool = True
    recovers_ns: float = 0.0

    def __post_init__(self) -> None:
        self.trials: list[Trial] = []

    def run(self, trial: Trial) -> TrialResult:
        self.trials.append(trial)
        sent = trial.burst or int(trial.fps * trial.setup.measure_ns / 10**9)
        first, lost = None, 0
        if trial.fps > self.capacity:
            overflow = 1 - self.capacity / trial.fps
            # A buffer that was full before helps no trial; a burst finds it empty.
            first = min(int(self.buffer / overflow), sent) if trial.burst else 0
            lost = sent - first if trial.burst else int(sent * overflow)
            first = first if lost else None
        return TrialResult(
            trial.fps, trial.fps, sent, sent - lost, lost, 0, 0, 0, False, NO_LATENCY, NO_LATENCY, 0.0, [],
            first_lost=first if self.says_first_lost else None,
            last_loss_ns=trial.setup.measure_ns + self.recovers_ns if lost and trial.then_fps else None,
        )  # fmt: skip

    def rows(self, test: str, **more: object) -> list[dict]:
        capabilities = Capabilities("known", True, (), (2,), ("power",), (), 0, 200_000, 200_000, True)
        return list(TESTS[test](Case(test, "64", SETUP, Options(**more), capabilities, self.run)))  # type: ignore[arg-type]


@pytest.mark.parametrize("hint", [True, False])
@pytest.mark.parametrize("buffer", [1, 700, 5000])
def test_back_to_back_finds_the_longest_burst(buffer: int, hint: bool) -> None:
    """By a hint in three trials, by halves otherwise; RFC 9004's corrected buffer is the
    box's own."""
    box = KnownBox(SETUP.line_fps / 2, buffer, hint)
    (row,) = box.rows("back-to-back", burst_runs=2)
    assert row["burst_runs"] == [2 * buffer] * 2
    assert row["corrected_frames"] == pytest.approx(buffer, rel=0.002)
    assert row["corrected_us"] == pytest.approx(buffer * 1e6 / float(SETUP.line_fps), rel=0.002)
    assert not row["unlimited"]
    assert row["burst_sd"] == 0
    assert {trial.setup.seed for trial in box.trials} == {1, 2}
    bursts = [trial.burst for trial in box.trials if trial.burst and trial.setup.seed == 1]
    assert (len(bursts) == 3) if hint else (len(bursts) < 20)


def test_back_to_back_has_an_end() -> None:
    """A box without a limit is asked once, for as many frames as a trial's time holds."""
    (row,) = KnownBox(SETUP.line_fps).rows("back-to-back")
    assert row["unlimited"]
    assert row["burst_runs"] == [int(SETUP.line_fps * 200 / 10**6)]


def test_recovery_is_from_the_change_on() -> None:
    for after, found in ((-5.0, 0.0), (3000.0, 3000.0), (99_000.0, None)):
        box = KnownBox(SETUP.line_fps / 2, recovers_ns=after)
        (row,) = box.rows("recovery")
        assert row["recovery_ns"] == found
        last = box.trials[-1]
        assert last.fps == pytest.approx(float(SETUP.line_fps * 11 / 20), rel=0.002)
        assert last.then_fps == last.fps / 2
        assert row["throughput_pct"] == pytest.approx(50, rel=0.002)


def test_latency_is_at_parts_of_the_throughput() -> None:
    rows = KnownBox(SETUP.line_fps / 4).rows("latency")
    assert [row["of_throughput_pct"] for row in rows] == [10, 50, 90, 100]
    assert [row["load_pct"] for row in rows] == pytest.approx([2.5, 12.5, 22.5, 25], rel=0.002)


def test_loss_ends_with_two_clean_trials() -> None:
    rows = KnownBox(SETUP.line_fps * 3 / 4).rows("loss")
    assert [row["load_pct"] for row in rows] == [100, 90, 80, 70, 60]
    assert [row["loss_pct"] for row in rows] == pytest.approx([25, 16.667, 6.25, 0, 0], abs=0.01)


def test_the_load_bounds_loss_and_bursts_too() -> None:
    """A burst at a quarter of line rate comes no faster than that."""
    box = KnownBox(SETUP.line_fps / 8, 700)
    assert [row["load_pct"] for row in box.rows("loss", load=Fraction(1, 4))][:3] == [25, 22.5, 20]
    (row,) = box.rows("back-to-back", load=Fraction(1, 4))
    assert row["burst_runs"] == [1400] and row["corrected_frames"] == pytest.approx(700, rel=0.01)
    assert max(trial.fps for trial in box.trials) == pytest.approx(SETUP.line_fps / 4)


def sizes(text: str, **setup: object) -> list[tuple[str, dict[int, int]]]:
    return parse(text, replace(Setup({}, GCM), **setup))


def test_sizes_by_every_name() -> None:
    assert sizes("64, imix") == [("64", {64: 1}), ("imix", {64: 7, 594: 4, 1518: 1})]
    assert sizes("imix:aaagi") == [("imix:aaagi", {64: 3, 1518: 1, 9000: 1})]
    assert sizes("largest,1464") == [("1464", {1464: 1})]
    assert sizes("largest", ip=6, nat_t=True) == [("1436", {1436: 1})]
    assert sizes("64,65,128", ip=6) == [("82", {82: 1}), ("128", {128: 1})]
    assert len(sizes("all")) == len(STANDARD) == 16
    assert genome({64: 7, 594: 4, 1518: 1}) == "aaaaaaaAAAAg (A=594)"


@pytest.mark.parametrize("text", ["63", "9601", "", "64,,65", "imix:", "imix:xyz", "big"])
def test_a_size_that_is_none_is_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match=r"^--frame-size '"):
        sizes(text)


def rows(folder: Path, *arguments: object) -> list[dict]:
    sallyport("rfc2544", *QUICK, *arguments, "--json", folder / "rows.json")
    return json.loads((folder / "rows.json").read_text())


@pytest.mark.parametrize(
    "arguments", [("--ip", 6), ("--nat-t",), ("--ip", 6, "--nat-t"), ("--ip", 6, "--mode", "transport")]
)
def test_ipv6_and_nat_traversal_carry_what_the_wire_allows(tmp_path: Path, arguments: tuple) -> None:
    found = rows(tmp_path, *arguments, "--frame-size", "64,1400", "--sas", 3)
    for row in found:
        assert (row["passed"], row["lost"], row["reordered"]) == (True, 0, 0)
        assert row["ratio"] >= 0.99


def test_bursts_of_a_simulated_box(tmp_path: Path) -> None:
    """A frame more than the longest burst is lost, and no test knows that but by sending it."""
    (row,) = rows(tmp_path, "--test", "back-to-back", "--frame-size", 64)
    assert not row["unlimited"]
    assert 1000 < row["burst_frames"] < 5952
    assert row["corrected_frames"] == pytest.approx(row["burst_frames"] * (1 - row["throughput_pct"] / 100), rel=1e-3)


def test_a_reset_box_comes_back(tmp_path: Path) -> None:
    found = rows(tmp_path, "--test", "reset", "--frame-size", 1400, "--measure-us", 100)
    assert [row["reset"] for row in found] == ["software", "hardware"]
    for row in found:
        assert 0 < row["lost"] < row["tx_frames"]
        assert 1_000 < row["outage_ns"] < 90_000
    assert found[0]["outage_ns"] < found[1]["outage_ns"]


def test_honest_packets_lose_nothing_beside_an_attack(tmp_path: Path) -> None:
    found = rows(tmp_path, "--test", "attack", "--frame-size", 64, "--sas", 2)
    assert [row["attack"] for row in found] == ["replay", "bad-icv", "unknown-spi"]
    names = ["inner.drop_replayed", "crypto.drop_dec_icv", "outer.drop_punt_unknown_spi"]
    for row, name in zip(found, names, strict=True):
        assert (row["passed"], row["lost"]) == (True, 0)
        # As many as the honest ones, but for what began later.
        assert sum(row["dropped"].values()) > 0.8 * row["tx_frames"]
        assert max(row["dropped"], key=lambda key: row["dropped"][key]) == f"box0.{name}"


def test_an_overloaded_box_recovers_at_once(tmp_path: Path) -> None:
    """The lost frames were sent before the change, or while the queue that it left was
    still full."""
    (row,) = rows(tmp_path, "--test", "recovery", "--frame-size", 64, "--measure-us", 80)
    assert row["lost"] == 0 or row["recovery_ns"] is not None
    assert (row["overload_pct"], row["then_pct"]) == pytest.approx((66.9565, 33.4783))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--test", "speed"), "there is no test 'speed'"),
        (("--test", "throughput,"), "there is no test ''"),
        (("--latency-at", "0"), "--latency-at 0: choose"),
        (("--latency-at", "10,x"), "--latency-at 'x': give a number"),
        (("--nat-t", "--mode", "transport"), "--nat-t with --mode transport"),
        (("--test", "reset", "--boxes", "1", "--frame-size", "64"), "--test reset with --boxes 1"),
        (("--jobs", "0"), "Invalid value for '--jobs'"),
        (("--test", "ike,throughput"), "--test ike,throughput: tests of IKE have tunnels of their own"),
        (("--test", "ike", "--jobs", "2"), "--test ike: IKE runs in this machine's time"),
        (("--test", "ike", "--sas", "2"), "--sas with --test ike: --ike-tunnels says how many tunnels"),
        (("--test", "ike", "--rekeys", "2"), "--rekeys with --test ike"),
        (("--test", "ike", "--goal", "ndr"), "--goal with --test ike"),
        (("--test", "ike-tunnels", "--direction", "encrypt"), "--direction with --test ike-tunnels"),
        (("--test", "ike", "--ike-tunnels", "0"), "Invalid value for '--ike-tunnels'"),
        (("--test", "ike", "--ike-tunnels", "1025"), "Invalid value for '--ike-tunnels'"),
        (
            ("--test", "ike", "--ike-tunnels", "3", "--suite", "aes256gcm16,aes128gcm16"),
            "--ike-tunnels 3: the 2 suites",
        ),
        (("--ike-tunnels", "2"), "--ike-tunnels is of the tests of IKE"),
        (("--ike-flood", "2000"), "--ike-flood is of the tests of IKE"),
        (("--test", "ike", "--ike-flood", "99"), "Invalid value for '--ike-flood'"),
        (("--test", "ike", "--ike-flood", "20001"), "Invalid value for '--ike-flood'"),
        (("--test", "ike", "--boxes", "1"), "--boxes 1 with a test of IKE"),
        (("--test", "ike", "--ip", "6"), "a test of IKE is of tunnels over IPv4"),
        (("--test", "ike", "--mode", "transport"), "a test of IKE is of tunnels over IPv4"),
        (("--test", "ike", "--suite", "sm4-sm3"), "--suite sm4-sm3 with a test of IKE: IKE has no number for SM4"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments: tuple, sentence: str) -> None:
    done = sallyport("rfc2544", *arguments, check=False)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith(f"sallyport: {sentence}")


def test_ike_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = sallyport("rfc2544", "--test", "ike", check=False)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].endswith("which root alone makes: run this as root")


def test_all_leaves_ike_out_and_ike_names_all_of_it() -> None:
    """`all` needs neither root nor strongSwan; a real tester has no test of IKE yet."""
    simulated = SimBackend().capabilities()
    assert not set(plan.parse_tests("all", simulated)) & set(MEASURES)
    assert plan.parse_tests("ike", simulated) == [*MEASURES]
    with pytest.raises(InputError, match="--backend trex has no test 'ike-tunnels'"):
        plan.parse_tests("ike", replace(simulated, name="trex", ike=()))
