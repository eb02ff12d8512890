"""What must become of a frame at the red port (RFC 4301 5.1; docs/theory.md, "Inner, encrypt" and "Outer, encrypt")."""

from __future__ import annotations

from collections import Counter

from . import frame_judge
from .configuration import Configuration
from .ethernet import Frame
from .forwarding import forwarded, framed
from .outcome import Clear, Outcome, Protected, ends
from .policy import decide
from .reading import Reading
from .sa import Sa

LONGEST_ESP = 9582  # docs/crypto.md
LONGEST_PACKET = 9582  # what a frame of 9600 B holds


class RedJudge:
    """Judges frames in order: what the numbers of its outbound SAs are depends on those before."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.policies = configuration.out()
        self.used: Counter[int] = Counter()  # numbers, by SPI

    def __call__(self, frame: Frame) -> Outcome:
        counter, packet = frame_judge.judge(frame)
        if counter:
            return ends(f"inner.{counter}")
        policy = decide(self.policies, packet)
        if policy is None or policy.action == "block":
            return ends("inner.drop_policy")
        if policy.action == "punt":
            return ends("inner.punt_policy")
        if packet.ttl <= 1:
            return ends("inner.drop_ttl_expired")
        data = forwarded(_bytes(frame, packet))
        if isinstance(policy.action, Sa):
            return self._protect(policy.action, packet, data)
        return self._bypass(data, self.configuration.paths.to("black", policy.selector.dst)[0])

    def _bypass(self, data: bytes, mac: str) -> Outcome:
        before = ("inner.tx_bypass", "crypto.black_tx_packets")
        if len(data) > self._mtu(0):
            return ends("outer.drop_mtu", before)
        return Outcome((*before, "outer.tx_frames"), sent=Clear(framed("black", mac, data)))

    def _protect(self, sa: Sa, packet: Reading, data: bytes) -> Outcome:
        before = ("inner.tx_protect",)
        esp = sa.esp_bytes(len(data))
        if esp > LONGEST_ESP:
            return ends("crypto.drop_enc_oversize", before)
        if sa.hard_limit and self.used[sa.spi] >= sa.hard_limit:
            return ends("crypto.drop_enc_sequence_exhausted", before)
        self.used[sa.spi] += 1
        before = (*before, "crypto.black_tx_packets")
        mac, route_mtu = self.configuration.paths.to_host("black", sa.dst)
        header = 40 if sa.v6 else 20 if sa.far_port is None else 28
        if header + esp > self._mtu(route_mtu):
            return ends("outer.drop_mtu", before)
        sent = Protected(sa, self.used[sa.spi], data, packet.tos, packet.dont_fragment, mac)
        return Outcome((*before, "outer.tx_frames"), sent=sent, fast=sa.suite.fast)

    def _mtu(self, of_route: int) -> int:
        """A route's MTU bounds what it may be, and so does the port's."""
        return min(mtu for mtu in (of_route, self.configuration.paths.mtu, LONGEST_PACKET) if mtu)


def _bytes(frame: Frame, packet: Reading) -> bytes:
    """The IP packet without what is in front of it and behind it."""
    _, start = frame_judge.ether_type(frame)
    return frame.data[start : start + packet.total]
