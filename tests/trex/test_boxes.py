# SPDX-License-Identifier: Apache-2.0
"""The boxes of a lab over ssh: configured, read after each trial, reset by command; against a stub
that refuses what ssh does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from sallyport import report, rows
from sallyport.errors import CheckFailed, InputError
from sallyport.trex import boxes
from tests.trex.lab import Lab, fields, setup, trial

STUB = Path(__file__).parent / "stub_ssh"
HOSTS = ["192.0.2.21", "192.0.2.22"]


@pytest.fixture
def managed(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`managed(world, **ssh)`: a backend whose boxes have ssh, with fields changed in box 0's."""
    monkeypatch.setenv("PATH", f"{STUB}:{os.environ['PATH']}")
    (tmp_path / "box.xfrm").write_text("xfrm state add\n")
    key = tmp_path / "key"
    key.write_text("secret")
    key.chmod(0o600)

    def made(world: dict | None = None, commands: dict | None = None, **ssh: object):
        stub = {"hosts": HOSTS, "drops": 0, "log": str(tmp_path / "ssh.log")} | (world or {})
        monkeypatch.setenv("STUB_SSH", json.dumps(stub))
        text = fields()
        for number, box in enumerate(text["boxes"]):
            box["ssh"] = {"configure": "box.xfrm", "key": str(key)} | (ssh if number == 0 else {})
        text["boxes"][0]["commands"] = commands or {}
        return lab.backend(text=yaml.safe_dump(text))

    return made


def test_boxes_are_configured_once_before_the_first_packet(managed, tmp_path: Path) -> None:
    backend = managed()
    backend.check(setup())
    backend.check(setup({128: 1}))
    log = (tmp_path / "ssh.log").read_text().splitlines()
    assert log == [f"{host} {what}" for host in HOSTS for what in ("batch xfrm state add", "counters")]


def test_what_the_boxes_dropped_is_in_the_row(managed, lab: Lab) -> None:
    backend = managed({"drops": 7})
    result = backend.run_trial(trial())
    assert result.dropped == {"box0.outer.drop_replay": 7, "box1.outer.drop_replay": 7}
    assert result.passed
    lab.world(lose={"1": 5})
    backend.close()
    row = rows.make("64", "throughput", setup(), backend.run_trial(trial()), 1)
    assert "the boxes counted box1.outer.drop_replay 7" in report.html([row], "x")


@pytest.mark.parametrize(
    ("world", "ssh", "sentence"),
    [
        ({"hosts": HOSTS[1:]}, {}, "left (192.0.2.21) does not answer ssh (ssh: connect to host 192.0.2.21 port 22: Connection refused)"),
        ({}, {"user": "guest"}, "does not answer ssh (guest@192.0.2.21: Permission denied (publickey))"),
        ({}, {"key": "/nowhere"}, "Permission denied (publickey)"),
        ({}, {"port": 2222}, "port 2222: Connection refused"),
        ({}, {"sallyctl": "/opt/sallyctl"}, "left: '/opt/sallyctl -batch -' failed"),
        ({}, {"configure": "/dev/null"}, "left: 'sallyctl -batch -' failed (-:1: unknown word)"),
        ({}, {"configure": "none.xfrm"}, "none.xfrm cannot be read (No such file or directory)"),
    ],
)  # fmt: skip
def test_a_box_that_cannot_be_reached_is_one_sentence(managed, lab: Lab, world: dict, ssh: dict, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        managed(world, **ssh).check(setup())
    assert sentence in error.value.message and "\n" not in error.value.message
    assert str(lab.file) in error.value.message and lab.calls() == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"boxes__0__ssh": {}, "boxes__0__management": None}, "boxes[0].management: is missing; ssh needs"),
        ({"boxes__0__ssh": {"user": "-oProxyCommand=x"}}, "boxes[0].ssh.user: '-oProxyCommand=x' is no name of a user"),
        ({"boxes__0__ssh": {"password": "x"}}, "boxes[0].ssh.password: there is no such field"),
        ({"boxes__0__commands": {"software": "a 'b"}}, 'boxes[0].commands.software: "a \'b" is no command'),
        ({"boxes__0__commands": {"restart": "x"}}, "boxes[0].commands.restart: there is no such field"),
    ],
)
def test_fields_are_checked(lab: Lab, changes: dict, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        lab.backend(**changes)
    assert sentence in error.value.message


def test_a_box_that_goes_away_leaves_the_trial_and_its_reason(managed) -> None:
    backend = managed({"answers": 1})
    result = backend.run_trial(trial())
    assert result.tx_frames == 1_200_000
    assert result.checks == [
        "left: 'sallyctl counters --json' failed (sallyctl: the box did not answer), so its counters are not known"
    ]
    with pytest.raises(CheckFailed, match="go on with --resume"):
        backend.run_trial(trial())


def test_a_reset_by_command_needs_nobody(managed, lab: Lab, tmp_path: Path) -> None:
    done = tmp_path / "done"
    backend = managed(commands={"software": f"touch {done}", "hardware": "sh -c 'echo no power >&2; exit 3'"})
    assert backend.capabilities().resets == ("software", "hardware", "power")
    lab.world(outage=[0.5, 4.7])
    result = backend.run_trial(trial(reset="software"))
    assert done.exists() and lab.asked == []
    assert result.outage_ns == pytest.approx(4.2e9) and result.checks == []
    failed = backend.run_trial(trial(reset="hardware"))
    assert failed.checks == [f"{lab.file}: boxes[0].commands.hardware ended with status 3: no power"]


def test_rekeys_run_under_load_one_at_a_time(managed, lab: Lab, tmp_path: Path) -> None:
    lab.in_real_time()
    times = tmp_path / "times"
    backend = managed(commands={"rekey": f"sh -c 'date +%s.%N >> {times}'"})
    result = backend.run_trial(trial(1000, of={"measure_ns": 2_000_000_000, "rekeys": 4}))
    assert (result.rekeys, result.checks) == (4, [])
    began = [float(line) for line in times.read_text().splitlines()]
    assert len(began) == 4 and 1.2 <= began[-1] - began[0] <= 1.9  # of 0.25 to 1.75 s
    assert "rekey" not in backend.capabilities().resets


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("sh -c 'echo no peer >&2; exit 3'", "boxes[0].commands.rekey ended with status 3: no peer; so did 3 more"),
        ("sleep 1.2", "1 of 4 rekeys ran: each began once the one before had ended; choose fewer --rekeys"),
        ("/nowhere/rekey", "boxes[0].commands.rekey: /nowhere/rekey cannot be run (No such file or directory)"),
    ],
)
def test_rekeys_that_fail_are_said(managed, lab: Lab, command: str, sentence: str) -> None:
    lab.in_real_time()
    backend = managed(commands={"rekey": command})
    asked = trial(1000, of={"measure_ns": 1_000_000_000, "rekeys": 4})
    if command.startswith("/"):
        with pytest.raises(CheckFailed) as failed:
            backend.run_trial(asked)
        assert sentence in failed.value.message
        return
    (said,) = backend.run_trial(asked).checks
    assert sentence in said


def test_counters_of_a_box_that_was_reset_begin_anew() -> None:
    assert boxes.risen({"a": 5, "b": 5, "c": 5}, {"a": 7, "b": 2, "c": 5, "d": 1}) == {"a": 2, "b": 2, "d": 1}
