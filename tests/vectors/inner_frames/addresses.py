# SPDX-License-Identifier: Apache-2.0
"""Addresses that a router takes nothing from or to, on both sides of the inner chip. The red port
has 198.51.100.1/24 and 2001:db8:6464::1/64 (InnerSetup.scala)."""

from collections.abc import Iterator

from .encrypt import HOST, PORT

UDP = "UDP(sport=7, dport=8)"
OWN, OWN_V6 = "198.51.100.1", "2001:db8:6464::1"
# What no packet on a wire comes from, and the addresses just outside (RFC 1812 5.3.7; RFC 4291 2.5,
# RFC 6890 2.2.3).
MARTIAN = ("0.0.0.0", "0.255.255.255", "127.0.0.0", "127.255.255.255", "224.0.0.0", "240.0.0.0", "255.255.255.255")
BESIDE = ("1.0.0.0", "126.255.255.255", "128.0.0.0", "223.255.255.255")
MARTIAN_V6 = ("::", "::1", "::ffff:0:0", "::ffff:10.0.0.1", "ff00::", "ff0e::1")
BESIDE_V6 = ("::2", "::fffe:ffff:ffff", "::1:0:0:0", "fec0::1")


def encrypt_cases_addresses() -> Iterator[tuple[str, int, str]]:
    def frame(packet: str, dst: str = PORT, src: str = HOST) -> str:
        return f'Ether(dst="{dst}", src="{src}") / {packet}'

    def v4(src: str = "10.0.0.1", dst: str = "10.1.0.9") -> str:
        return f'IP(src="{src}", dst="{dst}", id=1) / {UDP}'

    def v6(src: str = "2001:db8::1", dst: str = "2001:db8:1::1") -> str:
        return f'IPv6(src="{src}", dst="{dst}") / {UDP}'

    # No station's address is a group's, whatever it sends.
    for packet in (v4(), v6(), "ARP()", "IPv6(hlim=255) / NS()", "Raw(bytes(50))"):
        yield "drop_mac_source", 0, frame(packet, src="03:00:00:00:00:02")
    yield "drop_mac_source", 0, frame(v4(), src="ff:ff:ff:ff:ff:ff")
    # To all, or to a group, a packet to one host.
    for dst in ("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01"):
        yield "drop_mac_group", 0, frame(v4(), dst)
        yield "drop_mac_group", 0, frame(v6(), dst)
        yield "drop_mac_group", 0, frame(f"Dot1Q(vlan=5) / {v4()}", dst)
        yield "drop_mac_group", 0, frame('IPv6(src="fe80::1", dst="2001:db8::1", hlim=255) / NA()', dst)
        yield "punt_nd", 0, frame('IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / NS()', dst)
        yield "punt_arp", 0, frame(f'ARP(pdst="{OWN}")', dst)
        yield "punt_link_local", 0, frame(v4(dst="224.0.0.251"), dst)
        yield "drop_policy", 0, frame(v4(dst="239.255.255.250"), dst)
    yield "drop_policy", 0, frame(v4(src="0.0.0.0", dst="255.255.255.255"), "ff:ff:ff:ff:ff:ff")
    # Martians come before the policy, and in fragments.
    for src in MARTIAN:
        yield "drop_martian", 0, frame(v4(src))
        yield "drop_martian", 0, frame(v4(src, "10.4.0.9"))
    yield "drop_martian", 0, frame(f'IP(src="127.0.0.1", dst="10.1.0.9", flags="MF") / {UDP}')
    for src in BESIDE:
        yield "tx_protect", 5, frame(v4(src))
    for dst in ("0.0.0.0", "0.255.255.255", "127.0.0.0", "127.255.255.255", "240.0.0.0", "255.255.255.254"):
        yield "drop_martian", 0, frame(v4(dst=dst))
    for dst in (*BESIDE, "239.255.255.255", "255.255.255.255"):
        yield "drop_policy", 0, frame(v4(dst=dst))
    for end in ("169.254.0.0", "169.254.255.255"):
        yield "punt_link_local", 0, frame(v4(end))
        yield "punt_link_local", 0, frame(v4(dst=end))
    for dst in ("224.0.0.0", "224.0.0.255"):
        yield "punt_link_local", 0, frame(v4(dst=dst))
    for beside in ("169.253.255.255", "169.255.0.0"):
        yield "tx_protect", 5, frame(v4(beside))
    for src in MARTIAN_V6:
        yield "drop_martian", 0, frame(v6(src))
    yield "drop_martian", 0, frame(v6("::", "ff05::2"))
    for src in BESIDE_V6:
        yield "tx_protect", 5, frame(v6(src))
    for dst in ("::", "::1", "::ffff:10.1.0.9"):
        yield "drop_martian", 0, frame(v6(dst=dst))
    for dst in BESIDE_V6:
        yield "drop_policy", 0, frame(v6(dst=dst))
    # From the box itself, but for what finds duplicates of its address (RFC 4862 5.4.4).
    yield "drop_own_source", 0, frame(v4(OWN))
    yield "drop_own_source", 0, frame(v6(OWN_V6))
    yield "drop_own_source", 0, frame(f'IP(src="{OWN}", dst="10.1.0.9", flags="MF") / {UDP}')
    yield "tx_protect", 5, frame(v4("198.51.100.2"))
    yield "tx_protect", 5, frame(v6("2001:db8:6464::2"))
    yield "punt_nd", 0, frame(f'IPv6(src="{OWN_V6}", dst="ff02::1", hlim=255) / NA()')
    # Who asks for others has a reason of its own: by ARP, with tags or without, and by the group of
    # an address that ends otherwise than the box's and its MAC address do.
    yield "punt_arp", 0, frame(f'Dot1AD(vlan=5) / Dot1Q(vlan=6) / ARP(pdst="{OWN}")')
    for target in ("198.51.100.2", "198.51.101.1", "0.0.0.0"):
        yield "punt_resolution", 0, frame(f'ARP(pdst="{target}")')
        yield "punt_resolution", 0, frame(f'Dot1AD(vlan=5) / Dot1Q(vlan=6) / ARP(pdst="{target}")')
    yield "punt_resolution", 0, frame(f'ARP(op=2, psrc="{OWN}", pdst="198.51.100.2")')
    for group in ("ff02::1:ff00:2", "ff02::1:ff01:1", "ff02::1:ff80:1"):
        yield "punt_resolution", 0, frame(f'IPv6(src="2001:db8::1", dst="{group}", hlim=255) / NS()')
        yield "punt_resolution", 0, frame(f'IPv6(src="::", dst="{group}", hlim=255) / DestOpt() / NS()')
    for dst in (OWN_V6, "ff02::1", "ff02::2", "ff02::1:fe00:2", "ff02::2:ff00:2", "fe80::2"):
        yield "punt_nd", 0, frame(f'IPv6(src="2001:db8::1", dst="{dst}", hlim=255) / NS()')
    # To the box itself, of any protocol and TTL (RFC 1812 5.2.3, 4.2.2.9); beside its address by
    # the policies.
    for ttl in (0, 1, 64):
        yield "punt_local", 0, frame(f'IP(src="10.0.0.1", dst="{OWN}", id=1, ttl={ttl}) / TCP(dport=179)')
        yield "punt_local", 0, frame(f'IPv6(src="2001:db8::1", dst="{OWN_V6}", hlim={ttl}) / UDP(dport=53)')
    yield "punt_local", 0, frame(f'IP(src="10.0.0.1", dst="{OWN}", id=1, proto=50) / Raw(bytes(40))')
    yield "drop_policy", 0, frame(v4(dst="198.51.100.2"))
    yield "drop_policy", 0, frame(v6(dst="2001:db8:6464::2"))


