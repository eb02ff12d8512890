"""What a box should do with a frame, by scapy and `cryptography`: an implementation that shares nothing with the RTL.

One tunnel, AES-GCM, IPv4. Used to judge what comes out of a port, never to make it.
"""

from __future__ import annotations

from dataclasses import dataclass

from scapy.layers.inet import IP
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.utils import checksum

NEAR, FAR = "192.0.2.1", "192.0.2.2"
ETHERNET_HEADER = 14
FRAGMENT_BITS = 0x3FFF  # more-fragments and the offset


@dataclass(frozen=True)
class Tunnel:
    """One SA pair's parameters, as `ip xfrm` and as scapy take them. Key with its 4-byte salt."""

    spi_out: int = 0x1001
    spi_in: int = 0x2002
    key_out: bytes = bytes(range(36))
    key_in: bytes = bytes(range(100, 136))
    esn: bool = False

    def batch(self, src: str = "0.0.0.0/0", dst: str = "0.0.0.0/0", back: str = "0.0.0.0/0", window: int = 1024) -> str:
        """The box's batch file: protects src → dst outbound and accepts `back` → anything inbound."""
        esn = "flag esn " if self.esn else ""
        out, into = f"src {NEAR} dst {FAR} proto esp", f"src {FAR} dst {NEAR} proto esp"
        return "\n".join(
            [
                f"addr add {NEAR}/24 dev black",
                f"xfrm state add {out} spi {self.spi_out:#x} reqid 1 mode tunnel replay-window {window} {esn}"
                f'aead "rfc4106(gcm(aes))" 0x{self.key_out.hex()} 128',
                f"xfrm state add {into} spi {self.spi_in:#x} reqid 2 mode tunnel replay-window {window} {esn}"
                f'aead "rfc4106(gcm(aes))" 0x{self.key_in.hex()} 128',
                f"xfrm policy add src {src} dst {dst} dir out tmpl {out} reqid 1 mode tunnel",
                f"xfrm policy add src {back} dst 0.0.0.0/0 dir in tmpl {into} reqid 2 mode tunnel",
                "",
            ]
        )

    def peer_sender(self) -> SecurityAssociation:
        """The far peer's outbound SA: makes ESP that this box must accept."""
        return self._association(self.spi_in, self.key_in, FAR, NEAR)

    def peer_receiver(self) -> SecurityAssociation:
        """The far peer's inbound SA: must decrypt what this box sends."""
        return self._association(self.spi_out, self.key_out, NEAR, FAR)

    def _association(self, spi: int, key: bytes, src: str, dst: str) -> SecurityAssociation:
        return SecurityAssociation(
            ESP, spi=spi, crypt_algo="AES-GCM", crypt_key=key, tunnel_header=IP(src=src, dst=dst), esn_en=self.esn
        )


def forwarded(packet: bytes) -> bytes:
    """The IPv4 packet after one router: TTL one less, header checksum right (RFC 1812 5.3.1), padding gone."""
    header = 4 * (packet[0] & 15)
    length = int.from_bytes(packet[2:4], "big")
    fresh = bytearray(packet[:header])
    fresh[8] -= 1
    fresh[10:12] = bytes(2)
    fresh[10:12] = checksum(bytes(fresh)).to_bytes(2, "big")
    return bytes(fresh) + packet[header:length]


def classify_red(frame: bytes) -> str:
    """What a box whose policy protects everything does with a red frame: "protect" or the counter's name."""
    match int.from_bytes(frame[12:14], "big"):
        case 0x0806:
            return "punt_arp"
        case 0x86DD:
            return "punt_ipv6"
        case 0x8100 | 0x88A8:
            return "punt_vlan"
        case 0x0800:
            return _classify_ipv4(frame[ETHERNET_HEADER:])
        case _:
            return "punt_other"


def _classify_ipv4(packet: bytes) -> str:
    parsed = IP(packet)
    header = 4 * (parsed.ihl or 0)
    if parsed.version != 4 or header < 20 or parsed.len < header or len(packet) < parsed.len:
        return "drop_ip_malformed"
    if checksum(packet[:header]):
        return "drop_ip_checksum"
    if int.from_bytes(packet[6:8], "big") & FRAGMENT_BITS:
        return "punt_fragment"
    if parsed.ttl <= 1:
        return "drop_ttl_expired"
    return "protect"


def esp_payload(frame: bytes) -> IP:
    """The IP packet of a black frame (outer header and ESP)."""
    return IP(frame[ETHERNET_HEADER:])
