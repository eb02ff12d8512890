# SPDX-License-Identifier: Apache-2.0
"""Trials by TRex, through the process that holds its client, against a stand-in
(tests/trex/stand_in): no TRex runs here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sallyport.backend import Latency
from sallyport.errors import CheckFailed
from sallyport.trex import measure
from sallyport.trex.measure import Sample
from tests.support.paths import ROOT
from tests.support.replay import sallyport
from tests.trex.lab import Lab, setup, trial


def test_it_says_what_it_offers_before_it_reaches_anything(lab: Lab) -> None:
    lab.world(reachable=False)
    offered = lab.backend(resets=["power"]).capabilities()
    assert (offered.name, offered.simulated, offered.boxes, offered.repeatable) == ("trex", False, (2,), False)
    assert (offered.resets, offered.attacks) == (("power",), ())
    assert "sm4-sm3" in offered.suites
    assert lab.calls() == []


def test_a_trial_without_loss(lab: Lab) -> None:
    result = lab.backend().run_trial(trial(100_000))
    assert result.passed, result.checks
    assert (result.tx_frames, result.rx_frames, result.lost) == (1_200_000, 1_200_000, 0)
    assert result.offered_fps == result.intended_fps == 100_000
    assert (result.reordered, result.duplicated, result.corrupted, result.last_loss_ns) == (0, 0, 0, None)
    assert result.simulation is None and result.lifo_ns is None


@pytest.mark.parametrize(("direction", "port"), [("encrypt", 0), ("decrypt", 1)])
def test_one_direction_alone(lab: Lab, direction: str, port: int) -> None:
    result = lab.backend().run_trial(trial(100_000, of={"direction": direction}))
    assert result.passed and result.tx_frames == result.rx_frames == 600_000
    assert list(lab.streams()) == [port]


def test_loss_above_what_the_boxes_carry(lab: Lab) -> None:
    lab.world(capacity_fps=75_000)
    result = lab.backend().run_trial(trial(100_000))
    assert not result.passed and result.checks == []
    assert (result.tx_frames, result.lost) == (1_200_000, 300_000)
    assert result.last_loss_ns == 6e9
    assert lab.backend().run_trial(trial(75_000)).passed


def test_a_single_lost_frame_is_seen_wherever_it_is_lost(lab: Lab) -> None:
    for group in (1, 2, 16, 80):
        lab.world(lose={str(group): 1})
        assert lab.backend().run_trial(trial(100_000)).lost == 1


def test_frames_that_come_twice_hide_no_lost_ones(lab: Lab) -> None:
    """Of a latency stream TRex counts the numbers that are missing; the bulk's frames have
    none."""
    lab.world(lose={"16": 60}, double={"16": 51})
    result = lab.backend().run_trial(trial(100_000))
    assert (result.lost, result.duplicated) == (60, 51)
    lab.world(lose={"1": 60}, double={"1": 51, "16": 1})
    result = lab.backend().run_trial(trial(100_000))
    assert result.lost == 9
    assert any("frames came twice" in each for each in result.checks)


def test_latency_is_of_the_latency_streams_alone(lab: Lab) -> None:
    lab.world(latency_us=[[3, 900], [25, 90], [140, 10]])
    result = lab.backend(latency_fps=500).run_trial(trial(100_000))
    # 3,000 frames a direction; TRex's buckets are 0 to 10, 20 to 30 and 100 to 200 µs.
    assert result.histogram == [(10_000.0, 5400), (30_000.0, 540), (200_000.0, 60)]
    assert result.fifo_ns == Latency(
        min=3000.0, avg=pytest.approx(6350.0), p50=10_000.0, p90=10_000.0, p99=30_000.0, p99_99=140_000.0, max=140_000.0
    )
    assert result.jitter_ns == 2000.0


def test_the_average_is_that_of_all_the_trial(lab: Lab) -> None:
    """A queue fills for 6 s, up to 3 s of delay, and drains. TRex's own average forgets: in the end
    it is that of the last second."""
    lab.world(capacity_fps=1000, queue=4000)
    result = lab.backend(drain_ms=500).run_trial(trial(1500))
    assert result.lost == 0 and result.fifo_ns
    assert result.fifo_ns.avg == pytest.approx(1.5e9, rel=0.15)


def test_what_latency_streams_tell_of_order(lab: Lab) -> None:
    lab.world(out_of_order=2, double={"16": 1, "80": 1}, bad_hdr=3)
    result = lab.backend().run_trial(trial(100_000))
    assert (result.reordered, result.duplicated, result.corrupted) == (4, 2, 3)
    assert not result.passed and result.lost == 0


def test_a_damaged_time_is_no_latency(lab: Lab) -> None:
    """TRex sees no damage of the time in a frame, if the rest of its signature is whole."""
    lab.world(latency_us=[[3, 9999], [422_890_825, 1]])
    (said,) = lab.backend().run_trial(trial(100_000)).checks
    assert said.startswith("a latency frame took 423 s by the time in it, longer than the trial")


def test_what_makes_a_figure_a_fluke_is_said(lab: Lab) -> None:
    lab.world(sends=0.9)
    late = lab.backend().run_trial(trial(100_000))
    assert late.tx_frames == 1_200_000, "it leaves no frame out"
    assert float(late.offered_fps) == pytest.approx(90_000, rel=0.04)
    assert "% of the intended load" in late.checks[0]
    lab.world(extra=5)
    (first, second) = lab.backend().run_trial(trial(100_000)).checks
    assert "port 1, received 5 frames more" in first and "port 0, received 5 frames more" in second
    lab.world(ierrors=7)
    assert "7 receive errors" in lab.backend().run_trial(trial(100_000)).checks[0]
    lab.world(capacity_fps=0.001)
    assert any("none of its latency frames" in each for each in lab.backend().run_trial(trial(100_000)).checks)


def test_a_wait_for_late_frames_is_not_taken_for_a_client_that_is_gone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be as long as the client's slowest answer, and Ctrl-C must end it."""
    lab.in_real_time()
    backend = lab.backend(drain_ms=1000, start_ms=0)
    backend.check(setup())
    monkeypatch.setattr("sallyport.trex.process.ANSWER_SECONDS", 0.8)
    backend.run_trial(trial(1000, of={"warmup_ns": 100_000_000, "measure_ns": 100_000_000}))


