# SPDX-License-Identifier: Apache-2.0
"""What must become of an ESP packet of an inbound SA (RFC 4303 3.4;
docs/explanation/crypto-chip.md; docs/explanation/decrypt-path.md).

[Inbound] is in tunnel mode, [transport_decryption] has the differences of transport mode."""

from __future__ import annotations

from dataclasses import replace

from scapy.layers.inet import IP

from tests.support.mss import clamped

from . import reassembly
from .addresses import Port, martian, of_one_link
from .configuration import Configuration
from .esp import Peer, fits, right_padding
from .ethernet import Frame
from .forwarding import ecn_behind_tunnel, for_cpu, forwarded, header, unexpected, with_ecn
from .hairpin import HairpinJudge
from .icmp_errors import returning
from .mtu import LONGEST_PACKET, inner_mtu
from .network import BACK
from .numbers import HighHalf, Window
from .outcome import Clear, Outcome, ends
from .policy import decide
from .reading import Reading, read
from .reassembly import WAITED, Piece
from .red_mtu import at_red
from .sa import Sa
from .upper import Upper
from .vrf import Station

NO_NEXT_HEADER = 59
VERSION_OF = {4: 4, 41: 6}
STATES = {
    "malformed": "drop_inner_malformed",
    "checksum": "drop_inner_checksum",
    "unread": "drop_inner_extension_headers",
}

TUNNEL = "tunnel"
TOO_LONG = "tunnel_mtu"
EXPIRED = "tunnel_ttl"

# A fragment out of a tunnel, and what the first one of its datagram says, if that has come.
Part = tuple[Piece, Upper | None]

# The counter of a drop, or the inner chip's counters and what leaves, or what the CPU gets, with
# the reason, or what becomes of it between tunnels; or WAITS.
Result = str | tuple[list[str], tuple[Clear, ...] | tuple[str, bytes] | Outcome]
WAITS = "waits for the first fragment"


def over_tcp_flags(data: bytes) -> bool:
    """An IPv4 fragment of TCP at byte 8 of it (RFC 1858 4)."""
    return data[0] >> 4 == 4 and IP(data[:20]).frag == 1 and IP(data[:20]).proto == 6


