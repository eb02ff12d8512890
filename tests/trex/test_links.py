# SPDX-License-Identifier: Apache-2.0
"""The network between TRex and a box: VLAN tags, IPv6 neighbours, bridges that must learn."""

from __future__ import annotations

import pytest
import yaml
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from sallyport import rows
from sallyport.errors import InputError
from tests.trex.lab import BOX_MAC, GATEWAY, Lab, fields, setup, trial

NEIGHBOUR = {"boxes__1__red__arp": None, "boxes__1__red__neighbour": {"gateway": "fe80::1"}}


@pytest.mark.parametrize("ip", [4, 6])
def test_frames_have_the_tag_of_their_port(lab: Lab, ip: int) -> None:
    lab.world(vlan=200, arp={GATEWAY: BOX_MAC[1]})
    backend = lab.backend(boxes__0__red__vlan=100, boxes__1__red__vlan=200)
    result = backend.run_trial(trial(mix={90: 1}, of={"ip": ip, "sas": 4}))
    assert result.passed, result.checks
    for port, added in lab.streams().items():
        for stream in added:
            packet = Ether(bytes.fromhex(stream["packet"]))
            assert packet[Dot1Q].vlan == 100 * (port + 1) and len(packet) + 4 == 90
            assert len(packet[UDP].payload) >= 16
            writes = [fields["at"] for name, fields in stream["vm"] if name == "STLVmWrFlowVar"]
            if writes:
                header = packet[IP if ip == 4 else IPv6]
                start = len(packet) - len(header)
                ends = (16, 20) if ip == 4 else (24, 40)
                assert writes == [start + end - 2 for end in ends]
    assert [call["vlan"] for call in lab.calls() if call["call"] == "set_vlan"] == [[200]]


@pytest.mark.parametrize("found_by", ["arp", "neighbour"])
def test_a_tag_of_an_earlier_lab_is_gone(lab: Lab, found_by: str) -> None:
    """TRex's server keeps it when its user goes."""
    lab.world(old_vlan=100, neighbours={"fe80::1": BOX_MAC[1]})
    lab.backend(**(NEIGHBOUR if found_by == "neighbour" else {})).check(setup())


def test_a_tag_needs_room(lab: Lab) -> None:
    with pytest.raises(InputError, match="choose 66 or more over IPv4, with a VLAN tag"):
        lab.backend(boxes__0__red__vlan=100).check(setup({64: 1}))


def test_an_ipv6_neighbour_is_found(lab: Lab) -> None:
    lab.world(neighbours={"fe80::2": "02:00:00:00:09:09", "fe80::1": BOX_MAC[1]})
    assert lab.backend(**NEIGHBOUR).run_trial(trial()).passed
    lab.world(neighbours={"fe80::2": "02:00:00:00:09:09"})
    with pytest.raises(
        InputError, match=r"no host answers neighbour discovery for fe80::1 \(no node on the link has it\)"
    ):
        lab.backend(**NEIGHBOUR).check(setup())


@pytest.mark.parametrize("address", ["2001:db8::1", "fe80::1%eth0", "198.51.100.1", "router"])
def test_a_neighbour_is_link_local(lab: Lab, address: str) -> None:
    changes = NEIGHBOUR | {"boxes__1__red__neighbour": {"gateway": address}}
    with pytest.raises(InputError, match=r"boxes\[1\].red.neighbour.gateway: .* is not a link-local IPv6 address"):
        lab.backend(**changes)


def test_both_ports_send_learning_frames_and_none_is_counted(lab: Lab) -> None:
    result = lab.backend(learning_frames=5).run_trial(trial(of={"direction": "encrypt"}))
    assert result.passed and result.tx_frames == 600_000
    first = next(call for call in lab.calls() if call["call"] == "start")
    assert first["ports"] == [0, 1]


def two_pairs(**changes: object) -> dict:
    """A lab of two pairs of boxes, at TRex's ports 0 to 3."""
    text = fields(**changes)
    for number, name in enumerate(("third", "fourth"), 2):
        red = {"port": number, "mac": f"02:00:00:00:01:0{number}", "next_hop": f"02:00:00:00:02:0{number}"}
        text["boxes"].append({"name": name, "red": red})
    return text


PORTS = [{"mac": f"02:00:00:00:01:0{n}", "box_mac": f"02:00:00:00:02:0{n}"} for n in range(4)]


def test_all_pairs_of_ports_have_the_load(lab: Lab) -> None:
    lab.world(ports=PORTS)
    backend = lab.backend(text=yaml.safe_dump(two_pairs()))
    assert backend.capabilities().pairs == 2
    asked = trial(of={"suite": "aes256gcm16,sm4-sm3", "sas": 2, "pairs": 2, "warmup_ns": 1_000_000_000})
    result = backend.run_trial(asked)
    assert result.passed, result.reasons
    assert (result.tx_frames, result.offered_fps) == (4 * 600_000, 100_000)
    groups = [[stream["pg_id"] for stream in added] for _, added in sorted(lab.streams().items())]
    assert groups == [[1, 16, 17], [2, 80, 81], [3, 144, 145], [4, 208, 209]]
    row = rows.make("64", "throughput", asked.setup, result, 1)
    assert row["ports"] == 4 and row["throughput_pct"] == pytest.approx(
        100 * 100_000 / float(asked.setup.line_fps), abs=1e-4
    )
    for group in (1, 4, 208):
        lab.world(ports=PORTS, lose={str(group): 7})
        assert lab.backend(text=yaml.safe_dump(two_pairs())).run_trial(asked).lost == 7


def test_each_port_is_checked(lab: Lab) -> None:
    lab.world(ports=[*PORTS[:3], PORTS[3] | {"up": False}])
    with pytest.raises(InputError, match=r"port 3 \(red of fourth\): its link is down"):
        lab.backend(text=yaml.safe_dump(two_pairs())).check(setup())
    lab.world(ports=[*PORTS[:3], PORTS[3] | {"owner": "mary"}])
    with pytest.raises(InputError, match="ports 0 and 1 and 2 and 3 cannot be taken"):
        lab.backend(text=yaml.safe_dump(two_pairs())).check(setup())
    text = two_pairs()
    text["boxes"][3]["red"]["port"] = 1
    with pytest.raises(InputError, match="boxes: two have port 1; give each its own"):
        lab.backend(text=yaml.safe_dump(text))
    del text["boxes"][3]
    with pytest.raises(InputError, match="boxes: must be a list of 1 or 2 or 4"):
        lab.backend(text=yaml.safe_dump(text))


def test_latency_streams_are_enough_for_all_ports(lab: Lab) -> None:
    lab.world(ports=PORTS)
    many = ",".join(["aes256gcm16"] * 33)
    with pytest.raises(InputError, match="TRex has latency streams for 32 suites a port; choose fewer"):
        lab.backend(text=yaml.safe_dump(two_pairs())).check(setup(suite=many, sas=33))