def test_a_warm_up_is_not_counted(lab: Lab) -> None:
    result = lab.backend().run_trial(trial(100_000, of={"warmup_ns": 5_000_000_000}))
    assert result.tx_frames == 1_200_000
    order = [call["call"] for call in lab.calls() if call["call"] in ("add_streams", "start", "wait_on_traffic")]
    each = ["add_streams", "add_streams", "start", "wait_on_traffic"]
    assert order == 2 * each
    assert [call["duration"] for call in lab.calls() if call["call"] == "start"] == [5.1, 6.1]


def test_the_box_rests_and_frames_arrive_as_rfc_2544_has_it(lab: Lab) -> None:
    assert lab.clock
    began = lab.clock.monotonic()
    lab.backend(settle_ms=5000, drain_ms=2000).run_trial(trial(100_000))
    assert lab.clock.monotonic() - began == pytest.approx(5 + 0.1 + 6 + 2, abs=0.01)


def test_a_burst_is_so_many_frames_and_nothing_else(lab: Lab) -> None:
    lab.world(lose={"1": 40})
    result = lab.backend().run_trial(trial(100_000, {64: 7, 594: 4, 1518: 1}, {"warmup_ns": 1}, burst=20_000))
    assert (result.tx_frames, result.rx_frames, result.lost) == (40_000, 39_960, 40)
    assert result.checks == [] and result.fifo_ns is None
    starts = [call for call in lab.calls() if call["call"] == "start"]
    assert [start["duration"] for start in starts] == [-1]


def test_what_a_burst_offers_is_what_was_sent(lab: Lab) -> None:
    lab.world(sends=0.5)
    result = lab.backend().run_trial(trial(100_000, burst=20_000))
    assert result.tx_frames == 40_000
    assert float(result.offered_fps) == pytest.approx(50_000, rel=0.05)
    (said,) = result.checks
    assert "% of the intended load" in said


