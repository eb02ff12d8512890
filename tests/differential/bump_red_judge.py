# SPDX-License-Identifier: Apache-2.0
"""What must become of a frame at the red port of a bump in the wire (RFC 4301 5.1;
docs/explanation/transport-mode.md)."""

from __future__ import annotations

from . import frame_judge
from .ethernet import Frame
from .icmp_errors import outgoing
from .mtu import LONGEST_ESP, esp_pieces, inner_mtu
from .outcome import Clear, Lost, Outcome, Transported, behind, ends
from .policy import Hosts
from .reading import Reading
from .red_judge import IPV4_HEADER, RedJudge, followed, packet_bytes
from .sa import Sa
from .transport import MOST_BYTES, crossed, has_room
from .upper import Upper

UNTAGGED = 14
LONGEST_FRAME = 9596  # without its FCS


class BumpRedJudge(RedJudge):
    """Frames keep their Ethernet header, tags and TTL; a bridge cuts nothing but what ESP has made
    too long."""

    def _whole(self, frame: Frame, upper: Upper | None) -> Outcome:
        counter, packet = followed(frame, self.port, upper)
        if counter == frame_judge.CROSSES:
            return self._crosses(frame.data)
        if counter:
            return ends(f"inner.{counter}")
        policy, decided = outgoing(self.policies, packet)
        if policy and policy.action == "punt":
            return ends("inner.punt_policy")
        if policy and policy.action == "allow":
            return self._crosses(crossed(frame, packet))
        if policy is None or not isinstance(policy.action, Hosts):
            return ends("inner.drop_policy")
        sa = policy.action.between(decided)
        # Without one IKE has to be asked (RFC 4301 5.1 step 3b).
        if sa is None:
            return ends("inner.punt_policy")
        if packet.fragment:
            return behind(self.reassembly.again(frame), "inner", self._whole)
        return self._between_hosts(sa, frame, packet)

    def _crosses(self, data: bytes) -> Outcome:
        before = ("inner.tx_bypass", "crypto.black_tx_packets")
        _, at = frame_judge.ether_type(Frame(data))
        if len(data) - at > self._mtu(0):
            return ends("outer.drop_mtu", before)
        return Outcome((*before, "outer.tx_frames"), sent=(Clear(data),))

    def _between_hosts(self, sa: Sa, frame: Frame, packet: Reading) -> Outcome:
        mtu = self._mtu(0)
        if packet.dont_fragment and packet.total > inner_mtu(sa, mtu):
            return ends("inner.punt_mtu")
        _, at = frame_judge.ether_type(frame)
        head, payload = frame.data[: at + packet.header], packet_bytes(frame, packet)[packet.header :]
        if not payload or not has_room(head, at):
            return ends("inner.drop_transport_header")
        before = ("inner.tx_protect",)
        lapsed = ("inner.drop_lifetime",) if sa.hard_limit else ()
        if sa.esp_bytes(len(payload) + MOST_BYTES) > LONGEST_ESP:
            return Outcome((*before, "crypto.drop_enc_oversize"), sent=(Lost(sa),), fast=sa.suite.fast, lapsed=lapsed)
        before = (*before, "crypto.black_tx_packets")
        length = packet.header + sa.esp_bytes(len(payload))
        whole = packet.dont_fragment or packet.header > IPV4_HEADER or at > UNTAGGED
        if whole and (length > mtu or at + length > LONGEST_FRAME):
            lost = Lost(sa, numbered=True)
            return Outcome((*before, "outer.drop_mtu"), sent=(lost,), fast=sa.suite.fast, lapsed=lapsed)
        frames = esp_pieces(sa, len(payload), mtu)
        cut = ("outer.frag_packets", *("outer.frag_split",) * (frames - 1)) if frames > 1 else ()
        sent = Transported(sa, payload, packet.protocol, head, at, mtu)
        counters = (*before, *cut, *("outer.tx_frames",) * frames)
        return Outcome(counters, sent=(sent,), fast=sa.suite.fast, lapsed=lapsed)
