# SPDX-License-Identifier: Apache-2.0
"""Clear packets from black meet the inbound policies twice, on the outer and on the inner chip
(RFC 4301 4.4.1, 5.2). A captured outer chip lets packets pass that no policy lets in; the inner
chip discards them."""

from __future__ import annotations

from pathlib import Path

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.hosts import BRIDGE, TAGS, TO_RED, Pair, on_the_wire
from tests.support.reference import Tunnel, forwarded
from tests.support.registers import Registers, field

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
RED = ["box0.red"]
DENIED = "inner.drop_in_clear_denied"


def captured(sim: Simulator) -> None:
    """An outer chip whose first rule no longer asks for the last bit of dst's first 16, nor for
    a protocol."""
    boxes.next_hops(sim)
    with Registers(sim.socket(0)) as registers:
        row = registers.first("outer", "rule", field("RuleRow", "Valid"))
        registers.flip("outer", "rule", row, field("RuleRow", "DstMask") + 16)
        for bit in range(8):
            registers.flip("outer", "rule", row, field("RuleRow", "ProtocolMask") + bit)


ALLOWED = "xfrm policy add dst 198.18.0.0/16 proto udp dir in action allow\n"


def test_what_a_captured_outer_chip_lets_pass_does_not_reach_red(tmp_path: Path) -> None:
    """Another destination and another protocol than the one policy for clear packets names."""
    cases = [("198.18.0.1", UDP()), ("198.19.0.1", UDP()), ("198.18.0.1", TCP()), ("198.18.0.2", UDP())]
    frames: list[bytes | Packet] = [
        ETHERNET / IP(src="192.0.2.9", dst=dst) / upper / Raw(bytes(30)) for dst, upper in cases
    ]
    seen = boxes.run([ALLOWED], {"box0.black": frames}, RED, tmp_path, captured)
    through = [forwarded(bytes(frames[n])[14:]) for n in (0, 3)]
    assert [frame[14:] for frame in seen.out["box0.red"]] == through
    assert seen.named == [{DENIED: 2}]


def test_what_belongs_in_a_tunnel_is_not_let_in_clear_by_a_captured_outer_chip(tmp_path: Path) -> None:
    """The tunnel's policy comes before the wide one that lets clear packets in; in the tunnel the
    same packet passes."""
    tunnel = Tunnel()
    batch = tunnel.batch("198.18.0.0/16", "198.19.0.0/16", "198.19.0.0/16")
    batch += "xfrm policy add dst 198.18.0.0/16 dir in priority 1000 action allow\n"

    def discards_nothing(sim: Simulator) -> None:
        boxes.next_hops(sim)
        with Registers(sim.socket(0)) as registers:
            row = registers.first("outer", "rule", valid := field("RuleRow", "Valid"))
            registers.flip("outer", "rule", row, valid)

    inner = IP(src="198.19.0.1", dst="198.18.0.1") / UDP(sport=7, dport=9) / Raw(bytes(30))
    frames = [ETHERNET / inner, ETHERNET / tunnel.peer_sender().encrypt(inner)]
    seen = boxes.run([batch], {"box0.black": frames}, RED, tmp_path, discards_nothing)
    assert [frame[14:] for frame in seen.out["box0.red"]] == [forwarded(bytes(inner))]
    assert seen.named == [{DENIED: 1}]


def test_a_bridge_is_asked_too(tmp_path: Path) -> None:
    """Whole frames, tagged or not; ARP crosses whatever the policies say."""
    pair = Pair()
    batch = BRIDGE + f"xfrm policy add src {pair.far} dst 198.18.0.0/16 proto udp dir in action allow\n"

    def wide(sim: Simulator) -> None:
        with Registers(sim.socket(0)) as registers:
            row = registers.first("outer", "rule", field("RuleRow", "Valid"))
            registers.flip("outer", "rule", row, field("RuleRow", "DstMask") + 16)

    right = [tag(TO_RED) / pair.packet(30, back=True) for tag in TAGS.values()]
    wrong = [tag(TO_RED) / IP(src=pair.far, dst="198.19.0.2") / UDP() for tag in TAGS.values()]
    arp = [tag(TO_RED) / ARP(op=2, psrc=pair.far, pdst=pair.near) for tag in TAGS.values()]
    seen = boxes.run([batch], {"box0.black": [*right, *wrong, *arp]}, RED, tmp_path, wide)
    assert seen.out["box0.red"] == [on_the_wire(frame) for frame in [*right, *arp]]
    assert seen.named == [{DENIED: len(wrong)}]