def test_a_burst_too_short_to_be_timed_is_not_taken_for_a_slow_one(lab: Lab) -> None:
    """10 ms: as much may pass until TRex hears of the start."""
    lab.world(sends=0.5)
    assert lab.backend().run_trial(trial(100_000, burst=1000)).checks == []


def test_what_waits_in_a_box_is_not_lost(lab: Lab) -> None:
    """Its queue needs 4 s to drain, twice as long as late frames are waited for."""
    lab.world(capacity_fps=1000, queue=4000)
    result = lab.backend(drain_ms=2000).run_trial(trial(1500))
    assert result.lost == 0


def test_the_last_loss_is_not_taken_for_one_that_waits(lab: Lab) -> None:
    """After the change the box goes on losing 5 frames a second of its full queue of 2,000, until
    the end. All of them arrive."""
    lab.world(capacity_fps=995, queue=2000)
    result = lab.backend(drain_ms=2500).run_trial(trial(2000, then_fps=1000))
    assert result.lost == pytest.approx(2 * (2 * 6000 + 3 * 1000 - 9 * 995 - 2000), rel=0.01)
    assert result.last_loss_ns is not None
    assert 8.5e9 <= result.last_loss_ns <= 9.1e9


def test_a_queue_that_drains_after_the_change_is_not_taken_for_losses(lab: Lab) -> None:
    """It holds 0.1 s of frames; TRex's average of their delay tells of it for seconds more."""
    lab.world(capacity_fps=80_000, queue=8000)
    result = lab.backend().run_trial(trial(110_000, then_fps=55_000))
    assert result.lost > 0
    assert result.last_loss_ns == pytest.approx(6e9, abs=0.15e9)  # 0.1 s of it is the queue's


def test_recovery_changes_the_load_and_finds_the_last_loss(lab: Lab) -> None:
    lab.world(capacity_fps=80_000)
    result = lab.backend().run_trial(trial(110_000, then_fps=55_000))
    updates = [call for call in lab.calls() if call["call"] == "update"]
    assert [update["ports"] for update in updates] == [[0], [1]]
    assert all(float(update["mult"]) == pytest.approx((55_000 - 1000) / (110_000 - 1000)) for update in updates)
    # 6 s at 110,000 a second, then 3 s at 55,000; to the rounding of the multiplier.
    assert result.tx_frames == pytest.approx(2 * 6 * 110_000 + 2 * 3 * 55_000, abs=4)
    assert result.lost == pytest.approx(2 * 6 * 30_000, abs=4)
    assert result.last_loss_ns == pytest.approx(6e9, abs=0.03e9)
    assert result.offered_fps == 110_000


def test_a_reset_is_an_operator_s_and_its_outage_is_the_loss(lab: Lab) -> None:
    lab.world(outage=[0.5, 4.7])
    backend = lab.backend(interactive=True, resets=["power"])
    result = backend.run_trial(trial(100_000, reset="power"))
    assert len(lab.asked) == 1 and "power reset of left" in lab.asked[0]
    assert result.outage_ns == 4.2e9
    assert result.checks == []


def test_a_box_that_does_not_come_back(lab: Lab) -> None:
    lab.world(outage=[0.1, 999])
    backend = lab.backend(interactive=True)
    result = backend.run_trial(trial(100_000, reset="hardware"))
    assert any("left forwarded nothing at the end" in each for each in result.checks)


def test_arp_finds_the_box(lab: Lab) -> None:
    lab.backend().check(setup())
    (asked,) = [call for call in lab.calls() if call["call"] == "set_l3_mode"]
    assert (asked["port"], asked["dst_ipv4"]) == (1, "198.19.255.254")
    modes = [(call["ports"], call["enabled"]) for call in lab.calls() if call["call"] == "set_service_mode"]
    assert modes[:2] == [([1], True), ([1], False)]  # the rest is of the start's check


def test_ports_are_taken_once_and_given_back(lab: Lab) -> None:
    backend = lab.backend()
    backend.check(setup())
    backend.run_trial(trial())
    backend.run_trial(trial())
    backend.close()
    backend.close()
    names = [call["call"] for call in lab.calls()]
    assert names.count("acquire") == names.count("connect") == 1
    assert names[-1] == "disconnect" and lab.calls()[-1]["release_ports"]


