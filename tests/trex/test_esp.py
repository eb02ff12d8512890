# SPDX-License-Identifier: Apache-2.0
"""ESP on the tester's side, judged by scapy's: each suite, both ways, padding, and refusals."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.packet import raw

from sallyport import suites
from sallyport.trex.esp import Association, Rejected
from sallyport.tunnels import Tunnels
from tests.support.scapy_suites import SCAPY, association, keys
from tests.trex.lab import setup

SPI = 0x1234


def ours(suite: str) -> Association:
    return Association(suites.find(suite), SPI, *keys(suite, SPI))


def packet(length: int) -> IP:
    return IP(src="198.19.0.0", dst="198.18.0.0", ttl=64) / UDP(sport=4096, dport=4097, chksum=0) / bytes(length)


@pytest.mark.parametrize("suite", SCAPY)
def test_scapy_takes_what_is_sealed_and_the_other_way_round(suite: str) -> None:
    judge = association(suite, SPI, esn=True, tunnel_header=IP(src="192.0.2.2", dst="192.0.2.1"))
    for number, length in ((1, 0), (7, 17), (2**32 - 1, 1400)):
        plain = raw(packet(length))
        sealed = ours(suite).seal(number, plain, 4)
        outer = IP(raw(IP(src="192.0.2.2", dst="192.0.2.1", proto=50) / sealed))
        assert raw(judge.decrypt(outer, esn=0)) == plain
        made = judge.encrypt(IP(plain), seq_num=number, esn=0)
        assert ours(suite).open(raw(made[ESP])) == (number, plain, 4)


@pytest.mark.parametrize(
    "suite", ["aes256gcm16", "aes256gmac", "chacha20poly1305", "sm4gcm16", "sm4-sm3", "null-sha256"]
)
def test_a_changed_bit_anywhere_is_refused(suite: str) -> None:
    sealed = ours(suite).seal(9, raw(packet(40)), 4)
    for at in range(4, len(sealed)):  # the SPI says which SA it is of
        changed = bytearray(sealed)
        changed[at] ^= 1
        with pytest.raises(Rejected):
            ours(suite).open(bytes(changed))
    for short in (b"", sealed[:12], sealed[:-4]):
        with pytest.raises(Rejected):
            ours(suite).open(short)


def test_keys_are_those_of_the_lines_for_the_box() -> None:
    asked = setup(suite="aes256gcm16,sm4-sm3", sas=6)
    tunnels = Tunnels(asked)
    for way in (0, 1):
        for line, (suite, spi, key, auth_key) in zip(tunnels.states(way), tunnels.keys(way), strict=True):
            assert f" spi {spi:#x} " in line and suite.with_keys(key, auth_key) in line