class Inbound:
    """The state of one SA."""

    def __init__(self, sa: Sa, configuration: Configuration) -> None:
        self.sa = sa
        self.peer = Peer(sa)
        self.high = HighHalf(sa.window, sa.received)
        self.window = Window(sa.window, sa.received)
        self.selectors = configuration.carried(sa)
        self.vrf = configuration.vrf_inside(sa)
        self.network = configuration.number(self.vrf)
        self.policies = configuration.incoming(self.vrf)
        self.paths = configuration.paths
        self.hairpin = HairpinJudge(configuration)
        self.red = replace(Port.at("red", configuration), apart=self.vrf is not None)
        self.segment_mtu = 0
        if any(policy.mss and policy.carried_by(sa) for policy in self.policies):
            back = min(mtu for mtu in (self.paths.to_host("black", sa.src)[1], self.paths.mtu, LONGEST_PACKET) if mtu)
            self.segment_mtu = inner_mtu(sa, back)
        self.firsts: dict[tuple[object, ...], Upper] = {}

    def receive(self, esp: bytes, outer: Reading, head: bytes) -> Outcome:
        """`head`: the frame's bytes in front of ESP; `outer` is read from them."""
        before = ("outer.tx_esp",)
        if not fits(self.sa, len(esp)):
            return ends("crypto.drop_dec_truncated", before)
        low = int.from_bytes(esp[4:8], "big")
        high = self.high.infer(low) if self.sa.esn else 0
        opened = self.peer.open(esp, high) if high >= 0 else None
        if opened is None:
            return ends("crypto.drop_dec_icv", before)
        number = high << 32 | low
        self.high.authentic(number)
        if opened.pad_length > len(opened.body):
            return ends("crypto.drop_dec_truncated", before)
        if opened.padding != right_padding(opened.pad_length):
            return ends("crypto.drop_dec_padding", before)
        if opened.next_header == NO_NEXT_HEADER or not opened.payload:
            return ends("crypto.drop_dec_dummy", before)
        before = (*before, "crypto.red_tx_packets")
        part = self._part(opened.payload, opened.next_header)
        result = self._inspect(opened.payload, opened.next_header, number, outer, head, part)
        if result != WAITS or part is None:
            return self._outcome(result, before)

        def later() -> Outcome | None:
            upper = self.firsts.get(part[0].key)
            if upper is None:
                return None
            result = self._packet(opened.payload, opened.next_header, outer, head, (part[0], upper))
            return replace(self._outcome(result, before), way=f"{WAITED} {self.sa.spi} {number}")

        return Outcome((), later=later)

    def _outcome(self, result: Result, before: tuple[str, ...]) -> Outcome:
        if isinstance(result, str):
            return ends(f"inner.{result}", before)
        counters, found = result
        all_counters = (*before, *(f"inner.{name}" for name in counters))
        match found:
            case (str(reason), bytes(frame)):
                return Outcome(all_counters, delivered=((reason, frame),), network=self.network)
            case Outcome():
                lapsed = (*all_counters, *found.lapsed) if found.lapsed else ()
                counted = (*all_counters, *found.counters)
                return replace(found, counters=counted, lapsed=lapsed, fast=self.sa.suite.fast, network=self.network)
        return Outcome(all_counters, sent=found, fast=self.sa.suite.fast)

    def _inspect(
        self, data: bytes, next_header: int, number: int, outer: Reading, head: bytes, part: Part | None
    ) -> Result:
        if not self.selectors:
            return "drop_no_selector"
        refused = self.window.check(number)
        if refused:
            return refused
        return self._packet(data, next_header, outer, head, part)

    def _part(self, data: bytes, next_header: int) -> Part | None:
        """The first of the first ones counts (RFC 4301 7.3)."""
        packet = read(data, VERSION_OF.get(next_header, 0))
        if packet.state != "whole" or not packet.fragment:
            return None
        piece = reassembly.read(Frame(bytes(12) + (b"\x86\xdd" if packet.version == 6 else b"\x08\0") + data))
        if not piece.start:
            self.firsts.setdefault(piece.key, Upper.of(packet, len(piece.payload)))
        return piece, self.firsts.get(piece.key)

    def _packet(self, data: bytes, next_header: int, outer: Reading, _head: bytes, part: Part | None) -> Result:
        """What becomes of a payload that the window let in."""
        if next_header not in VERSION_OF:
            return "drop_inner_not_ip"
        packet = read(data, VERSION_OF[next_header])
        if packet.state != "whole":
            return STATES[packet.state]
        own = packet
        # A first one may hold a fragment of its own, whose offset is another.
        later = part is not None and part[0].start > 0
        upper = part[1] if part else None
        packet = upper.over(packet) if upper and later else packet
        waits = later and not upper
        if not self.allows(packet):
            return WAITS if waits else "drop_selector_mismatch"
        if martian(packet):
            return "drop_inner_martian"
        if self.red.owns(packet.src):
            return "drop_inner_own_source"
        if part and upper and not later and not upper.same(Upper.of(own, len(part[0].payload))):
            return "drop_inner_frag_conflict"
        if over_tcp_flags(data) or (part and upper and later and part[0].start // 8 < upper.units):
            return "drop_fragment_offset"
        ecn = ecn_behind_tunnel(packet.tos, outer.tos)
        if ecn is None:
            return "drop_ecn"
        odd = ["ecn_unexpected"] if unexpected(packet.tos, outer.tos) else []
        fitting = with_ecn(clamped(data[: packet.total], self.segment_mtu), ecn)
        if self.red.owns(packet.dst) or of_one_link(packet):
            return [f"punt_{TUNNEL}", *odd], (TUNNEL, for_cpu(fitting))
        if packet.ttl <= 1:
            return [f"punt_{EXPIRED}", *odd], (EXPIRED, for_cpu(fitting))
        prefix = self.selectors[0].dst if len(self.selectors) == 1 else None
        to = (
            self.vrf.station(packet.dst, prefix) if self.vrf else Station(self.paths.station("red", packet.dst, prefix))
        )
        if isinstance(to, str):
            return [f"punt_{TUNNEL}_{to}", *odd], (f"{TUNNEL}_{to}", for_cpu(fitting))
        if to.mac == BACK and waits:
            return WAITS
        if to.mac == BACK:
            return odd, self.hairpin.between(forwarded(fitting), self.vrf, upper)
        leaving = at_red(
            header("red", to.mac, fitting, to.vlan), forwarded(fitting), own, self.paths.red_mtu, bump=False
        )
        if leaving is None:
            return [f"punt_{TOO_LONG}", *odd], (TOO_LONG, for_cpu(fitting))
        return [*leaving[0], *odd], leaving[1]

    def allows(self, packet: Reading) -> bool:
        """Whether the first policy that it meets is one of the SA's (RFC 4301 4.4.1: the SPD is
        ordered), or that of the return traffic of the packet in an ICMP error is (6.2)."""
        back = returning(packet)
        return self._takes(packet) or (back is not None and self._takes(back))

    def _takes(self, packet: Reading) -> bool:
        policy = decide(self.policies, packet)
        carried = policy.carried_by(self.sa) if policy else None
        return carried is not None and carried.takes(packet)
