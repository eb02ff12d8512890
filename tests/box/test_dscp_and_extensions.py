# SPDX-License-Identifier: Apache-2.0
"""What tells packets apart besides their selectors: the SA by DSCP, and which extension headers are
skipped (RFC 4301 4.4.2.1, 4.4.1.1)."""

from __future__ import annotations

from pathlib import Path

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.simulator import Simulator
from tests.support import boxes
from tests.support.reference import NEAR, Tunnel, esp_payload, forwarded

ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
EF, AF41 = 46, 34
RED, BLACK = "2001:db8:1::1", "2001:db8:2::1"


def by_dscp(spi: int, words: str, reqid: int) -> str:
    """The outbound state of a tunnel with this SPI, of another reqid."""
    state = next(line for line in Tunnel(spi_out=spi).batch().splitlines() if f"spi {spi:#x}" in line)
    return state.replace(f"reqid {spi} ", f"reqid {reqid} {words} ") + "\n"


def test_the_sa_follows_the_dscp(make_box) -> None:
    """A rule and a flow of one reqid, with three SAs; and a policy whose SAs leave DSCPs over,
    which are punted."""
    ends = f"tmpl src {NEAR} dst {Tunnel().far} proto esp mode tunnel reqid"
    batch = f"addr add {NEAR}/24 dev black\n"
    batch += by_dscp(0x1001, "", 7) + by_dscp(0x1002, "for-dscp ef,63", 7) + by_dscp(0x1003, "for-dscp af41", 7)
    batch += by_dscp(0x1004, "for-dscp ef", 8)
    batch += f"xfrm policy add dst 198.19.0.0/24 dir out {ends} 7\n"
    batch += f"xfrm policy add dst 2001:db8:2::/64 dir out {ends} 7\n"
    batch += f"xfrm policy add src 198.18.0.1 dst 198.19.1.1 proto udp sport 7 dport 9 dir out {ends} 7\n"
    batch += f"xfrm policy add dst 198.19.2.0/24 dir out {ends} 8\n"
    chosen = {EF: 0x1002, 63: 0x1002, AF41: 0x1003}
    sent: list[tuple[Packet, int]] = []
    punted = 0
    for dscp in range(64):
        for ecn, to in enumerate(("198.19.0.1", "198.19.1.1", "198.19.2.1")):
            spi = chosen.get(dscp, 0x1001) if to != "198.19.2.1" else 0x1004 if dscp == EF else 0
            packet = IP(src="198.18.0.1", dst=to, tos=dscp << 2 | ecn, ttl=9) / UDP(sport=7, dport=9) / Raw(bytes(dscp))
            sent.append((packet, spi))
            punted += spi == 0
        packet = IPv6(src=RED, dst=BLACK, tc=dscp << 2, hlim=9) / UDP(sport=7, dport=9) / Raw(bytes(dscp))
        sent.append((packet, chosen.get(dscp, 0x1001)))
    outcome = make_box(batch).red([ETHERNET / packet for packet, _ in sent])
    peers = {spi: Tunnel(spi_out=spi).peer_receiver() for spi in (0x1001, 0x1002, 0x1003, 0x1004)}
    got = []
    for outer in map(esp_payload, outcome.out):
        spi = outer[ESP].spi
        got.append((spi, bytes(peers[spi].decrypt(outer))))
    # CS6 and CS7 may overtake the others.
    assert sorted(got) == sorted((spi, forwarded(bytes(packet))) for packet, spi in sent if spi)
    assert outcome.named() == {"inner.punt_policy": punted} and punted == 63


def test_headers_that_are_not_skipped_are_protocols(tmp_path: Path) -> None:
    """If routing headers are not skipped, such packets are protocol 43, and no port is read;
    destination options are always skipped."""
    route = IPv6ExtHdrRouting(addresses=["2001:db8:3::1"])

    def packets(src: str, dst: str) -> list[tuple[Packet, str]]:
        """Packets, and what becomes of them: for the SA of UDP, for that of protocol 43,
        for none."""
        ip, udp = IPv6(src=src, dst=dst, hlim=9), UDP(sport=5, dport=9)
        return [
            (ip / udp, "udp"),
            (ip / IPv6ExtHdrDestOpt() / udp, "udp"),
            (ip / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / udp, "udp"),
            (ip / IPv6ExtHdrFragment() / udp, "udp"),
            (ip / route / udp, "route"),
            (ip / IPv6ExtHdrDestOpt() / route / udp, "route"),
            (ip / IPv6ExtHdrFragment() / route / udp, "route"),
            (ip / route / TCP(sport=5, dport=9), "route"),
            (ip / IPv6ExtHdrDestOpt() / TCP(), "none"),
        ]

    tunnels = {"udp": Tunnel(), "route": Tunnel(spi_out=0x1003, spi_in=0x2004)}
    networks = "src 2001:db8:1::/48 dst 2001:db8:2::/48", "src 2001:db8:2::/48 dst 2001:db8:1::/48"
    batch, protocols = f"addr add {NEAR}/24 dev black\n", ""
    for name, tunnel in tunnels.items():
        states = [line for line in tunnel.batch().splitlines() if line.startswith("xfrm state")]
        batch += "\n".join(states) + "\n"
        proto = "udp dport 9" if name == "udp" else "ipv6-route"
        for network, way, src, dst, reqid in (
            (networks[0], "out", tunnel.near, tunnel.far, tunnel.spi_out),
            (networks[1], "in", tunnel.far, tunnel.near, tunnel.spi_in),
        ):
            tmpl = f"tmpl src {src} dst {dst} proto esp reqid {reqid} mode tunnel"
            protocols += f"xfrm policy add {network} proto {proto} dir {way} {tmpl}\n"

    def configure(sim: Simulator) -> None:
        boxes.next_hops(sim)
        sim.sallyctl(0, "skip-headers", "set", "hop,dst")
        policies = tmp_path / "policies.xfrm"
        policies.write_text(protocols)
        sim.sallyctl(0, "-batch", policies)

    red, black, expected = packets(RED, BLACK), [], []
    senders = {name: tunnel.peer_sender() for name, tunnel in tunnels.items()}
    mismatched = 0
    for name, sender in senders.items():
        for packet, kind in packets(BLACK, RED):
            black.append(ETHERNET / sender.encrypt(packet))
            mismatched += kind != name
            if kind == name:
                expected.append(forwarded(bytes(packet)))
    seen = boxes.run(
        [batch],
        {"box0.red": [ETHERNET / packet for packet, _ in red], "box0.black": black},
        ["box0.red", "box0.black"],
        tmp_path,
        configure,
    )
    got: dict[str, list[bytes]] = {name: [] for name in tunnels}
    for frame in seen.out["box0.black"]:
        outer = esp_payload(frame)
        name = next(name for name, tunnel in tunnels.items() if tunnel.spi_out == outer[ESP].spi)
        got[name].append(bytes(tunnels[name].peer_receiver().decrypt(outer)))
    for name, decrypted in got.items():
        assert sorted(decrypted) == sorted(forwarded(bytes(packet)) for packet, kind in red if kind == name)
    assert sorted(frame[14:] for frame in seen.out["box0.red"]) == sorted(expected)
    none = sum(kind == "none" for _, kind in red)
    assert seen.named == [{"inner.drop_policy": none, "inner.drop_selector_mismatch": mismatched}]
