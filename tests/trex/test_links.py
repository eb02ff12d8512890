# SPDX-License-Identifier: Apache-2.0
"""The network between TRex and a box: VLAN tags, IPv6 neighbours, bridges that must learn."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from sallyport.errors import InputError
from tests.trex.lab import BOX_MAC, GATEWAY, Lab, setup, trial

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
    assert [call["vlan"] for call in lab.calls() if call["call"] == "set_vlan"] == [200]  # for ARP


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