@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        ({"die_at": "get_stats:2"}, "its client ended with status 139: Segmentation fault of the stand-in"),
        ({"die_at": "lost:get_stats:2"}, "connection to the server had been lost"),
        ({"die_at": "lost:is_traffic_active:2"}, "connection to the server had been lost"),
        ({"die_at": "start:1"}, "its client ended with status 139"),
    ],
)
def test_tr_ex_goes_away_in_the_middle(lab: Lab, world: dict, sentence: str) -> None:
    lab.world(**world)
    with pytest.raises(CheckFailed) as failed:
        lab.backend().run_trial(trial())
    assert failed.value.exit_code == 1 and sentence in failed.value.message
    assert failed.value.message.startswith("TRex at 192.0.2.10:4501 was lost in the middle of a trial (")
    assert "\n" not in failed.value.message


def test_after_a_loss_the_next_trial_begins_anew(lab: Lab) -> None:
    lab.world(die_at="start:1")
    backend = lab.backend()
    with pytest.raises(CheckFailed):
        backend.run_trial(trial())
    lab.world()
    assert backend.run_trial(trial()).passed


def test_tr_ex_refuses_in_the_middle(lab: Lab) -> None:
    lab.world(refuse={"start": "no cores for this"})
    backend = lab.backend()
    with pytest.raises(CheckFailed, match=r"refused a trial \(no cores for this\)"):
        backend.run_trial(trial())
    assert lab.calls()[-1]["call"] == "remove_all_streams"


