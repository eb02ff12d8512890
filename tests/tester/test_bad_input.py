# SPDX-License-Identifier: Apache-2.0
"""Bad input: one sentence on standard error that names the file, the line and the reason; exit
status 2; no traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from tests.support.frames import write_frames
from tests.support.paths import ROOT
from tests.support.reference import FAR, NEAR, Tunnel
from tests.support.replay import called, sallyport

SA = f"xfrm state add src {NEAR} dst {FAR} proto esp spi 0x1 reqid 1 mode tunnel "
POLICY = "xfrm policy add dir out action block src 10.1.0.0/16 dst 10.2.0.0/16 "
STATE = SA + 'aead "rfc4106(gcm(aes))" 0x'
KEY = "5a" * 36


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "in.pcap"
    write_frames(path, [Ether() / IP(src="198.18.0.1", dst="198.19.0.1")])
    return path


def refused(*args: object) -> str:
    done = called(*args)
    assert done.exit_code == 2, done.stderr
    return done.stderr.strip().splitlines()[-1]


def key(length: int) -> str:
    return "0x" + "5a" * length


SHA256 = f'auth-trunc "hmac(sha256)" {key(32)} 128'

BRIDGE = "link add br0 type bridge\nlink set red master br0\nlink set black master br0\n"
VRF = "link add blue type vrf table 10\n"
HOSTS = f'xfrm state add src {NEAR} dst {FAR} proto esp spi 0x1 mode transport aead "rfc4106(gcm(aes))" 0x{KEY} 128'

BATCHES = {
    "does not parse": ("xfrm state add banana", 1, "banana"),
    "VRF that is not there": (POLICY + "dev blue", 1, "there is no VRF blue"),
    "VRF in Linux's own table": ("link add blue type vrf table 254", 1, "not 253 to 255"),
    "two VRFs of one table": (VRF + "link add green type vrf table 10", 2, "the VRF blue has the table 10 already"),
    "port in a VRF": (VRF + "link set red master blue", 2, "a VRF has VLANs of red and XFRM interfaces alone"),
    "policy in another VRF than its interface": (
        VRF + "link add ipsec7 type xfrm if_id 7\nlink set ipsec7 master blue\nlink add green type vrf table 20\n"
        "xfrm policy add dst 10.2.0.0/16 dev green dir out if_id 7 action block",
        5,
        "the interface ipsec7 of if_id 0x7 is in the VRF blue, not in green",
    ),
    "clear packets out of a VRF": (
        VRF + "xfrm policy add dst 10.2.0.0/16 dev blue dir out",
        2,
        "let clear packets out to black, which is in no VRF",
    ),
    "key of the wrong length": (STATE + "5a" * 35 + " 128", 1, "it must have 20, 28 or 36"),
    "second SA with the same SPI": (f"{STATE}{KEY} 128\n{STATE}{KEY} 128", 2, "0x1"),
    "DES": (SA + f"enc des {key(8)}", 1, "des is refused: RFC 8221"),
    "3DES": (SA + f'enc "cbc(des3_ede)" {key(24)} {SHA256}', 1, "cbc(des3_ede) is refused: RFC 8221"),
    "MD5": (SA + f'enc "cbc(aes)" {key(16)} auth-trunc "hmac(md5)" {key(16)} 96', 1, "hmac(md5) is refused: RFC 8221"),
    "CCM": (SA + f'aead "rfc4309(ccm(aes))" {key(19)} 128', 1, "use rfc4106(gcm(aes)), "),
    "short ICV": (f"{STATE}{KEY} 64", 1, "an ICV of 64 bits is not supported with rfc4106(gcm(aes)): use 128"),
    "GMAC with AES-128": (SA + f'aead "rfc4543(gcm(aes))" {key(20)} 128', 1, "it must have 36"),
    "SM4 key of 32 bytes": (SA + f'enc "cbc(sm4)" {key(32)} auth "hmac(sm3)" {key(32)}', 1, "it must have 16"),
    "HMAC key of 20 bytes": (
        SA + f'enc "cbc(aes)" {key(16)} auth-trunc "hmac(sha256)" {key(20)} 128',
        1,
        "it must have 32",
    ),
    "SHA-256 to 96 bits": (SA + f'enc "cbc(aes)" {key(16)} auth "hmac(sha256)" {key(32)}', 1, "KEY 128"),
    "SM3 to 64 bits": (SA + f'enc "cbc(sm4)" {key(16)} auth-trunc "hmac(sm3)" {key(32)} 64', 1, "use 96, 128 or 256"),
    "SM4 with SHA-256": (
        SA + f'enc "cbc(sm4)" {key(16)} {SHA256}',
        1,
        'cbc(sm4) goes with a key of 16 bytes and auth-trunc "hmac(sm3)"',
    ),
    "AES-128 with SHA-1": (SA + f'enc "cbc(aes)" {key(16)} auth "hmac(sha1)" {key(20)}', 1, "no suite of this box"),
    "encryption alone": (SA + f'enc "cbc(aes)" {key(16)}', 1, "enc without auth is refused"),
    "authentication alone": (SA + SHA256, 1, "ecb(cipher_null)"),
    "zero key": (SA + f'enc "cbc(aes)" 0x{"00" * 16} {SHA256}', 1, "all zeros"),
    "zero HMAC key": (SA + f'enc "ecb(cipher_null)" "" auth-trunc "hmac(sha256)" 0x{"00" * 32} 128', 1, "all zeros"),
    "zero GCM key": (f"{STATE}{'00' * 32}5a5a5a5a 128", 1, "all zeros"),
    "range the wrong way round": (
        f"{POLICY}proto tcp dport 443-80",
        1,
        "the range 443-80 after dport is the wrong way",
    ),
    "range beyond the last port": (f"{POLICY}proto tcp sport 80-65536", 1, "a number of 0 to 65535, a range N-M"),
    "ports of a protocol without": (f"{POLICY}proto gre dport 80-443", 1, "dport needs proto tcp, udp or sctp"),
    "type of a protocol without": (
        f"{POLICY}proto tcp type 3-4",
        1,
        "type needs proto icmp, ipv6-icmp or mobility-header",
    ),
    "ICMP type of the other version": ("xfrm policy add dir out dst ::/0 proto icmp type 8", 1, "is of no packet"),
    "extension header as protocol": ("xfrm policy add dir out dst ::/0 proto ipv6-opts", 1, "is of no packet"),
    "policy of two IP versions": ("xfrm policy add dir out src 10.0.0.0/8 dst ::/0", 1, "of one IP version"),
    "transport mode without a bridge": (HOSTS, 1, "the SA spi 0x1 is in transport mode, as no mode means too"),
    "no mode without a bridge": (HOSTS.replace("mode transport ", ""), 1, "that needs a bridge: `link add br0 type"),
    "NAT traversal in transport mode": (
        BRIDGE + HOSTS.replace("mode transport", "mode transport encap espinudp 4500 4500 0.0.0.0"),
        4,
        "encap is not supported in transport mode",
    ),
    "fragment-first in transport mode": (
        f"xfrm policy add src {NEAR} dst {FAR} dir out flag fragment-first tmpl proto esp mode transport",
        1,
        "flag fragment-first is not supported in transport mode",
    ),
    "TFC padding in transport mode": (
        BRIDGE + HOSTS.replace("mode transport", "mode transport tfcpad 1000"),
        4,
        "tfcpad is not supported in transport mode",
    ),
    "TFC padding beyond any frame": (f"{SA}tfcpad 9583 aead", 1, "tfcpad must be 20 to 9582 bytes, or 0 for none"),
    "dummy packets of an inbound SA": (
        f"{STATE}{KEY} 128 dir in dummy 1000 every 1ms",
        1,
        "the SA spi 0x1 is inbound: leave it out",
    ),
    "tmpl of other hosts": (
        f"xfrm policy add src {NEAR} dst {FAR} dir out tmpl src {FAR} dst {NEAR} proto esp mode transport",
        1,
        f"the tmpl's src {FAR} is not in the policy's src {NEAR}/32",
    ),
    "half a bridge": ("link add br0 type bridge\nlink set red master br0", 2, "black is not: put both into it"),
    "no such bridge": ("link set red master br0", 1, "there is no bridge br0"),
    "two bridges": ("link add br0 type bridge\nlink add br1 type bridge", 2, "there is a bridge br0 already"),
    "another kind of link": (
        "link add br0 type dummy",
        1,
        "a bridge over red and black, VLANs of them, VRFs and XFRM interfaces are the links",
    ),
    "tunnel in a bridge": (f"{BRIDGE}{STATE}{KEY} 128", 4, "is in tunnel mode, whose packets are routed"),
    "DF in transport mode": (
        BRIDGE + HOSTS.replace("mode transport", "mode transport df set"),
        4,
        "df is of the outer header, and an SA in transport mode makes none",
    ),
    "DF twice": (f"{SA}df set flag nopmtudisc {STATE[len(SA) :]}{KEY} 128", 1, "are of one bit: write one of them"),
    "DSCP beyond six bits": (f"{SA}dscp 64 {STATE[len(SA) :]}{KEY} 128", 1, "a number of 0 to 63, a name such as EF"),
    "DSCP of an inbound SA": (
        f"addr add {FAR}/24 dev black\n{SA}dscp EF {STATE[len(SA) :]}{KEY} 128",
        2,
        "the SA spi 0x1 is inbound: leave it out",
    ),
    "opaque port beside a port": (f"{POLICY}proto udp sport opaque dport 53", 1, "beside a number is of no packet"),
    "reassembly in a batch": ("reassembly set timeout 5", 1, "reassembly is a command of sallyctl alone"),
    "SAs neither kept nor deleted": ("xfrm policy flush sas all", 1, "sas must be keep or delete"),
    "range that takes too many rules": (
        f"{POLICY}proto tcp dport 80\n{POLICY}proto udp sport 1-65534 dport 1-65534",
        2,
        "it needs 900 of the 64 rules of the inner chip, and 63 are free",
    ),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batch_is_refused(tmp_path: Path, capture: Path, name: str) -> None:
    text, line, word = BATCHES[name]
    batch = tmp_path / "bad.xfrm"
    batch.write_text(text + "\n")
    message = refused("replay", "--xfrm", batch, "--red", capture, "--out", tmp_path / "out")
    assert f"{batch}:{line}:" in message
    assert word in message
    assert "5a5a5a5a" not in message
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.pcapng"))


@pytest.mark.parametrize(
    ("room", "selector"),
    [
        (64, lambda n: f"src 10.{n}.0.0/16 dst 10.99.0.0/16 proto udp"),
        (511, lambda n: f"src 10.0.0.0/8 dst 11.{n >> 8}.{n & 255}.0/24"),
    ],
    ids=["rules", "policies by prefix"],
)
def test_table_that_is_full_is_refused(
    tmp_path: Path, capture: Path, room: int, selector: Callable[[int], str]
) -> None:
    """As many policies are taken as there are rows, and the next one is refused by its line."""
    policies = [f"xfrm policy add {selector(n)} dir out action block" for n in range(room + 1)]
    batch = tmp_path / "full.xfrm"
    batch.write_text("\n".join(policies[:room]) + "\n")
    assert called("replay", "--xfrm", batch, "--red", capture, "--out", tmp_path / "fits").exit_code == 0
    batch.write_text("\n".join(policies) + "\n")
    message = refused("replay", "--xfrm", batch, "--red", capture, "--out", tmp_path / "out")
    assert f"{batch}:{room + 1}:" in message
    assert str(room) in message


def test_captures_are_refused(tmp_path: Path) -> None:
    batch = tmp_path / "box.xfrm"
    batch.write_text(Tunnel().batch())
    missing, garbage = tmp_path / "missing.pcap", tmp_path / "garbage.pcap"
    garbage.write_bytes(b"this is no capture at all, not even a short one")
    for path in (missing, garbage):
        message = refused("replay", "--xfrm", batch, "--red", path, "--out", tmp_path / "out")
        assert str(path) in message


@pytest.mark.parametrize(
    "args",
    [
        ["rfc2544", "--frame-size", "63"],
        ["rfc2544", "--frame-size", "9601"],
        ["rfc2544", "--suite", "des"],
        ["rfc2544", "--suite", "aes256"],
        ["rfc2544", "--suite", "sm4-sm3,aes256gcm16", "--sas", "3"],
        ["rfc2544", "--suite", "sm4-sm3,aes256gcm16", "--boxes", "1"],
        ["rfc2544", "--mode", "beet"],
        ["rfc2544", "--mode", "transport", "--nat-t"],
        ["rfc2544", "--load", "0"],
        ["rfc2544", "--load", "101"],
        ["rfc2544", "--share", "101"],
        ["rfc2544", "--rekeys", "1", "--boxes", "1"],
        ["replay", "--xfrm", "x", "--out", "y"],
        [
            "replay",
            "--xfrm",
            str(ROOT / "README.md"),
            "--red",
            str(ROOT / "README.md"),
            "--out",
            "y",
            "--fault",
            "no-such",
        ],
        ["no-such-command"],
    ],
)
def test_arguments_are_refused(args: list[str]) -> None:
    assert refused(*args).startswith("sallyport: ")


@pytest.mark.parametrize("suite", ["des", "3des-sha1", "des-md5", "aes256-md5", "null-md5", "blowfish128-sha1"])
def test_weak_suites_are_refused_with_the_reason(suite: str) -> None:
    done = sallyport("rfc2544", "--suite", suite, check=False)
    assert done.exit_code == 2
    message = done.stderr.strip().splitlines()[-1]
    assert f"suite '{suite}' is refused: RFC 8221" in message
    assert "sm4-sm3-256" in message
