# SPDX-License-Identifier: Apache-2.0
"""One box alone between two ports of TRex: scapy is the box, and judges what the tester seals; the
tester judges what scapy sealed."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import RawPcapReader

from sallyport import limits, suites
from sallyport.backend import Trial
from sallyport.backend_sim.attack import KINDS
from sallyport.commands.calibrate import calibrate_command
from sallyport.errors import CheckFailed, InputError
from sallyport.rfc2544.plan import parse_tests
from sallyport.trex import lab as lab_file
from tests.support.paths import ROOT
from tests.support.replay import sallyport
from tests.trex.lab import BOX_MAC, MAC, Lab, fields, setup, trial
from tests.trex.test_boxes import STUB

MEASURED = {"boxes": 1, "measure_ns": 200_000_000}


class Alone:
    """`made(world, **changes)` is a backend of a lab with one box; `file` was pushed last."""

    def __init__(self, lab: Lab, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._lab, self._patch, self.folder = lab, monkeypatch, folder
        self.sas, self.log = folder / "sas", folder / "ssh.log"
        monkeypatch.setenv("PATH", f"{STUB}:{os.environ['PATH']}")
        monkeypatch.setattr("sallyport.trex.samples.time", lab.clock)

    def pushed(self, lab: Lab) -> list[bytes]:
        """The frames of the file that the server was told to send last."""
        (*_, last) = [call for call in lab.calls() if call["call"] == "push_remote"]
        with RawPcapReader(last["pcap_filename"]) as frames:
            return [data for data, _ in frames]

    def made(self, world: dict | None = None, stub: dict | None = None, **changes: object):
        told = {"hosts": ["192.0.2.21"], "drops": 0, "log": str(self.log), "sas": str(self.sas), **(stub or {})}
        self._patch.setenv("STUB_SSH", json.dumps(told))
        self._lab.world(**{"sas": str(self.sas), **(world or {})})
        text = fields()
        text["trex"] |= {"captures": str(self.folder)}
        text["boxes"] = text["boxes"][:1]
        text["boxes"][0]["ssh"] = {}
        text["boxes"][0]["black"] = {"port": 1, "mac": MAC[1], "next_hop": BOX_MAC[1]}
        text["flow_order"] = "round-robin"
        for name, value in changes.items():
            node = text
            *path, last = name.split("__")
            for part in path:
                node = node[int(part) if part.isdigit() else part]
            node[last] = value
            if value is None:
                del node[last]
        return self._lab.backend(text=yaml.safe_dump(text))


@pytest.fixture
def alone(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Alone:
    return Alone(lab, tmp_path, monkeypatch)


SETUPS = [
    {},
    {"suite": "sm4-sm3", "sas": 3},
    {"suite": "aes256ctr-sha256,null-sha256", "sas": 4},
    {"mix": {90: 2, 700: 1}, "ip": 6, "sas": 3},
    {"mode": "transport"},
    {"mode": "transport", "mix": {90: 1}, "ip": 6, "suite": "aes128-sha256"},
    {"nat_t": True, "sas": 2},
    {"nat_t": True, "mix": {90: 1}, "ip": 6},
]


@pytest.mark.parametrize("changes", SETUPS, ids=str)
def test_both_directions_are_measured_and_sampled(alone: Alone, changes: dict) -> None:
    bridged = [{"box_mac": MAC[1]}, {"box_mac": MAC[0]}] if changes.get("mode") == "transport" else None
    backend = alone.made({"ports": bridged} if bridged else {})
    asked = setup(**MEASURED, **changes)
    backend.check(asked)
    result = backend.run_trial(Trial(asked, Fraction(2000)))
    assert (result.tx_frames, result.rx_frames, result.lost) == (800, 800, 0)
    assert result.passed, result.reasons
    assert result.fifo_ns is None and result.dropped == {}


def test_numbers_go_on_from_trial_to_trial(alone: Alone, lab: Lab) -> None:
    """The box has a window, which a number of an earlier trial would not pass."""
    backend = alone.made()
    asked = setup(**MEASURED, direction="decrypt", sas=2)
    backend.check(asked)
    for _ in range(3):
        assert backend.run_trial(Trial(asked, Fraction(1000))).passed
    assert alone.log.read_text().count("batch") == 1
    assert [line for line in alone.log.read_text().splitlines() if "next-hop" in line] == [
        f"192.0.2.21 next-hop default dev {device} lladdr {mac}"
        for device, mac in zip(("red", "black"), MAC, strict=True)
    ]
    numbers = [(Ether(data)[ESP].spi, Ether(data)[ESP].seq) for data in alone.pushed(lab)]
    assert numbers == [(0x1000 + at % 2, 50 + 2 * 100 + 1 + at // 2) for at in range(200)]


def test_a_second_run_has_new_keys(alone: Alone) -> None:
    """The box takes no key again to send with (stub_ssh/far/sallyctl)."""
    for _ in range(2):
        alone.made().check(setup(**MEASURED, sas=2))
    keys = re.findall(r"0x[0-9a-f]{72}", alone.log.read_text())
    assert len(keys) == len(set(keys)) == 2 * 2 * 2


def test_sizes_of_a_mix_are_sent_in_their_shares(alone: Alone, lab: Lab) -> None:
    backend = alone.made()
    mix = {64: 7, 594: 4, 1518: 1}
    result = backend.run_trial(trial(600, mix, MEASURED | {"direction": "decrypt"}))
    assert result.passed, result.reasons
    sizes = [len(data) for data in alone.pushed(lab)]
    expected = {
        limits.esp_frame_bytes(size, suites.parse("aes256gcm16")[0]) - 4: 10 * part for size, part in mix.items()
    }
    assert {size: sizes.count(size) for size in sizes} == expected


def test_tags_are_those_of_each_port(alone: Alone, lab: Lab) -> None:
    backend = alone.made({"vlan": 200}, boxes__0__red__vlan=100, boxes__0__black__vlan=200)
    asked = setup({90: 1}, **MEASURED)
    backend.check(asked)
    assert backend.run_trial(Trial(asked, Fraction(1000))).passed
    for data in alone.pushed(lab):
        assert Ether(data)[Dot1Q].vlan == 200
        assert len(data) + 4 == limits.esp_frame_bytes(86, suites.parse("aes256gcm16")[0]) + 4


@pytest.mark.parametrize(
    ("kind", "counter"),
    [("replay", "inner.drop_replayed"), ("bad-icv", "crypto.drop_dec_icv"), ("unknown-spi", "outer.punt_unknown_spi")],
)
def test_hostile_frames_are_dropped_by_name_and_cost_nothing(alone: Alone, kind: str, counter: str) -> None:
    backend = alone.made()
    assert kind in backend.capabilities().attacks
    result = backend.run_trial(trial(1000, of=MEASURED | {"direction": "decrypt", "sas": 2}, attack=kind))
    assert (result.tx_frames, result.rx_frames, result.lost) == (200, 200, 0)
    assert result.passed, result.reasons
    assert result.dropped == {f"box0.{counter}": 200}


@pytest.mark.parametrize(
    ("wrong", "direction", "sentence"),
    [
        ("key", "encrypt", "left, encrypt: frame 1 of those captured at TRex's port 1 does not open with the key of SPI 0x1000: its ICV"),
        ("number", "encrypt", "frame 2 of those captured at TRex's port 1 has number 1 of SPI 0x1000 behind number 1"),
        ("clear", "decrypt", "left, decrypt: frame 1 of those captured at TRex's port 0 is not the packet that was sent"),
    ],
)  # fmt: skip
def test_a_box_that_is_wrong_is_told_from_its_frames(alone: Alone, wrong: str, direction: str, sentence: str) -> None:
    with pytest.raises(CheckFailed) as failed:
        alone.made({"wrong": wrong}).check(setup(**MEASURED, direction=direction))
    assert sentence in failed.value.message and "\n" not in failed.value.message


@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
def test_a_box_that_lets_nothing_through(alone: Alone, direction: str) -> None:
    with pytest.raises(CheckFailed, match=r"of 100 frames into TRex's port . none came out at port ."):
        alone.made({"ports": [{"box_mac": MAC[1]}, {"box_mac": MAC[0]}]}).check(setup(**MEASURED, direction=direction))


def test_a_server_without_the_folder_is_named(alone: Alone) -> None:
    with pytest.raises(CheckFailed, match=r"sent none of the frames in .*pcap: let its server have the folder"):
        alone.made({"shares": False}).check(setup(**MEASURED, direction="decrypt"))


def test_what_ports_count_is_held_against_the_box(alone: Alone) -> None:
    """Frames of others would hide lost ones."""
    backend = alone.made({"lose": {"1": 5, "pushed": 4}})
    result = backend.run_trial(trial(1000, of=MEASURED))
    assert result.lost == 9 and result.checks == []
    backend = alone.made({"strangers": 9}, {"drops": 3})
    result = backend.run_trial(trial(1000, of=MEASURED))
    assert result.lost == 0
    assert result.checks == [
        "left counted 3 drops, and TRex's ports miss 0 frames: others hide lost ones, or were dropped"
    ]


def test_no_file_stays(alone: Alone) -> None:
    backend = alone.made()
    backend.run_trial(trial(1000, of=MEASURED | {"direction": "decrypt"}))
    (file,) = alone.folder.glob("*.pcap")
    assert file.stat().st_mode & 0o777 == 0o644  # the server may be of another user
    backend.close()
    assert not list(alone.folder.glob("*.pcap"))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"boxes__0__ssh": None}, "boxes[0].ssh: is missing; one box alone gets the tester's keys over ssh"),
        ({"boxes__0__black": None}, "boxes[0].black: is missing"),
        ({"boxes__0__black__port": 0}, "boxes: two have port 0"),
        ({"boxes__0__black__mac": MAC[0]}, f"boxes: two have mac '{MAC[0]}'"),
        ({"trex__captures": "captures"}, "trex.captures: 'captures' is no folder here"),
        ({"trex__captures": "/nowhere"}, "trex.captures: '/nowhere' is no folder here"),
        ({"trex__capture_mib": 0}, "trex.capture_mib: '0' is not a whole number"),
    ],
)
def test_fields_are_checked(alone: Alone, changes: dict, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        alone.made(**changes)
    assert sentence in error.value.message and "\n" not in error.value.message


def test_a_cable_needs_no_box(alone: Alone, lab: Lab) -> None:
    alone.made({"ports": [{"box_mac": MAC[1]}, {"box_mac": MAC[0]}], "sas": ""}, trex__captures=None)
    arguments = ["--lab", str(lab.file), "--frame-size", "64", "--measure-us", "1000000", "--load", "0.1"]
    done = CliRunner().invoke(calibrate_command, arguments)
    assert done.exit_code == 0, done.output
    assert not alone.log.exists()


def test_the_example_is_a_lab_file() -> None:
    found = lab_file.load(ROOT / "docs/examples/lab-one-box.yaml")
    assert found.alone and found.ports == [0, 1] and found.ends[1].what == "black of left"


def test_two_boxes_have_no_black_port(lab: Lab) -> None:
    with pytest.raises(InputError, match=r"boxes\[0\].black: there is no such field"):
        lab.backend(boxes__0__black={"port": 2, "mac": MAC[1], "next_hop": MAC[0]})


@pytest.mark.parametrize(
    ("lab_changes", "changes", "sentence"),
    [
        ({}, {"boxes": 2}, "lists a box alone; choose --boxes 1"),
        ({"trex__captures": None}, {"direction": "decrypt"}, "name a folder for it in "),
        ({"mtu": 1500}, {"mix": {1518: 1}}, "its ESP packet of 1556 B exceeds the MTU of TRex's ports, 1500 B"),
    ],
)
def test_setups_that_are_not_offered(alone: Alone, lab_changes: dict, changes: dict, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        alone.made(**lab_changes).check(replace(setup(**MEASURED), **changes))
    assert sentence in error.value.message and "\n" not in error.value.message


def test_a_folder_that_takes_no_file_is_one_sentence(alone: Alone) -> None:
    folder = alone.folder / "gone"
    folder.mkdir()
    backend = alone.made(trex__captures=str(folder))
    folder.rmdir()
    with pytest.raises(InputError, match=r"trex.captures: no file can be made in .*gone \(No such file or directory\)"):
        backend.run_trial(trial(1000, of=MEASURED | {"direction": "decrypt"}))


def test_a_tag_on_black_takes_no_room_from_red(alone: Alone) -> None:
    backend = alone.made({"vlan": 200}, boxes__0__black__vlan=200)
    assert backend.run_trial(trial(1000, of=MEASURED)).passed


def test_a_file_that_is_too_long_is_one_sentence(alone: Alone) -> None:
    backend = alone.made(trex__capture_mib=1)
    with pytest.raises(InputError) as error:
        backend.run_trial(trial(100_000, of=MEASURED | {"direction": "decrypt"}))
    assert "20,000 frames of ESP are a file of 2 MiB, and " in error.value.message
    assert "allows 1 (trex.capture_mib); choose a shorter --measure-us or a lower --load" in error.value.message


def test_tests_that_need_frames_as_they_were_are_not_offered(alone: Alone) -> None:
    offered = alone.made().capabilities()
    assert parse_tests("all", offered) == ["throughput", "loss", "back-to-back", "tunnels", "attack"]
    assert offered.boxes == (1,)
    assert "attack" not in parse_tests("all", alone.made(trex__captures=None).capabilities())
    with pytest.raises(InputError, match="has no test 'latency'"):
        parse_tests("latency", offered)


def test_the_command_measures_one_box(alone: Alone, lab: Lab, tmp_path: Path) -> None:
    """`./sallyport rfc2544 --backend trex --boxes 1`, in real time."""
    lab.in_real_time()
    alone.made(start_ms=30)
    rows_file = tmp_path / "rows.json"
    sallyport(
        "rfc2544", "--backend", "trex", "--boxes", "1", "--lab", lab.file, "--test", "throughput,attack", "--frame-size", "1400",
        "--load", "0.002", "--measure-us", "200000", "--json", rows_file, "--html", tmp_path / "page.html",
    )  # fmt: skip
    rows = json.loads(rows_file.read_text())
    assert [(row["test"], row["boxes"], row["direction"], row.get("attack")) for row in rows] == [
        ("throughput", 1, "both", None),
        *(("attack", 1, "decrypt", kind) for kind in KINDS),
    ]
    assert all(row["passed"] and row["tx_frames"] and row["latency_ns"] is None for row in rows)
    assert all(sum(row["dropped"].values()) == row["tx_frames"] for row in rows[1:])
    assert "outer.punt_unknown_spi" in (tmp_path / "page.html").read_text()
    done = sallyport(
        "rfc2544", "--backend", "trex", "--boxes", "1", "--lab", lab.file, "--test", "latency", check=False
    )
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr
