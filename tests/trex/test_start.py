# SPDX-License-Identifier: Apache-2.0
"""How a trial begins: TRex's scheduler is late when traffic starts, and the frames that it sends
then are not part of a measurement."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sallyport.errors import InputError
from sallyport.rfc2544 import search
from tests.trex.lab import Lab, setup, trial


def test_a_box_with_a_short_queue_loses_nothing_at_the_start(lab: Lab) -> None:
    """At its own rate; 20 ms of it at once would be 80 frames, and the queue holds 16."""
    lab.world(capacity_fps=4032, queue=16)
    result = lab.backend().run_trial(trial(4032))
    assert (result.lost, result.checks) == (0, [])
    assert result.tx_frames == 2 * 6 * 4032


def test_the_search_finds_the_rate_of_a_box_with_a_short_queue(lab: Lab) -> None:
    lab.world(capacity_fps=4032, queue=16)
    backend = lab.backend()
    found = search.throughput(lambda fps, _: backend.run_trial(trial(fps)), Fraction(8000), 6_000_000_000)
    assert float(found.fps) == pytest.approx(4032, rel=0.002)


def test_streams_begin_when_the_scheduler_is_in_time(lab: Lab) -> None:
    backend = lab.backend(start_ms=250)
    backend.run_trial(trial(1000))
    (start,) = [call for call in lab.calls() if call["call"] == "start" and call["duration"] > 0]
    assert start["duration"] == pytest.approx(6.25)
    assert {stream["isg"] for added in lab.streams().values() for stream in added} == {250_000}


@pytest.mark.parametrize(
    ("start_ms", "said"), [(100, ""), (5, "100 frames at 2,000 a second took 34.5 ms, not 49.5 ms")]
)
def test_a_start_that_is_late_is_said(lab: Lab, start_ms: int, said: str) -> None:
    lab.backend(start_ms=start_ms).check(setup())
    assert len(lab.warnings) == (2 if said else 0)
    assert all(said in each and "start_ms" in each for each in lab.warnings)


def test_a_start_that_trex_does_not_show_is_said(lab: Lab) -> None:
    lab.world(refuse={"start_capture": "no memory"})
    backend = lab.backend()
    backend.check(setup())
    assert [("captured 0 of 100" in each, "not known" in each) for each in lab.warnings] == 2 * [(True, True)]
    assert backend.started() == [None, None]
    assert backend.run_trial(trial(1000)).passed


def test_the_check_leaves_no_port_in_a_service_mode(lab: Lab) -> None:
    backend = lab.backend()
    backend.check(setup())
    modes = {
        call["ports"][0]: call["enabled"] or call["filtered"]
        for call in lab.calls()
        if call["call"] == "set_service_mode"
    }
    assert modes == {0: False, 1: False}
    assert lab.warnings == []


def test_a_start_that_is_refused_leaves_none_either(lab: Lab) -> None:
    lab.world(refuse={"start": "link is DOWN"})
    with pytest.raises(InputError, match="does not start traffic \\(link is DOWN\\)"):
        lab.backend().check(setup())
    calls = [call["call"] for call in lab.calls()]
    assert calls.index("stop_capture") < len(calls) - 1 - calls[::-1].index("set_service_mode")


def test_frames_of_the_check_have_the_tag_of_the_port(lab: Lab) -> None:
    backend = lab.backend(boxes__0__red__vlan=7)
    backend.check(setup({68: 1}))
    bursts = {call["ports"][0]: call["streams"][0] for call in lab.calls() if call["call"] == "add_streams"}
    assert {port: stream["packet"][24:28] for port, stream in bursts.items()} == {0: "8100", 1: "0800"}
    assert backend.started() == pytest.approx([49.5, 49.5])
