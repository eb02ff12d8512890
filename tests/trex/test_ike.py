# SPDX-License-Identifier: Apache-2.0
"""The tests of IKE in a lab: charons and boxes over ssh, against stubs that refuse what swanctl,
sallyctl and ssh do (stub_ssh)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import yaml

from sallyport import report
from sallyport.errors import InputError
from sallyport.ike import MEASURES
from sallyport.ike import tunnels as set_up
from sallyport.ike.tunnels import FRAMES
from sallyport.trex import remote
from sallyport.trex.ssh import Unanswered
from tests.ike.test_measures import FIGURES
from tests.support.replay import sallyport
from tests.trex.lab import Lab, fields, setup

STUB = Path(__file__).parent / "stub_ssh"
HOSTS = ["192.0.2.21", "192.0.2.22"]
PLUGINS = "kernel-sallyport kernel-netlink"
CLOCKS = {"first packet": "tester", "blocked": "tester"}  # others are as in a simulation


class Charons:
    """A lab whose boxes have charon; `command` measures there."""

    def __init__(self, lab: Lab, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.lab, self.folder, self._patch = lab, folder, patch
        self.rows = folder / "rows.json"
        patch.setenv("PATH", f"{STUB}:{os.environ['PATH']}")
        lab.in_real_time()
        self.stub()
        self.write()

    def stub(self, **world: object) -> None:
        """How the boxes are from here on."""
        there = {
            "hosts": HOSTS, "drops": 0, "log": str(self.folder / "ssh.log"), "charons": str(self.folder),
            "plugins": PLUGINS, "trex": str(self.folder / "log.jsonl"),
        }  # fmt: skip
        self._patch.setenv("STUB_SSH", json.dumps(there | world))

    def write(self, **changes: object) -> None:
        text = fields()
        for box in text["boxes"]:
            box["ssh"] = {}
        for name, value in changes.items():
            at, _, field = name.partition("__")
            number = int(at.removeprefix("box"))
            if value is None:
                del text["boxes"][number][field]
            else:
                text["boxes"][number][field] = value
        self.lab.file.write_text(yaml.safe_dump(text))

    def command(self, test: str, *more: object, check: bool = True):
        words = ("--backend", "trex", "--lab", self.lab.file, "--test", test, "--trials", 1, "--quiet")
        return sallyport("rfc2544", *words, "--json", self.rows, *more, check=check)

    def measured(self, test: str, *more: object, check: bool = True) -> dict[str, dict]:
        """The rows of one test by their figures."""
        self.command(test, *more, check=check)
        found = json.loads(self.rows.read_text())
        figures = [(name, unit, CLOCKS.get(name, clock)) for name, unit, clock in FIGURES[test]]
        assert [(row["figure_name"], row["unit"], row["clock"]) for row in found] == figures
        return {row["figure_name"]: row for row in found}


@pytest.fixture
def charons(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Charons:
    return Charons(lab, tmp_path, monkeypatch)


def test_tunnels_a_second(charons: Charons) -> None:
    """Each tunnel has a stream of its own each way, with as many frames as it must carry."""
    found = charons.measured("ike-tunnels", "--ike-tunnels", 3)
    for row in found.values():
        assert (row["passed"], row["checks"], row["tx_frames"], row["lost"]) == (True, [], 2 * FRAMES * 3, 0)
        assert (row["sas"], row["simulated"], row["tester"]["name"]) == (3, False, "TRex")
    assert found["tunnels set up"]["figure"] > 0 and found["requests sent again"]["figure"] == 0
    for port, streams in charons.lab.streams().items():
        assert [each["mode"]["total_pkts"] for each in streams] == [FRAMES] * 3
        sources = [bytes.fromhex(each["packet"])[26:30] for each in streams]
        assert sources == [bytes([198, 18 + port, 0, number]) for number in range(3)]


def test_a_tunnel_that_carries_too_little_fails_the_row(charons: Charons) -> None:
    charons.stub(packets=3)
    charons.lab.world(lose={"1": 2})
    row = charons.measured("ike-tunnels", "--ike-tunnels", 2, check=False)["tunnels set up"]
    assert (row["passed"], row["lost"]) == (False, 2)
    assert row["checks"][:2] == [
        f"gateway {name}: 2 of 2 tunnels have not carried 4 packets each way, the first is t0 with (3, 3)"
        for name in "ab"
    ]


def test_tunnels_that_do_not_come_up_fail_the_row(charons: Charons, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_up, "LEAST_S", 1)
    monkeypatch.setattr(set_up, "EACH_S", 0)
    monkeypatch.setattr(remote.RemoteGateway, "up", lambda _: 1)
    row = charons.measured("ike-tunnels", "--ike-tunnels", 2, check=False)["tunnels set up"]
    assert (row["passed"], row["figure"]) == (False, None)
    assert "1 of 2 tunnels came up in 1 s" in row["checks"]


def test_time_to_the_first_packet_is_loss_over_load(charons: Charons) -> None:
    """TRex sends 1000 frames a second from 0.1 s on, and the box passes none for 0.6 s."""
    charons.lab.world(outage=[0.0, 0.6])
    found = charons.measured("ike-first-packet", "--ike-tunnels", 2)
    first = found["first packet"]
    assert first["figure"] == first["lost"] == pytest.approx(500, abs=2)
    assert first["rx_frames"] == first["tx_frames"] - first["lost"] > 0
    assert report.kinds.verdict(first) is True
    # The charon that the packets wake up is a stub; it wakes up 0.3 s after TRex's start.
    assert found["until charon is asked"]["figure"] is not None and found["IKE and its SAs"]["figure"] >= 0


def test_no_packet_arrives(charons: Charons, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sallyport.ike.first_packet.PATIENCE_S", 1)
    charons.lab.world(outage=[0.0, 100.0])
    first = charons.measured("ike-first-packet", check=False)["first packet"]
    assert first["figure"] is None and first["rx_frames"] == 0
    assert "no packet arrived in 1 s" in first["checks"]


def test_rekeys_under_load(charons: Charons) -> None:
    """Every CHILD_SA is replaced while frames go on both ways, and none is lost."""
    found = charons.measured("ike-rekeys", "--ike-tunnels", 2, "--load", "0.01", "--measure-us", 2_000_000)
    for row in found.values():
        assert (row["passed"], row["lost"], row["checks"]) == (True, 0, [])
        assert row["tx_frames"] > 2 * 2 * 2 * 0.99 * row["intended_fps"]  # two pieces
    assert found["rekeys"]["figure"] > 0 and found["blocked"]["figure"] == 0


def test_blocked_is_loss_over_load(charons: Charons) -> None:
    """Each piece loses 5 frames one way: those with the rekeys, and the one behind them."""
    charons.lab.world(lose={"1": 5})
    load = ("--load", "0.01", "--measure-us", 2_000_000)
    row = charons.measured("ike-rekeys", "--ike-tunnels", 2, *load, check=False)["blocked"]
    assert row["lost"] >= 10 and row["lost"] % 5 == 0 and not row["passed"]
    assert row["figure"] == pytest.approx(1e9 * row["lost"] / row["intended_fps"], rel=1e-3)


def test_a_rekey_that_charon_refuses_ends_the_command(charons: Charons) -> None:
    charons.stub(refuses_rekeys=True)
    done = charons.command("ike-rekeys", "--load", "0.01", "--measure-us", 500_000, check=False)
    assert done.exit_code == 1 and "Traceback" not in done.stderr
    assert "rekey failed: no matching SAs to rekey found" in done.stderr
    assert [call["active"] for call in charons.lab.calls() if call["call"] in ("stop", "disconnect")][-1] == []


def test_rows_stay_when_a_box_goes(charons: Charons, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test before has its rows, with one sentence on the other one."""

    def gone(*_words: object) -> None:
        raise remote.far.Unanswered("right (192.0.2.22) does not answer ssh (No route to host)")

    monkeypatch.setattr(remote.RemoteGateway, "policies", gone)
    done = charons.command("ike-tunnels,ike-first-packet", "--ike-tunnels", 2, check=False)
    assert done.exit_code == 1 and "No route to host); see whether it still runs" in done.stderr
    assert {row["test"] for row in json.loads(charons.rows.read_text())} == {"ike-tunnels"}


