# SPDX-License-Identifier: Apache-2.0
"""A fault of a lab is one sentence with what, where and what to do, before the first packet."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from sallyport.errors import InputError
from sallyport.trex import lab as lab_file
from sallyport.trex.option import lab_option
from tests.support.paths import ROOT
from tests.trex.lab import MAC, STAND_IN, Lab, fields, setup, trial


def refused(error: pytest.ExceptionInfo[InputError], sentence: str) -> None:
    message = error.value.message
    assert error.value.exit_code == 2
    assert sentence in message
    assert "\n" not in message and len(message) < 420


def sent(lab: Lab) -> list[str]:
    return [call["call"] for call in lab.calls() if call["call"] in ("start", "add_streams")]


def test_the_example_is_a_lab_file() -> None:
    lab = lab_file.load(ROOT / "docs/examples/lab.yaml")
    assert lab.ports == [0, 1] and lab.boxes[1].red.gateway == "198.19.255.254"
    assert [box.name for box in lab.boxes] == ["left", "right"]


def test_fields_left_out_are_as_the_document_says(lab: Lab) -> None:
    text = fields()
    for name in (
        "line_rate_gbps",
        "mtu",
        "promiscuous",
        "latency_fps",
        "flow_order",
        "drain_ms",
        "settle_ms",
        "start_ms",
        "resets",
    ):
        del text[name]
    for name in ("sync_port", "async_port", "version", "force"):
        del text["trex"][name]
    found = lab.backend(text=yaml.safe_dump(text)).lab
    document = (ROOT / "docs/how-to/lab.md").read_text()
    rows = dict(re.findall(r"^\| `([\w.]+)` \| ([^|]*?) \|", document, re.M))
    shown = {
        "trex.sync_port": found.tester.sync_port,
        "trex.async_port": found.tester.async_port,
        "trex.version": found.tester.version,
        "trex.force": found.tester.force,
        "trex.capture_mib": found.tester.capture_mib,
        "line_rate_gbps": found.line_rate_gbps,
        "mtu": found.mtu,
        "promiscuous": found.promiscuous,
        "latency_fps": found.latency_fps,
        "flow_order": found.order,
        "drain_ms": found.drain_ms,
        "settle_ms": found.settle_ms,
        "start_ms": found.start_ms,
        "learning_frames": found.learning_frames,
    }
    assert {name: str(value).lower() for name, value in shown.items()} == {name: rows[name] for name in shown}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"speed": "100"}, "lab.yaml: speed: there is no such field; choose from trex, boxes, line_rate_gbps"),
        ({"trex__port": "4501"}, "trex.port: there is no such field; choose from client, host"),
        ({"boxes__0__red__vlan": "4095"}, "boxes[0].red.vlan: '4095' is not a whole number of 1 to 4094"),
        ({"trex": None}, "trex: is missing; see docs/examples/lab.yaml"),
        ({"trex": ["host"]}, "trex: is not a mapping of fields"),
        ({"trex__host": None}, "trex.host: is missing"),
        ({"trex__host": "a host"}, "trex.host: 'a host' is neither an IP address nor a name"),
        ({"trex__host": "192.0.2.300"}, "trex.host: '192.0.2.300' is neither"),
        ({"trex__host": ""}, "trex.host: '' is no text"),
        ({"trex__sync_port": 0}, "trex.sync_port: '0' is not a whole number of 1 to 65535"),
        ({"trex__async_port": "4500.5"}, "trex.async_port: '4500.5' is not a whole number"),
        ({"trex__version": "v2.88"}, "trex.version: 'v2.88' is no version of TRex 3"),
        ({"trex__force": "maybe"}, "trex.force: 'maybe' is not offered; choose true or false"),
        ({"boxes": []}, "boxes: must be a list of 1 or 2 or 4 or 6 or 8"),
        ({"boxes__1__name": "left"}, "boxes: two have name 'left'; give each its own"),
        ({"boxes__1__red__port": 0}, "boxes: two have port 0"),
        ({"boxes__1__red__mac": MAC[0]}, f"boxes: two have mac '{MAC[0]}'"),
        ({"boxes__0__management": "not/a/host"}, "boxes[0].management: 'not/a/host' is neither"),
        ({"boxes__0__red__port": 64}, "boxes[0].red.port: '64' is not a whole number of 0 to 63"),
        ({"boxes__0__red__mac": "02:00:00:00:01"}, "boxes[0].red.mac: '02:00:00:00:01' is not the MAC address"),
        ({"boxes__0__red__mac": "01:00:5e:00:00:01"}, "'01:00:5e:00:00:01' is not the MAC address of a port"),
        ({"boxes__0__red__next_hop": None}, "boxes[0].red.next_hop: give either the MAC"),
        ({"boxes__1__red__next_hop": MAC[0]}, "boxes[1].red.next_hop: give either the MAC"),
        ({"boxes__1__red__arp__gateway": "fe80::1"}, "boxes[1].red.arp.gateway: 'fe80::1' is not an IPv4 address"),
        (
            {"boxes__1__red__arp__vlan": "1"},
            "boxes[1].red.arp.vlan: there is no such field; choose from address, gateway",
        ),
        ({"line_rate_gbps": "fast"}, "line_rate_gbps: 'fast' is not a whole number of 1 to 400"),
        ({"mtu": 20000}, "mtu: '20000' is not a whole number of 68 to 9216"),
        ({"latency_fps": 0}, "latency_fps: '0' is not a whole number of 1 to"),
        ({"flow_order": "sorted"}, "flow_order: 'sorted' is not offered; choose random or round-robin"),
        ({"drain_ms": -1}, "drain_ms: '-1' is not a whole number"),
        ({"resets": ["software"]}, "resets: ['software'] is not a list of different ones of power, hardware"),
        ({"resets": "power"}, "resets: 'power' is not a list"),
    ],
)
def test_every_field_is_checked(lab: Lab, changes: dict, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        lab.backend(**changes)
    refused(error, sentence)
    assert str(lab.file) in error.value.message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("trex: [", "lab.yaml:1: is no YAML"),
        ("- a\n- b\n", "lab.yaml: is not a mapping of fields"),
        ("", "lab.yaml: is not a mapping of fields"),
        ("mtu: 1\nmtu: 2\n", "lab.yaml:1: is no YAML (field 'mtu' is there twice)"),
        ("mtu: !!python/object:os.system 1\n", "lab.yaml: trex: is missing"),
    ],
)
def test_what_is_no_lab_file(lab: Lab, text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        lab.backend(text=text)
    refused(error, sentence)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, sentence in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file")):
        with pytest.raises(InputError) as error:
            lab_file.load(path)
        refused(error, sentence)
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xe9")
    with pytest.raises(InputError) as error:
        lab_file.load(tmp_path / "latin")
    refused(error, "is no UTF-8 text")


def test_a_mac_of_digits_is_a_mac(lab: Lab) -> None:
    """YAML 1.1 takes 12:00:00:00:02:00 for a number to the base of 60."""
    text = (
        yaml.safe_dump(fields())
        .replace("'02:00:00:00:02:00'", "12:00:00:00:02:00")
        .replace("02:00:00:00:02:00", "12:00:00:00:02:00")
    )
    assert "next_hop: 12:00:00:00:02:00\n" in text
    assert lab.backend(text=text).lab.boxes[0].red.next_hop == "12:00:00:00:02:00"


class TestClient:
    def test_no_client_is_named(self, lab: Lab) -> None:
        with pytest.raises(InputError) as error:
            lab.backend(trex__client=None).check(setup())
        refused(error, "trex.client: neither this field nor TREX_CLIENT says where TRex's Python client is")

    def test_the_environment_goes_first(self, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("TREX_CLIENT", str(tmp_path))
        with pytest.raises(InputError) as error:
            lab.backend().check(setup())
        refused(error, f"TREX_CLIENT={tmp_path}: it has no trex/stl/api.py")
        monkeypatch.setenv("TREX_CLIENT", str(STAND_IN))
        lab.backend(trex__client="/nowhere").check(setup())

    def test_a_folder_without_a_client(self, lab: Lab, tmp_path: Path) -> None:
        with pytest.raises(InputError) as error:
            lab.backend(trex__client=str(tmp_path)).check(setup())
        refused(error, f"trex.client: {tmp_path}: it has no trex/stl/api.py")

    def test_a_client_that_cannot_be_loaded(self, lab: Lab, tmp_path: Path) -> None:
        (tmp_path / "trex" / "stl").mkdir(parents=True)
        (tmp_path / "trex" / "stl" / "api.py").write_text("import a_library_that_nobody_has\n")
        with pytest.raises(InputError) as error:
            lab.backend(trex__client=str(tmp_path)).check(setup())
        refused(error, "cannot be loaded by")
        assert "No module named 'a_library_that_nobody_has'" in error.value.message

    def test_no_python(self, lab: Lab) -> None:
        with pytest.raises(InputError) as error:
            lab.backend(trex__python="/nowhere/python3").check(setup())
        refused(error, "trex.python: /nowhere/python3 cannot be run (No such file or directory); name a Python 3")

    def test_a_python_that_is_none(self, lab: Lab) -> None:
        with pytest.raises(InputError) as error:
            lab.backend(trex__python="/bin/false").check(setup())
        refused(error, "its client ended with status 1")


PORT: dict = {"up": True}


@pytest.mark.parametrize(
    ("world", "changes", "sentence"),
    [
        ({"reachable": False}, {}, "cannot be reached (*** [RPC] - Failed"),
        ({"mismatch": True}, {}, "do not fit together (Version mismatch: your client version is too new"),
        ({"version": "v2.99"}, {}, "is of version v2.99, and"),
        ({"version": "v3.09"}, {"trex__version": "v3.08"}, "wants v3.08; run that one, or change trex.version there"),
        ({"version": "v30.1"}, {}, "is of version v30.1"),
        ({"ports": [PORT]}, {}, "has no port 1, only 0; correct boxes in"),
        ({"ports": [PORT, {"up": False}]}, {}, "port 1 (red of right): its link is down"),
        (
            {"ports": [{"mac": "02:00:00:00:09:09"}, PORT]},
            {},
            "port 0 (red of left): it has MAC 02:00:00:00:09:09, and",
        ),
        ({"ports": [{"speed": 40.0}, PORT]}, {}, "it runs at 40 Gb/s, and"),
        ({"ports": [{"promiscuous": False}, PORT]}, {}, "it cannot be promiscuous; write promiscuous: false"),
        ({"ports": [PORT, {"owner": "mary"}]}, {}, "cannot be taken (*** [RPC] - port is already taken by 'mary')"),
        ({"arp": {}}, {}, "port 1: no host answers ARP for 198.19.255.254"),
        ({"refuse": {"set_port_attr": "not now"}}, {}, "its ports cannot be prepared (not now)"),
        ({"refuse": {"get_all_ports": "not now"}}, {}, "does not go on (not now)"),
        ({"die_at": "connect:1"}, {}, "does not go on (its client ended with status 139"),
        (
            {"die_at": "lost:get_port_info:1"},
            {},
            "does not go on ('get_port_info' - connection to the server had been lost",
        ),
    ],
)
def test_what_the_server_shows(lab: Lab, world: dict, changes: dict, sentence: str) -> None:
    lab.world(**world)
    backend = lab.backend(**changes)
    with pytest.raises(InputError) as error:
        backend.check(setup())
    refused(error, sentence.replace("*** ", "") if "[RPC]" in sentence else sentence)
    assert "TRex at 192.0.2.10:4501" in error.value.message
    assert sent(lab) == []


def test_ports_that_somebody_holds_can_be_taken_by_force(lab: Lab) -> None:
    lab.world(ports=[{"owner": "mary"}, {}])
    assert lab.backend(trex__force="true").run_trial(trial()).passed


def test_a_port_that_cannot_be_promiscuous_need_not_be(lab: Lab) -> None:
    lab.world(ports=[{"promiscuous": False}, {"promiscuous": False}])
    lab.backend(promiscuous="false").check(setup())
    assert [call["promiscuous"] for call in lab.calls() if call["call"] == "set_port_attr"] == []


@pytest.mark.parametrize(("gbps", "virtual"), [(10, False), (25, False), (40, False), (100, False), (10, True)])
def test_percent_is_of_the_ports_own_rate(lab: Lab, gbps: int, virtual: bool) -> None:
    """Of software ports too, whose rate is what TRex says."""
    lab.world(ports=[{"speed": float(gbps), "virtual": virtual}] * 2)
    backend = lab.backend(line_rate_gbps=gbps)
    assert backend.capabilities().line_gbps == gbps
    backend.check(setup())
    assert lab.warnings == []
    line = replace(setup(), line_gbps=gbps).line_fps
    assert float(line) == pytest.approx(gbps * 1e9 / (8 * 84))
    assert backend.run_trial(trial(int(line))).passed
    for more in ({"fps": int(line) + 10_000}, {"fps": 1000, "then_fps": int(line) + 10_000}):
        with pytest.raises(InputError) as error:
            backend.run_trial(trial(**more))
        refused(error, f"a port of {gbps} Gb/s carries {float(line):,.0f}; choose --load 100 or less")


def test_a_reset_that_needs_a_person_is_known_before_hours_of_tests(lab: Lab) -> None:
    with pytest.raises(InputError) as error:
        lab.backend(resets=["power"]).check(setup(), ["throughput", "reset"])
    refused(error, "an operator is asked for the power reset; run this in a terminal, write boxes[0].commands in ")
    assert lab.calls() == []
    lab.backend(resets=["power"]).check(setup(), ["throughput"])
    lab.backend(resets=["power"], interactive=True).check(setup(), ["reset"])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"boxes": 1}, "lab.yaml lists boxes two by two; choose --boxes 2, or another lab file"),
        ({"rekeys": 1}, "has no command that rekeys the boxes; write boxes[0].commands.rekey there"),
        ({"tables": "full"}, "--tables full: these are tables of simulated chips"),
        ({"sas": 65_537}, "--sas 65537: choose 1 to 65536"),
        ({"sas": 0}, "--sas 0: choose 1"),
        (
            {"mix": {9217: 1}},
            "--frame-size 9217: its packet of 9199 B exceeds the MTU of TRex's ports, 9198 B; choose at most 9216",
        ),
        (
            {"mix": {64: 1}, "ip": 6},
            "--frame-size 64: TRex measures latency by 16 B behind the UDP header; choose 82 or more",
        ),
        ({"mix": {63: 1}}, "choose 64 or more over IPv4"),
        ({"measure_ns": 200_000}, "a measured interval of 0.0002 s is too short for a real tester; choose 0.1 s"),
    ],
)
def test_setups_that_are_not_offered(lab: Lab, changes: dict, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        lab.backend().check(replace(setup(), **changes))
    refused(error, sentence)
    assert lab.calls() == []  # before TRex is reached


@pytest.mark.parametrize(
    ("changes", "interactive", "sentence"),
    [
        ({"attack": "replay"}, True, "--attack replay: TRex is on the red side"),
        ({"reset": "software"}, True, "--reset software: "),
        ({"reset": "power"}, False, "--test reset: an operator is asked for the power reset"),
        ({"burst": 0}, True, "a burst of 0 frames: choose 1 or more"),
        ({"fps": 148_900_000}, True, "choose --load 100 or less"),
    ],
)
def test_trials_that_are_not_offered(lab: Lab, changes: dict, interactive: bool, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        lab.backend(interactive=interactive).run_trial(trial(**changes))
    refused(error, sentence)
    assert sent(lab) == [] and lab.asked == []


def test_a_refusal_leaves_no_process(lab: Lab) -> None:
    lab.world(ports=[{"owner": "mary"}, {}])
    with pytest.raises(InputError):
        lab.backend().check(setup())
    last = lab.calls()[-1]
    assert last["call"] == "disconnect"


def test_the_option_is_one_sentence_too(tmp_path: Path) -> None:
    """As the front end would have it: `--lab FILE`, loaded by the backend."""
    program = (
        "import click\nfrom sallyport.trex.option import lab_option, backend\n"
        "@click.command()\n@lab_option\ndef main(lab):\n    backend(lab)\nmain()"
    )
    for arguments, sentence in (
        ([], "sallyport: --backend trex needs --lab FILE"),
        (["--lab", str(tmp_path / "none.yaml")], "none.yaml: cannot be read (No such file or directory)"),
    ):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert lab_option is not None
