# SPDX-License-Identifier: Apache-2.0
"""Packets from the crypto chip that are for the box itself, or for one link alone: the management
CPU gets them as they are, but for the ECN field (RFC 1812 5.2.3, RFC 6040)."""

from collections.abc import Iterator

from .addresses import OWN, OWN_V6, UDP
from .decrypt import DROP, FIGURE_4, NOT_ECT

FAR, FAR_V6 = "10.9.0.1", "2001:db8:9::1"
Case = tuple[str, int, int, int, int, bool, str, int | None]


def v4(rest: str = "", src: str = FAR, dst: str = OWN) -> str:
    return f'IP(src="{src}", dst="{dst}", id=1{rest})'


def v6(rest: str = "", src: str = FAR_V6, dst: str = OWN_V6) -> str:
    return f'IPv6(src="{src}", dst="{dst}"{rest})'


def decrypt_cases_local() -> Iterator[Case]:
    """Counter, SA, sequence number, next header, outer TOS, bypass, expression, ECN of
    the result."""
    number = 1 << 34
    for ttl in (0, 1, 64, 255):
        for packet in (f"{v4(f', ttl={ttl}')} / TCP(dport=179)", f"{v6(f', hlim={ttl}')} / TCP(dport=179)"):
            yield "punt_tunnel", 6, 1, 41 if packet.startswith("IPv6") else 4, 0, False, packet, None
            yield "punt_clear", 7, 0, 0, 0, True, packet, None
    # Of any length and protocol, whole or not, without bytes behind its total length.
    for length in (0, 1, 35, 36, 37, 100, 1472, 8972):
        yield "punt_tunnel", 6, 1, 4, 0, False, f"{v4()} / {UDP} / Raw(bytes({length}))", None
    for padding in (1, 30, 3000):
        yield "punt_tunnel", 6, 1, 4, 0, False, f"raw({v4()} / {UDP}) + bytes({padding})", None
        yield "punt_tunnel", 6, 1, 41, 0, False, f"raw({v6()} / {UDP}) + bytes({padding})", None
    for rest in (", proto=50", ", frag=9", ", flags=1", ", frag=2, proto=6"):
        yield "punt_tunnel", 6, 1, 4, 0, False, f"{v4(rest)} / Raw(bytes(64))", None
    # ECN, and the checksum that goes with it.
    for inner, row in FIGURE_4.items():
        for outer, result in row.items():
            for ident in (0, 1, 0x7FFF, 0xABCD):
                number += 1
                packet = f'IP(src="{FAR}", dst="{OWN}", id={ident}, tos={0xB8 | inner}) / {UDP}'
                counter = "drop_ecn" if result is DROP else "punt_tunnel"
                yield counter, 7, number, 4, 0x28 | outer, False, packet, result
            number += 1
            packet = f"{v6(f', tc={0xB8 | inner}, fl=7')} / {UDP}"
            yield "drop_ecn" if result is DROP else "punt_tunnel", 7, number, 41, outer, False, packet, result
    for ident in range(0, 65536, 4999):
        for inner, outer in ((1, 3), (2, 3), (2, 1)):
            number += 1
            packet = f'IP(src="{FAR}", dst="{OWN}", id={ident}, tos={inner}) / {UDP}'
            yield "punt_tunnel", 7, number, 4, outer, False, packet, FIGURE_4[inner][outer]
    # What the SA's checks refuse is not for the CPU either.
    yield "drop_replayed", 7, number, 4, NOT_ECT, False, f"{v4()} / {UDP}", None
    yield "drop_no_selector", 9, 1, 4, 0, False, f"{v4()} / {UDP}", None
    yield "drop_selector_mismatch", 8, number, 4, 0, False, f"{v4()} / UDP(sport=4100, dport=80)", None
    yield "drop_selector_mismatch", 1, number, 4, 0, False, f"{v4()} / {UDP}", None
    yield "drop_inner_malformed", 6, 1, 4, 0, False, f"{v4(', ihl=3')} / {UDP}", None
    yield "drop_inner_checksum", 6, 1, 4, 0, False, f"{v4(', chksum=5')} / {UDP}", None
    yield "drop_inner_own_source", 6, 1, 4, 0, False, f"{v4(src=OWN)} / {UDP}", None
    yield "drop_inner_martian", 6, 1, 4, 0, False, f"{v4(src='127.0.0.1')} / {UDP}", None
    yield "drop_fragment_offset", 6, 1, 4, 0, False, f"{v4(', frag=1, proto=6')} / Raw(bytes(64))", None
    yield "drop_in_clear_denied", 7, 0, 0, 0, True, f"{v4()} / UDP(sport=7, dport=9)", None
    yield "drop_red_source", 7, 0, 0, 0, True, f"{v4(src='198.51.100.9')} / TCP(dport=179)", None
    # It needs no next hop, as one for others does: SA 10 names a row that is not valid.
    yield "punt_tunnel", 10, 2, 4, 0, False, f"{v4()} / {UDP}", None
    # The tunnel is a link: its hellos are for the CPU.
    for packet in (
        f"{v4(', ttl=1', dst='224.0.0.5')} / Raw(bytes(44))",
        f"{v4(dst='224.0.0.255')} / {UDP}",
        f"{v4(src='169.254.1.1')} / {UDP}",
        f"{v4(dst='169.254.255.255')} / {UDP}",
        f"{v6(', hlim=1', src='fe80::1', dst='ff02::5')} / Raw(bytes(36))",
        f"{v6(src='fe80::1', dst='fe80::2')} / {UDP}",
    ):
        yield "punt_tunnel", 6, 1, 41 if packet.startswith("IPv6") else 4, 0, False, packet, None
