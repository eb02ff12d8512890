# SPDX-License-Identifier: Apache-2.0
"""Packets from the crypto chip that meet an MTU of the red port, and what leaves or goes to the CPU
(RFC 791 3.2, RFC 8200 5)."""

from collections.abc import Iterator

LEAST, LEAST_V6, MOST = 68, 1280, 9582
FAR, HOST = "10.9.0.1", "10.0.0.1"


def red_mtu_cases() -> Iterator[tuple[int, str, int, str]]:
    """MTU, counter, SA (0: in clear, to the next hop 7), expression. SA 6 allows all and does not
    check numbers."""

    def v4(size: int, rest: str = "") -> str:
        return f'IP(src="{FAR}", dst="{HOST}", id={size}{rest}) / UDP(sport=7, dport=8) / Raw((bytes(range(251)) * 40)[:{size - 28}])'

    def v6(size: int) -> str:
        return f'IPv6(src="2001:db8:9::1", dst="2001:db8::1") / UDP() / Raw(bytes({size - 48}))'

    for mtu in (LEAST, LEAST + 1, 575, 576, 1499, 1500, MOST - 1, MOST):
        further = (mtu + 7, mtu + 8, 2 * mtu, 3 * mtu + 5) if mtu < 1500 else (2 * mtu,)
        for size in (LEAST - 1, mtu - 1, mtu, mtu + 1, *further):
            if size > MOST:
                continue
            yield mtu, "tx_frames", 6, v4(size)
            yield mtu, "tx_frames" if size <= mtu else "punt_tunnel_mtu", 6, v4(size, ', flags="DF"')
    for size in (1500, 1501, 3000):
        yield 1500, "tx_frames", 0, v4(size)
        yield 1500, "tx_frames" if size <= 1500 else "punt_clear_mtu", 0, v4(size, ', flags="DF"')
    yield 1500, "tx_frames", 6, v4(2980)  # two fragments of 1500 bytes
    # Bytes behind the packet are not its own.
    yield 1500, "tx_frames", 6, f"raw({v4(1500)}) + bytes(200)"
    yield 1500, "tx_frames", 6, f"raw({v4(1501)}) + bytes(200)"
    for size in (LEAST_V6, 1500, 1501, MOST):
        yield 1500, "tx_frames" if size <= 1500 else "punt_tunnel_mtu", 6, v6(size)
    # Fragments in transit are cut at their own offset; not those that end beyond any datagram.
    for rest in (", flags=1", ", flags=1, frag=400, tos=2", ", frag=7000", ', flags="evil+MF", frag=4096'):
        yield 1500, "tx_frames", 6, v4(3000, rest)
    for frag, counter in ((7819, "tx_frames"), (7820, "punt_tunnel_mtu"), (8191, "punt_tunnel_mtu")):
        fragment = f'IP(src="{FAR}", dst="{HOST}", id={frag}, frag={frag}) / Raw(bytes(2983))'
        yield 1500, counter, 6, fragment
    # Options are the CPU's to cut, and so is all under an MTU that no link may have.
    option = ', options=[IPOption(b"\\x94\\x04\\0\\0")]'
    for size, counter in ((1500, "tx_frames"), (1501, "punt_tunnel_mtu")):
        yield 1500, counter, 6, v4(size, option).replace(f"[:{size - 28}]", f"[:{size - 32}]")
    for mtu in (0, LEAST - 1):
        yield mtu, "punt_tunnel_mtu", 6, v4(LEAST)
    # To the box itself a packet is whole; TTL and next hop come before the length.
    yield 1500, "punt_tunnel", 6, v4(3000, ', flags="DF"').replace(HOST, "198.51.100.1")
    yield 1500, "punt_tunnel_ttl", 6, v4(3000, ", ttl=1")
    yield 1500, "punt_tunnel_route", 10, v4(3000)
