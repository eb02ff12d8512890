# SPDX-License-Identifier: Apache-2.0
"""Policies between two prefixes, many more than there are rules: each packet takes the first policy
of the SPD that has it (RFC 4301 4.4.1), by Python's `ipaddress` and scapy."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport.errors import InputError
from sallyport.simulator import Simulator
from tests.support.frames import read_frames, write_frames
from tests.support.reference import FAR, NEAR
from tests.support.scapy_suites import keys

Network = IPv4Network | IPv6Network
ETHERNET = Ether(dst="02:62:c0:00:01:01", src="02:00:00:00:00:11")
BASE = (
    f"addr add {NEAR}/24 dev black\naddr add 10.0.0.254/24 dev red\n"
    f"neigh add {FAR} lladdr 02:00:00:00:00:22 dev black\n"
)


@dataclass
class Policy:
    src: Network
    dst: Network
    priority: int
    site: int
    """Of the SA; 0 blocks."""

    @property
    def selector(self) -> str:
        return f"src {self.src} dst {self.dst} dir out"

    @property
    def line(self) -> str:
        to = f"tmpl src {NEAR} dst {FAR} proto esp reqid {self.site} mode tunnel" if self.site else "action block"
        return f"{self.selector} priority {self.priority} {to}"

    def has(self, packet: Packet) -> bool:
        src, dst = ip_address(packet.src), ip_address(packet.dst)
        return src.version == self.src.version and src in self.src and dst in self.dst


@dataclass
class Spd:
    """In the order of writing."""

    policies: list[Policy] = field(default_factory=list)

    def site(self, packet: Packet) -> int:
        """Of the SA that a packet leaves by, 0 if it does not."""
        having = [p for p in self.policies if p.has(packet)]
        return min(having, key=lambda p: p.priority).site if having else 0

    def lines(self) -> str:
        return "".join(f"xfrm policy add {p.line}\n" for p in self.policies)


def states(sites: int) -> str:
    out = ""
    for site in range(1, sites + 1):
        spi = 0x1000 + site
        crypt, _ = keys("aes256gcm16", spi)
        out += (
            f"xfrm state add src {NEAR} dst {FAR} proto esp spi {spi:#x} reqid {site} mode tunnel dir out "
            f"aead 'rfc4106(gcm(aes))' 0x{crypt.hex()} 128\n"
        )
    return out


def network(version: int, site: int) -> Network:
    """Of a site; those of neighbouring sites lie side by side."""
    if version == 4:
        return IPv4Network((int(ip_address("172.16.0.0")) + (site << 8), 24))
    return IPv6Network((int(ip_address("2001:db8:100::")) + (site << 64), 64))


def drawn(dice: random.Random, sites: int) -> Spd:
    """A policy for each site from a wide source, some with a second from another one, and around
    them aggregates and single hosts that other policies take out."""
    spd = Spd()
    for site in range(1, sites + 1):
        version = 4 if site % 3 else 6
        near = ip_network("10.0.0.0/8" if version == 4 else "2001:db8:a::/48")
        other = ip_network("192.168.0.0/16" if version == 4 else "2001:db8:b::/48")
        spd.policies.append(Policy(near, network(version, site), dice.choice([10, 20]), site))
        if site % 4 == 0:
            spd.policies.append(Policy(other, network(version, site), 15, dice.randint(1, sites)))
    for version, all_ in ((4, "0.0.0.0/0"), (6, "::/0")):
        spd.policies.append(
            Policy(ip_network(all_), network(version, sites // 2).supernet(4), dice.choice([10, 15]), 0)
        )
    inside = next(iter(network(4, 1).subnets(6)))
    spd.policies.append(Policy(ip_network("10.1.0.0/16"), inside, 5, 2))
    return spd


def packets(dice: random.Random, spd: Spd, count: int) -> list[Packet]:
    """To the ends of destinations, and beside them; from within sources and from elsewhere."""

    def near(net: Network) -> str:
        first, last = int(net.network_address), int(net.broadcast_address)
        at = dice.choice([first, first - 1, last, last + 1, dice.randint(first, last)])
        return str(IPv4Address(at % (1 << 32)) if net.version == 4 else IPv6Address(at % (1 << 128)))

    out = []
    while len(out) < count:
        of, other = dice.choice(spd.policies), dice.choice(spd.policies)
        source = other.src if other.src.version == of.src.version and dice.random() < 0.3 else of.src
        src = (
            str(source.network_address + dice.randint(1, 200))
            if source.prefixlen
            else near(of.src.__class__("10.0.0.0/8" if of.src.version == 4 else "2001:db8:a::/48"))
        )
        dst = near(of.dst)
        head = IPv6(src=src, dst=dst) if of.dst.version == 6 else IP(src=src, dst=dst)
        out.append(head / UDP(sport=7, dport=9) / Raw(bytes([len(out) & 0xFF] * 30)))
    return [p for p in out if not ip_address(p.src).is_loopback and not ip_address(p.src).is_unspecified]


def sites_of(frames: list[bytes]) -> list[int]:
    """By the SPI of each frame; plaintext fails."""
    return [Ether(frame)[ESP].spi - 0x1000 for frame in frames]


def test_three_hundred_sites_each_by_its_policy(make_box) -> None:
    dice = random.Random(282)
    spd = drawn(dice, 300)
    sent = packets(dice, spd, 900)
    outcome = make_box(BASE + states(300) + spd.lines()).red([ETHERNET / p for p in sent])
    wanted = [spd.site(p) for p in sent]
    assert 50 < wanted.count(0) < 800
    assert sites_of(outcome.out) == [site for site in wanted if site]
    assert outcome.named() == {"inner.drop_policy": wanted.count(0)}


def test_policies_change_and_a_full_table_refuses(tmp_path: Path) -> None:
    """After each change the next packet takes the policy that the SPD says; a batch without room
    changes nothing."""
    dice = random.Random(5)
    spd = drawn(dice, 60)
    capture = tmp_path / "black.pcapng"
    wanted: list[int] = []
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        batch = tmp_path / "box.xfrm"
        batch.write_text(BASE + states(80) + spd.lines())
        sim.sallyctl(0, "-batch", batch)
        sim.take_all_frames(0, "red")
        sim.command("capture", port="box0.black", direction="out", file=str(capture))

        def send() -> None:
            sent = packets(dice, spd, 60)
            frames = tmp_path / f"red{len(wanted)}.pcap"
            write_frames(frames, [ETHERNET / p for p in sent])
            assert sim.command("replay", inputs=[{"port": "box0.red", "file": str(frames)}])["quiescent"]
            wanted.extend(site for p in sent if (site := spd.site(p)))

        send()
        for turn in range(10):
            lines = []
            for p in dice.sample(spd.policies, 6):
                spd.policies.remove(p)
                lines.append(f"xfrm policy del {p.selector}")
            # A changed policy keeps its place in the order of writing.
            for p in dice.sample(spd.policies, 6):
                p.site, p.priority = dice.randint(1, 80), dice.choice([5, 10, 15, 20])
                lines.append(f"xfrm policy update {p.line}")
            for p in drawn(dice, 80).policies[turn * 7 :][:8]:
                if not any((q.src, q.dst) == (p.src, p.dst) for q in spd.policies):
                    spd.policies.append(p)
                    lines.append(f"xfrm policy add {p.line}")
            sim.batch(0, lines)
            send()
        many = [
            f"xfrm policy add src 10.0.0.0/8 dst 11.{n >> 7}.{2 * n & 255}.0/24 dir out action block"
            for n in range(900)
        ]
        with pytest.raises(InputError) as refused:
            sim.batch(0, many)
        assert "no room for the policy" in str(refused.value)
        send()
        counters = sim.counters(0)
        sim.command("quit")
    assert sites_of(list(read_frames(capture))) == wanted
    assert all(path["balanced"] for path in counters["conservation"]["paths"])
    assert counters["inner"]["drop_policy_upset"] == 0
