# SPDX-License-Identifier: Apache-2.0
"""Tunnels between one box and one Linux, each with a prefix of its own behind the Linux, and the
box's file of all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.support.live_box import BOX, PEER, PEER_MAC, RED_HOST, RED_HOST_MAC
from tests.support.reference import NATT_PORT, Tunnel

BOX_V6, PEER_V6, RED_BOX_V6, RED_HOST_V6 = "2001:db8:c0::1", "2001:db8:c0::2", "2001:db8:1::1", "2001:db8:1::2"
RED_NETWORKS = ("10.1.0.0/24", "2001:db8:1::/64")
# Linux 6.1 has neither SM4 nor SM3 in Debian's build.
SUITES = (
    "aes128gcm16", "aes192gcm16", "aes256gcm16", "aes128ctr-sha256", "aes256ctr-sha256", "aes128-sha256", "aes256-sha256",
    "aes256-sha1", "null-sha256", "aes256gmac", "chacha20poly1305",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A tunnel, and how far the number of its prefix is from others'."""

    name: str
    number: int
    tunnel: Tunnel
    inner: int = 4
    size: int = 56

    @property
    def far(self) -> str:
        """Linux's address in the tunnel."""
        return f"10.2.{self.number}.1" if self.inner == 4 else f"2001:db8:2:{self.number:x}::1"

    @property
    def near(self) -> str:
        """The red host's address of that family."""
        return RED_HOST if self.inner == 4 else RED_HOST_V6

    def lines(self) -> str:
        """Its states and policies in the box's file."""
        network = f"10.2.{self.number}.0/24" if self.inner == 4 else f"2001:db8:2:{self.number:x}::/64"
        text = self.tunnel.lines(src=RED_NETWORKS[self.inner == 6], dst=network, back=network, window=64)
        # Linux's tunnels carry the other IP version only so; the box's do in any case.
        mixed = (":" in self.tunnel.near) != (self.inner == 6)
        return text.replace("replay-window 64 ", "replay-window 64 flag af-unspec ") if mixed else text


def tunnel(number: int, outer: int = 4, **fields) -> Tunnel:
    ends = (BOX[1][0], PEER) if outer == 4 else (BOX_V6, PEER_V6)
    return Tunnel(spi_out=0x1000 + number, spi_in=0x2000 + number, near=ends[0], far=ends[1], **fields)


def cases() -> list[Case]:
    """Suites, families, extended numbers, NAT traversal, fragments."""
    made = [Case(suite, n, tunnel(n, suite=suite)) for n, suite in enumerate(SUITES, start=1)]
    n = len(made) + 1
    return [
        *made,
        Case("IPv4 in IPv6", n, tunnel(n, outer=6)),
        Case("IPv6 in IPv4", n + 1, tunnel(n + 1), inner=6),
        Case("IPv6 in IPv6", n + 2, tunnel(n + 2, outer=6), inner=6),
        Case("ESN, aes256gcm16", n + 3, tunnel(n + 3, esn=True)),
        Case("ESN, aes128-sha256", n + 4, tunnel(n + 4, suite="aes128-sha256", esn=True)),
        Case("NAT traversal over IPv4", n + 5, tunnel(n + 5, far_port=NATT_PORT)),
        Case("NAT traversal over IPv6", n + 6, tunnel(n + 6, outer=6, far_port=NATT_PORT)),
        Case("fragments", n + 7, tunnel(n + 7), size=3000),
    ]


def box_file(these: list[Case]) -> str:
    """What the box reads, and Linux with it."""
    head = (
        f"addr add {BOX[0][0]}/24 dev red\naddr add {RED_BOX_V6}/64 dev red\n"
        f"addr add {BOX[1][0]}/24 dev black\naddr add {BOX_V6}/64 dev black\n"
        f"neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red\nneigh add {RED_HOST_V6} lladdr {RED_HOST_MAC} dev red\n"
        f"neigh add {PEER} lladdr {PEER_MAC} dev black\nneigh add {PEER_V6} lladdr {PEER_MAC} dev black\n"
    )
    return head + "".join(case.lines() for case in these)


def other_end(text: str) -> str:
    """The lines of the box's file that are the peer's as well: every state as it is, and every
    policy with the other direction.

    iproute2 6.1 has no `dir` of a state yet, by which a bump learns which SAs are outbound.
    """
    other = {"dir in": "dir out", "dir out": "dir in"}
    lines = [line for line in text.splitlines() if line.startswith("xfrm ")]
    return "".join(
        re.sub(r" dir (in|out)", "", line) + "\n"
        if line.startswith("xfrm state")
        else re.sub(r"dir (in|out)", lambda found: other[found[0]], line) + "\n"
        for line in lines
    )
