# SPDX-License-Identifier: Apache-2.0
"""One security association: as `ip xfrm` writes it and as scapy takes it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from scapy.layers.ipsec import ESP, SecurityAssociation

from sallyport import suites
from sallyport.suites import Suite
from tests.support.scapy_suites import SCAPY

NATT_PORT = 4500


@dataclass(frozen=True)
class Sa:
    """An SA of one direction, from `src` to `dst`; `reqid` ties policies to it. Its keys follow
    from its SPI, so no two SAs share one.

    `transport`: between two hosts, with the reqid `group` if it is one of several that a policy
    asks for.
    `far_port`: ESP is in UDP between port 4500 of the box and this port of the peer. `window` 0: no
    anti-replay.
    `received`: every number up to it counts as received already. `hard_limit`: last number that is
    sent, 0 for none.
    `first`: the number with which the peer begins.
    """

    outbound: bool
    suite_name: str
    spi: int
    src: str
    dst: str
    window: int = 64
    esn: bool = False
    far_port: int | None = None
    copy_dscp: bool = True
    copy_ecn: bool = True
    copy_df: bool = True
    hard_limit: int = 0
    received: int = 0
    first: int = 1
    transport: bool = False
    group: int = 0

    @property
    def suite(self) -> Suite:
        return suites.find(self.suite_name)

    @property
    def reqid(self) -> int:
        return self.group or self.spi

    @property
    def mode(self) -> str:
        return "transport" if self.transport else "tunnel"

    @property
    def v6(self) -> bool:
        return ":" in self.dst

    @property
    def template(self) -> str:
        return f"tmpl src {self.src} dst {self.dst} proto esp reqid {self.reqid} mode {self.mode}"

    def line(self) -> str:
        """The state as a line of a batch file."""
        flags = {"esn": self.esn, "noecn": not self.copy_ecn, "nopmtudisc": not self.copy_df}
        ends = f"src {self.src} dst {self.dst} proto esp spi {self.spi:#x} reqid {self.reqid} mode {self.mode}"
        words = [f"xfrm state add {ends}"]
        if self.transport:  # templates without addresses do not say which way it points
            words.append("dir out" if self.outbound else "dir in")
        words.append(f"replay-window {self.window}")
        if self.received:
            words.append(f"replay-seq {self.received:#x}")
        if any(flags.values()):
            words.append("flag " + " ".join(name for name, on in flags.items() if on))
        if not self.copy_dscp:
            words.append("extra-flag dont-encap-dscp")
        if self.hard_limit:
            words.append(f"limit packet-hard {self.hard_limit}")
        if self.far_port is not None:
            sport, dport = self.ports
            words.append(f"encap espinudp {sport} {dport} {'::' if self.v6 else '0.0.0.0'}")
        return " ".join([*words, self.suite.with_keys(*self._keys())])

    @property
    def ports(self) -> tuple[int, int]:
        """Source and destination port of its UDP headers."""
        assert self.far_port is not None
        return (NATT_PORT, self.far_port) if self.outbound else (self.far_port, NATT_PORT)

    def association(self) -> SecurityAssociation:
        """The peer's end of it."""
        crypt, auth, _, _ = SCAPY[self.suite_name]
        crypt_key, auth_key = self._keys()
        return SecurityAssociation(
            ESP, spi=self.spi, crypt_algo=crypt, crypt_key=crypt_key, auth_algo=auth, auth_key=auth_key, esn_en=self.esn
        )

    def _keys(self) -> tuple[bytes, bytes]:
        _, _, crypt, auth = SCAPY[self.suite_name]
        keys = random.Random(self.spi)
        return keys.randbytes(crypt), keys.randbytes(auth)

    @property
    def outer_header(self) -> int:
        """Bytes of IP and UDP in front of its ESP packets."""
        return (40 if self.v6 else 20) + (0 if self.far_port is None else 8)

    def esp_bytes(self, payload: int) -> int:
        """Length of the ESP packet around a payload (RFC 4303 2, 2.4: no more padding than the
        cipher needs)."""
        text = -(-(payload + 2) // self.suite.block) * self.suite.block
        return 8 + self.suite.iv + text + self.suite.icv