def test_charons_end_with_nothing_of_the_test(charons: Charons) -> None:
    charons.measured("ike-tunnels", "--ike-tunnels", 2)
    state = json.loads((charons.folder / "state.json").read_text())
    for host in HOSTS:
        assert (state[host]["connections"], state[host]["children"], state[host]["ids"]) == ({}, {}, [])


@pytest.mark.parametrize(
    ("world", "changes", "more", "sentence"),
    [
        ({}, {"box1__ssh": None}, (), "boxes[1].ssh: is missing; charon of right gets its connections over ssh"),
        ({"hosts": HOSTS[:1]}, {}, (), "right (192.0.2.22) does not answer ssh"),
        ({"no_charon": HOSTS[1:]}, {}, (), "right: 'swanctl --stats' failed (connecting to 'unix:///var/run/charon.vici' failed: No such "
         "file or directory); start charon there"),
        ({"plugins": "kernel-netlink"}, {}, (), "charon of left has no plugin kernel-sallyport; install it there"),
        ({"unknown_suites": ["chacha20poly1305"]}, {}, ("--suite", "chacha20poly1305"), "right: 'swanctl --load-all' took 0 of 16 "
         "connections (loading connection 't0' failed: invalid value for: esp_proposals, config discarded)"),
        ({}, {"box0__ssh": {"swanctl": "/opt/swanctl"}}, (), "left: '/opt/swanctl --stats' failed"),
        ({}, {}, ("--suite", "sm4gcm16"), "IKE has no number for SM4"),
        ({}, {}, ("--mode", "transport"), "a test of IKE is of tunnels over IPv4"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(
    charons: Charons, world: dict, changes: dict, more: tuple, sentence: str
) -> None:
    charons.stub(**world)
    charons.write(**changes)
    done = charons.command("ike-tunnels", *more, check=False)
    assert done.exit_code == 2 and "Traceback" not in done.stderr and charons.lab.calls() == []
    assert sentence in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("ike-half-open", "TRex is on the red sides, and the flood comes to the black one"),
        ("ike-dead-peer", "nothing there makes a far gateway die and another one take its place"),
    ],
)
def test_what_a_lab_cannot_do_is_refused(charons: Charons, test: str, why: str) -> None:
    done = charons.command(test, check=False)
    assert done.exit_code == 2
    assert f"--backend trex has no test '{test}' ({why}); choose another one" in done.stderr


def test_ike_is_what_a_lab_can_do(lab: Lab) -> None:
    capabilities = lab.backend().capabilities()
    assert {*capabilities.ike, *capabilities.reasons} == {*MEASURES} and capabilities.ike


def test_a_box_alone_has_no_test_of_ike(lab: Lab) -> None:
    text = yaml.safe_load((Path(__file__).parents[2] / "docs/examples/lab-one-box.yaml").read_text())
    text["trex"] |= fields()["trex"]
    assert lab.backend(text=yaml.safe_dump(text)).capabilities().ike == ()


def test_two_pairs_are_refused(lab: Lab) -> None:
    boxes = fields()["boxes"]
    more = [json.loads(json.dumps(box)) for box in boxes]
    for number, box in enumerate(more):
        box["name"] = f"more{number}"
        box["red"] |= {"port": 2 + number, "mac": f"02:00:00:00:03:0{number}"}
    backend = lab.backend(boxes=[*boxes, *more])
    with pytest.raises(InputError) as error:
        backend.check(setup(), ["ike-tunnels"])
    assert "IKE is between two gateways; list two boxes in" in error.value.message


class _Gateway:
    """As a box is at the end of a test: `broken` says which of its steps are not answered."""

    advice = "run that"

    def __init__(self, done: list[str], *broken: str) -> None:
        self._done, self._broken = done, broken

    def __getattr__(self, step: str) -> Callable[[], None]:
        def do() -> None:
            self._done.append(step)
            if step in self._broken:
                raise Unanswered(f"box-1 does not answer '{step}'")

        return do


@pytest.mark.parametrize("step", ["forget", "clear"])
def test_a_box_gets_its_own_files_back_whatever_fails(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    done: list[str] = []
    remote.leave(cast(remote.RemoteGateway, _Gateway(done, step)))
    assert done[-2:] == ["give_back", "close"]
    remote.leave(cast(remote.RemoteGateway, _Gateway(done, step, "give_back")))
    assert done[-2:] == ["give_back", "close"]
    said = "box-1 does not answer 'give_back': charon there may keep the test's secret; run that"
    assert said in capsys.readouterr().err