def decrypt_cases_addresses() -> Iterator[tuple[str, int, int, int, int, bool, str, int | None]]:
    def packets(src: str, dst: str = "10.0.0.1") -> str:
        return f'IP(src="{src}", dst="{dst}", id=1) / {UDP}'

    def packets_v6(src: str, dst: str = "2001:db8::1") -> str:
        return f'IPv6(src="{src}", dst="{dst}") / {UDP}'

    def from_tunnel(counter: str, expression: str) -> tuple[str, int, int, int, int, bool, str, int | None]:
        return counter, 6, 1, 41 if expression.startswith("IPv6") else 4, 0, False, expression, None

    def in_clear(counter: str, expression: str) -> tuple[str, int, int, int, int, bool, str, int | None]:
        return counter, 7, 0, 0, 0, True, expression, None

    for src in MARTIAN:
        yield from_tunnel("drop_inner_martian", packets(src))
        yield in_clear("drop_inner_martian", packets(src))
    for src in BESIDE:
        yield from_tunnel("tx_frames", packets(src))
        yield in_clear("tx_frames", packets(src))
    for dst in ("0.0.0.0", "127.0.0.1", "240.0.0.0", "255.255.255.254"):
        yield from_tunnel("drop_inner_martian", packets("10.9.0.1", dst))
    # Of one link: the tunnel is one, and the black network another.
    for end in ("169.254.0.0", "169.254.255.255"):
        yield from_tunnel("punt_tunnel", packets(end))
        yield from_tunnel("punt_tunnel", packets("10.9.0.1", end))
        yield in_clear("drop_inner_martian", packets(end))
    for dst in ("224.0.0.0", "224.0.0.255"):
        yield from_tunnel("punt_tunnel", packets("10.9.0.1", dst))
    for src in ("169.253.255.255", "169.255.0.0"):
        yield from_tunnel("tx_frames", packets(src))
    for src in MARTIAN_V6:
        yield from_tunnel("drop_inner_martian", packets_v6(src))
        yield in_clear("drop_inner_martian", packets_v6(src))
    for src in ("fe80::1", "febf:ffff::1"):
        yield from_tunnel("punt_tunnel", packets_v6(src))
        yield in_clear("drop_inner_martian", packets_v6(src))
    for src in BESIDE_V6:
        yield from_tunnel("tx_frames", packets_v6(src))
        yield in_clear("tx_frames", packets_v6(src))
    for dst in ("::", "::1", "::ffff:10.0.0.1"):
        yield from_tunnel("drop_inner_martian", packets_v6("2001:db8:9::1", dst))
    for dst in ("fe80::1", "ff02::5"):
        yield from_tunnel("punt_tunnel", packets_v6("2001:db8:9::1", dst))
    # The box's own addresses, and in clear the red network's, at its ends.
    for way in (from_tunnel, in_clear):
        yield way("drop_inner_own_source", packets(OWN))
        yield way("drop_inner_own_source", packets_v6(OWN_V6))
    for src in ("198.51.100.0", "198.51.100.2", "198.51.100.255"):
        yield in_clear("drop_red_source", packets(src))
        yield from_tunnel("tx_frames", packets(src))
    for src in ("198.51.99.255", "198.51.101.0"):
        yield in_clear("tx_frames", packets(src))
    for src in ("2001:db8:6464::", "2001:db8:6464::ffff:ffff:ffff:ffff"):
        yield in_clear("drop_red_source", packets_v6(src))
        yield from_tunnel("tx_frames", packets_v6(src))
    for src in ("2001:db8:6463:ffff:ffff:ffff:ffff:ffff", "2001:db8:6464:1::"):
        yield in_clear("tx_frames", packets_v6(src))
    # What the inbound rules deny is counted as that.
    yield in_clear("drop_in_clear_denied", packets("127.0.0.1", "10.8.0.1"))
