# SPDX-License-Identifier: Apache-2.0
"""What must become of a frame at the red port (RFC 4301 5.1; docs/explanation/encrypt-path.md)."""

from __future__ import annotations

from dataclasses import replace

from tests.support.mss import clamped

from . import frame_judge
from .addresses import Port
from .configuration import Configuration
from .ethernet import Frame, vlan
from .forwarding import for_cpu, forwarded, framed
from .icmp_errors import outgoing
from .mtu import CUT_FIRST, LONGEST_ESP, LONGEST_PACKET, clear_pieces, esp_limit, esp_pieces, inner_mtu
from .network import NO_HOST, NO_ROUTE
from .outcome import Clear, Lost, Outcome, Protected, behind, ends
from .reading import Reading
from .reassembly import Reassembly
from .sa import Sa
from .upper import Upper

IPV4_HEADER = 20  # without options


class RedJudge:
    """Judges frames in order, since fragments come one after the other.

    Of an SA with a hard limit each packet's outcome is what it is before that limit; how many get
    that far is for the comparison to say, for which of them do depends on who overtook whom.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.policies = configuration.out()
        self.of_vrf = {vrf.name: configuration.out(vrf) for vrf in configuration.vrfs}
        self.port = Port.at("red", configuration)
        self.reassembly = Reassembly.at("red", configuration)

    def __call__(self, frame: Frame) -> Outcome:
        outcome = behind(self.reassembly.take(frame), "inner", self._whole)
        return replace(outcome, network=self.configuration.number(self.configuration.vrf_of(vlan(frame))))

    def _whole(self, frame: Frame, upper: Upper | None) -> Outcome:
        vrf = self.configuration.vrf_of(vlan(frame))
        port = replace(self.port, apart=vrf is not None)
        counter, packet = followed(frame, port, upper)
        if counter:
            return ends(f"inner.{counter}")
        if port.owns(packet.dst):
            return ends("inner.punt_local")
        policy, _ = outgoing(self.of_vrf[vrf.name] if vrf else self.policies, packet)
        if policy is None or policy.action == "block":
            return ends("inner.drop_policy")
        if policy.action == "punt":
            return ends("inner.punt_policy")
        if packet.ttl <= 1:
            return ends("inner.punt_ttl")
        data = forwarded(packet_bytes(frame, packet))
        if isinstance(policy.action, Sa):
            return self._protect(policy.action, packet, data, policy.mss)
        paths, prefix = self.configuration.paths, policy.selector.dst
        return self._bypass(packet, data, paths.station("black", packet.dst, prefix), paths.to("black", prefix)[1])

    def _bypass(self, packet: Reading, data: bytes, station: str, route_mtu: int) -> Outcome:
        """Cut or refused as by any router (RFC 1812 4.2.2.7, 4.3.3.1), or left to the CPU if there
        are options to cut. Without a station the CPU gets each piece."""
        mtu = self._mtu(route_mtu)
        if len(data) <= mtu:
            return _at_black([data], station)
        if packet.dont_fragment or packet.header > IPV4_HEADER:
            return ends("inner.punt_mtu")
        pieces = clear_pieces(data, mtu)
        counters = ("inner.frag_packets", *("inner.frag_split",) * (len(pieces) - 1))
        found = _at_black(pieces, station)
        return replace(found, counters=(*counters, *found.counters))

    def _protect(self, sa: Sa, packet: Reading, data: bytes, mss: bool) -> Outcome:
        mac, route_mtu = self.configuration.paths.to_host("black", sa.dst)
        mtu = self._mtu(route_mtu)
        most = inner_mtu(sa, mtu) if sa.copy_df else esp_limit(sa)
        if mss:
            data = clamped(data, most)
        if packet.dont_fragment and len(data) > most:
            return ends("inner.punt_mtu")
        before = ("inner.tx_protect",)
        lapsed = ("inner.drop_lifetime",) if sa.hard_limit else ()
        plain = packet.version == 4 and packet.header == IPV4_HEADER and not packet.dont_fragment
        if plain and len(data) > CUT_FIRST:
            pieces = clear_pieces(data, min(most, CUT_FIRST))
            counters = ["inner.frag_packets", *["inner.frag_split"] * (len(pieces) - 1)]
            sent = []
            for piece in pieces:
                counters += [*before, *_behind_esp(sa, piece, mtu)]
                sent.append(Protected(sa, piece, packet.tos, False, mac, mtu))
            return Outcome(tuple(counters), sent=tuple(sent), fast=sa.suite.fast, lapsed=lapsed)
        if sa.esp_bytes(len(data)) > LONGEST_ESP:
            return Outcome((*before, "crypto.drop_enc_oversize"), sent=(Lost(sa),), fast=sa.suite.fast, lapsed=lapsed)
        whole = Protected(sa, data, packet.tos, packet.dont_fragment, mac, mtu)
        return Outcome((*before, *_behind_esp(sa, data, mtu)), sent=(whole,), fast=sa.suite.fast, lapsed=lapsed)

    def _mtu(self, of_route: int) -> int:
        """A route's MTU bounds what it may be, and so does the port's."""
        return min(mtu for mtu in (of_route, self.configuration.paths.mtu, LONGEST_PACKET) if mtu)


def _at_black(pieces: list[bytes], station: str) -> Outcome:
    """What becomes of clear packets that the inner chip lets out."""
    before = ("inner.tx_bypass", "crypto.black_tx_packets")
    if station in (NO_HOST, NO_ROUTE):
        reason = f"clear_{station}"
        found = tuple((reason, for_cpu(piece, "black")) for piece in pieces)
        return Outcome((*before, f"outer.punt_{reason}") * len(pieces), delivered=found)
    sent = tuple(Clear(framed("black", station, piece)) for piece in pieces)
    return Outcome((*before, "outer.tx_frames") * len(pieces), sent=sent)


def _behind_esp(sa: Sa, data: bytes, mtu: int) -> tuple[str, ...]:
    """Counters of a packet of ESP, which is cut if it is too long."""
    frames = esp_pieces(sa, len(data), mtu)
    cut = ("outer.frag_packets", *("outer.frag_split",) * (frames - 1)) if frames > 1 else ()
    return ("crypto.black_tx_packets", *cut, *("outer.tx_frames",) * frames)


def followed(frame: Frame, port: Port, upper: Upper | None) -> tuple[str, Reading]:
    """As [frame_judge.judge]; of a fragment that goes on as one, with what its first one says."""
    counter, packet = frame_judge.judge(frame, port)
    if upper and counter == "punt_fragment":
        return "", upper.over(packet)
    return counter, packet


def packet_bytes(frame: Frame, packet: Reading) -> bytes:
    """The IP packet without the bytes in front of it and behind it."""
    _, start = frame_judge.ether_type(frame)
    return frame.data[start : start + packet.total]
