# SPDX-License-Identifier: Apache-2.0
"""What must become of a frame at the black port (RFC 4301 5.2;
docs/explanation/decrypt-path.md)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

from scapy.layers.inet import UDP

from . import frame_judge
from .addresses import Port
from .configuration import Configuration
from .decryption import Inbound
from .ethernet import IPV6, Frame
from .forwarding import for_cpu, forwarded, header
from .network import BACK
from .outcome import Clear, Outcome, behind, ends
from .policy import decide
from .reading import ICMP_OF, Reading, read
from .reassembly import Reassembly
from .red_judge import followed
from .red_mtu import at_red
from .sa import NATT_PORT
from .transport import has_room
from .transport_decryption import HostInbound, seen
from .upper import Upper

SHORTEST_ESP = 36  # docs/explanation/decrypt-path.md
TOO_LONG = "clear_mtu"
CLEAR = ("outer.tx_bypass", "crypto.red_tx_packets")  # of a packet that gets to the inner chip
IKE_PORT = 500
IKE_HEADER = 28  # bytes (RFC 7296 3.1)
NOTIFY = 41  # payload type (RFC 7296 3.2)


class BlackJudge:
    """Judges frames in order: windows depend on those before."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.policies = configuration.incoming()
        self.red = Port.at("red", configuration)
        self.port = Port.at("black", configuration)
        self.peers = configuration.peers()
        self.reassembly = Reassembly.at("black", configuration)
        inbound = HostInbound if configuration.bump else Inbound
        self.sas = {self._key(sa.spi, ip_address(sa.dst)): inbound(sa, configuration) for sa in configuration.inbound}

    def _key(self, spi: int, dst: IPv4Address | IPv6Address) -> tuple[int, IPv4Address | IPv6Address | None]:
        """A router gives out its SPIs; a bump in the wire stands in for hosts that may each give
        out the same."""
        return spi, dst if self.configuration.bump else None

    def __call__(self, frame: Frame) -> Outcome:
        return behind(self.reassembly.take(frame), "outer", self._whole)

    def _whole(self, frame: Frame, upper: Upper | None) -> Outcome:
        bump = self.configuration.bump
        counter, packet = followed(frame, self.port, upper)
        if counter == frame_judge.CROSSES:
            return self._crosses(frame)
        if counter:
            return ends(f"outer.{counter}")
        ours = str(packet.dst) == self.configuration.paths.local.get(packet.version)
        in_udp = "" if packet.fragment else _udp_content(packet)
        if ours and in_udp == "malformed":
            return ends("outer.drop_udp_malformed")
        if ours and in_udp == "keepalive":
            return ends("outer.drop_natt_keepalive")
        esp = packet.payload if packet.protocol == 50 else packet.payload[8:] if in_udp == "esp" else b""
        esp = upper.spi if upper and packet.fragment else esp
        sa = self.sas.get(self._key(int.from_bytes(esp[:4].ljust(4, b"\0"), "big"), packet.dst))
        if (packet.protocol == 50 or in_udp == "esp") and (ours or (sa and str(packet.dst) == sa.sa.dst)):
            if packet.fragment:
                return behind(self.reassembly.again(frame), "outer", self._whole)
            return self._esp(frame, packet, esp, sa, encapsulated=in_udp == "esp")
        if ours and (in_udp == "ike" or (packet.protocol == 17 and packet.upper and packet.numbers[1] == IKE_PORT)):
            return ends(f"outer.{self._ike(packet, packet.payload[12 if in_udp == 'ike' else 8 :])}")
        if ours and not bump and packet.protocol == ICMP_OF[packet.version]:
            return ends("outer.punt_icmp")
        return self._clear(frame, packet, upper)

    def _ike(self, packet: Reading, message: bytes) -> str:
        """From a peer; with a responder's SPI, or a notification first, as a cookie is (RFC 7296
        2.6, 3.1); or neither, as of a message without a whole header."""
        if str(packet.src) in self.peers:
            return "punt_ike"
        answered = len(message) >= IKE_HEADER and (any(message[8:16]) or message[16] == NOTIFY)
        return "punt_ike_cookie" if answered else "punt_ike_init"

    def _esp(self, frame: Frame, outer: Reading, esp: bytes, inbound: Inbound | None, encapsulated: bool) -> Outcome:
        if len(esp) < SHORTEST_ESP or len(esp) % 4:
            return ends("outer.drop_esp_truncated")
        if inbound is None:
            return ends("outer.punt_unknown_spi")
        _, at = frame_judge.ether_type(frame)
        # What the chip takes off is at most 126 bytes.
        beyond = encapsulated and outer.version == 6 and at + outer.header + 8 > 126
        if encapsulated != (inbound.sa.far_port is not None) or beyond:
            return ends("outer.drop_encap_mismatch")
        head = frame.data[: at + outer.header]
        if inbound.sa.transport and not has_room(head, at):
            return ends("outer.drop_transport_header")
        return inbound.receive(esp, outer, head)

    def _clear(self, frame: Frame, packet: Reading, upper: Upper | None) -> Outcome:
        policy = decide(self.policies, packet)
        if policy is None or policy.action not in ("allow", "punt"):
            return ends("outer.drop_unknown_spi" if packet.protocol == 50 else "outer.drop_policy")
        if policy.action == "punt":
            return ends("outer.punt_policy")
        before = CLEAR
        _, start = frame_judge.ether_type(frame)
        if self.configuration.bump:
            # The inner chip asks the same policies, and may read less.
            again = decide(self.policies, seen(packet, upper.at if upper else start + packet.header))
            if again is None or again.action != "allow":
                return ends("inner.drop_in_clear_denied", before)
            head, data = frame.data[:start], frame.data[start : start + packet.total]
            return self._leaves(head, data, packet, head + data)
        if packet.ttl == 0:
            return ends("outer.drop_ttl_expired")
        if self.red.owns(packet.src):
            return ends("inner.drop_inner_own_source", before)
        if self.red.near(packet.src):
            return ends("inner.drop_red_source", before)
        data = frame.data[start : start + packet.total]
        if self.red.owns(packet.dst):
            return Outcome((*before, "inner.punt_clear"), delivered=(("clear", for_cpu(data)),))
        if packet.ttl == 1:
            return Outcome((*before, "inner.punt_clear_ttl"), delivered=(("clear_ttl", for_cpu(data)),))
        mac = self.configuration.paths.station("red", packet.dst, policy.selector.dst)
        if mac == BACK:
            return Outcome((*before, "inner.punt_clear_route"), delivered=(("clear_route", for_cpu(data)),))
        return self._leaves(header("red", mac, data), forwarded(data), packet, for_cpu(data))

    def _crosses(self, frame: Frame) -> Outcome:
        """A bridge passes neighbour discovery on by no policy, and ARP, which has no MTU."""
        kind, start = frame_judge.ether_type(frame)
        if kind != IPV6:
            return Outcome((*CLEAR, "inner.tx_frames"), sent=(Clear(frame.data),))
        packet = read(frame.data[start:])
        return self._leaves(frame.data[:start], frame.data[start:], packet, frame.data)

    def _leaves(self, head: bytes, data: bytes, packet: Reading, for_cpu: bytes) -> Outcome:
        leaving = at_red(head, data, packet, self.configuration.paths.red_mtu, self.configuration.bump)
        if leaving is None:
            return Outcome((*CLEAR, f"inner.punt_{TOO_LONG}"), delivered=((TOO_LONG, for_cpu),))
        return Outcome((*CLEAR, *(f"inner.{counter}" for counter in leaving[0])), sent=leaving[1])


def _udp_content(packet: Reading) -> str:
    """What UDP to port 4500 carries (RFC 3948 2): "malformed", "keepalive", "ike" or "esp"; "" of
    all other packets."""
    if packet.protocol != 17 or packet.upper != "ports" or packet.numbers[1] != NATT_PORT:
        return ""
    if len(packet.payload) < 8 or UDP(packet.payload[:8]).len != len(packet.payload):
        return "malformed"
    content = packet.payload[8:]
    if content == b"\xff":
        return "keepalive"
    return "ike" if content[:4] == bytes(4) else "esp"