def test_traffic_that_does_not_end_is_stopped(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sallyport.trex.run.LATE_SECONDS", 1.0)
    lab.world(sends=0.01)
    result = lab.backend().run_trial(trial(100_000, of={"warmup_ns": 1_000_000_000}))
    assert float(result.offered_fps) == pytest.approx(1000, rel=0.05)
    assert result.tx_frames == pytest.approx(2 * 7 * 1000, rel=0.05)
    (said,) = result.checks
    assert "sent 1.0" in said and "% of the intended load" in said
    starts_and_stops = [call["call"] for call in lab.calls() if call["call"] in ("start", "stop")]
    assert starts_and_stops == ["start", "stop", "start", "stop"]


def test_a_client_that_does_not_answer(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.world(slow="start:3")  # the trial's: the check starts twice
    backend = lab.backend()
    backend.check(setup())
    monkeypatch.setattr("sallyport.trex.process.ANSWER_SECONDS", 0.3)
    with pytest.raises(CheckFailed, match=r"no answer in 0 s"):
        backend.run_trial(trial())


def test_ctrl_c_stops_the_traffic(lab: Lab) -> None:
    lab.in_real_time()
    backend = lab.backend()
    backend.check(setup())
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        backend.run_trial(trial(of={"measure_ns": 20_000_000_000}))
    (stop,) = [call for call in lab.calls() if call["call"] == "stop" and call["active"]]
    assert stop["active"] == [0, 1]
    backend.close()
    last = lab.calls()[-1]
    assert (last["call"], last["active"]) == ("disconnect", [])


def test_a_killed_front_end_leaves_no_traffic(lab: Lab) -> None:
    """Whatever ends our process, the other one sees the end of its input."""
    lab.in_real_time()
    lab.backend()
    program = (
        "from fractions import Fraction\nfrom pathlib import Path\nfrom sallyport import suites\n"
        "from sallyport.backend import Setup, Trial\nfrom sallyport.trex import TrexBackend\n"
        "setup = Setup({64: 1}, suites.parse('aes256gcm16'), warmup_ns=0, measure_ns=100_000_000_000)\n"
        f"TrexBackend(Path({str(lab.file)!r})).run_trial(Trial(setup, Fraction(1000)))"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    while not any(call["call"] == "get_stats" for call in lab.calls()):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while lab.calls()[-1]["call"] != "disconnect":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert lab.calls()[-1]["stop_traffic"] and lab.calls()[-1]["active"] == [0, 1]


def test_the_client_is_never_in_our_process(lab: Lab) -> None:
    lab.backend().run_trial(trial())
    assert not any(name == "trex" or name.startswith("trex.") for name in sys.modules)


def test_progress_is_told(lab: Lab) -> None:
    from sallyport.trex import TrexBackend

    lab.backend()
    seen: list[float] = []
    with TrexBackend(lab.file, on_progress=lambda done, _: seen.append(done), warn=lab.warnings.append) as backend:
        backend.run_trial(trial())
    assert seen == sorted(seen) and len(seen) == 31 and seen[0] == 0.0 and 0.9 < seen[-1] <= 1.0


def test_the_command_measures_the_lab(lab: Lab, tmp_path: Path) -> None:
    """`./sallyport rfc2544 --backend trex`, in real time: rows that say they were measured, of each
    test that a lab can do."""
    lab.in_real_time()
    lab.backend()  # writes the lab file
    rows_file = tmp_path / "rows.json"
    sallyport(
        "rfc2544", "--backend", "trex", "--lab", lab.file, "--test", "throughput,back-to-back", "--frame-size", "1400", "--share", "10",
        "--warmup-us", "1", "--measure-us", "200000", "--json", rows_file,
    )  # fmt: skip
    rows = json.loads(rows_file.read_text())
    assert [row["test"] for row in rows] == ["throughput", "back-to-back"]
    for row in rows:
        assert (row["simulated"], row["sim_cycles"], row["suite"]) == (False, 0, "aes256gcm16")
    assert rows[0]["passed"]
    assert rows[0]["latency_type"].startswith("FIFO")
    assert rows[0]["latency_ns"] == rows[0]["latency_fifo_ns"]
    for refused in (["--jobs", "2"], ["--boxes", "1"], ["--rekeys", "1"], ["--test", "attack"]):
        done = sallyport("rfc2544", "--backend", "trex", "--lab", lab.file, *refused, check=False)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr


def test_rows_stay_when_the_server_dies(lab: Lab, tmp_path: Path) -> None:
    """In the second case; `--resume` goes on behind the first."""
    lab.in_real_time()
    lab.backend()
    rows_file = tmp_path / "rows.json"
    asked = [
        "rfc2544", "--backend", "trex", "--lab", lab.file, "--frame-size", "1400,1518", "--load", "0.01", "--warmup-us", "1",
        "--measure-us", "100000", "--json", rows_file,
    ]  # fmt: skip
    lab.world(die_at="lost:start:6")  # 2 of the check, 2 a case
    done = sallyport(*asked, check=False)
    assert (done.exit_code, done.stderr.count("was lost in the middle of a trial")) == (1, 1), done.stderr
    first = json.loads(rows_file.read_text())
    assert [row["frame_size"] for row in first] == [1400]
    lab.world()
    sallyport(*asked, "--resume")
    both = json.loads(rows_file.read_text())
    assert [row["frame_size"] for row in both] == [1400, 1518] and both[0] == first[0]


def test_a_late_answer_is_not_taken_for_a_late_burst() -> None:
    """Asked at 1 s and at 2 s; the first answer took 0.8 s, and the last frame left at 1.1 s."""
    looks = [Sample(1.8e9, (99,), (0,), asked_ns=1.0e9), Sample(2.1e9, (100,), (0,), asked_ns=2.0e9)]
    assert measure.sending_s(looks) == (1.0, 2.1)


def test_frames_on_their_way_are_not_taken_for_lost_ones() -> None:
    """Ten are always on their way; five were lost by the second look."""

    def look(at: float, tx: int, rx: int) -> Sample:
        return Sample(at, (tx,), (rx,))

    looks = [look(1.0, 100, 90), look(2.0, 200, 185), look(3.0, 300, 285), look(4.0, 400, 395)]
    assert measure.last_loss_ns(looks) == 1.0  # from then on at least five were missing
    assert measure.last_loss_ns([look(1.0, 100, 90), look(2.0, 100, 100)]) is None
    assert measure.last_loss_ns([look(1.0, 100, 100), look(2.0, 200, 185), look(3.0, 200, 185)]) == 2.0
