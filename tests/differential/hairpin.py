# SPDX-License-Identifier: Apache-2.0
"""What must become of a packet out of a tunnel for another one, behind the decrypt path
(docs/explanation/forwarding.md, Between tunnels)."""

from __future__ import annotations

from dataclasses import replace

from .forwarding import for_cpu
from .icmp_errors import outgoing
from .outcome import HAIRPIN, Outcome, ends
from .reading import read
from .red_judge import RedJudge
from .sa import Sa
from .upper import Upper
from .vrf import Vrf

WAY = ("inner.tx_hairpin", "inner.rx_hairpin")


class HairpinJudge(RedJudge):
    """The encrypt path asks its policies alone: addresses, TTL and fragments were judged before."""

    def between(self, data: bytes, vrf: Vrf | None, upper: Upper | None) -> Outcome:
        """`data`: the IP packet as decryption leaves it, its TTL lowered. `upper`: that of a
        fragment's datagram, whose first one has come."""
        packet = read(data, data[0] >> 4)
        packet = upper.over(packet) if upper and packet.fragment else packet
        policy, _ = outgoing(self.of_vrf[vrf.name] if vrf else self.policies, packet)
        if policy is None or policy.action == "block":
            return ends("inner.drop_policy", WAY)
        if policy.action == "punt":
            return _told("policy", data)
        if not isinstance(policy.action, Sa):
            return ends("inner.drop_hairpin_clear", WAY)
        found = self._protect(policy.action, packet, data, policy.mss)
        if found.punt:
            return _told(found.punt, data)
        lapsed = (*WAY, *found.lapsed) if found.lapsed else ()
        return replace(
            found, counters=(*WAY, *found.counters), sent=(), back=found.sent, fast_back=found.fast, lapsed=lapsed
        )


def _told(reason: str, data: bytes) -> Outcome:
    return Outcome((*WAY, f"inner.punt_{reason}"), delivered=((f"{HAIRPIN} {reason}", for_cpu(data)),))
