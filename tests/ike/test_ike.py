# SPDX-License-Identifier: Apache-2.0
"""Two charons with the plugin, each with a sallyportd: what the boxes hold is what IKE
negotiated."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.ike.charons import Charon, agree, child, installed, wait_until_replaced
from tests.ike.words import Policy, State


def test_child_sa(fresh: tuple[Charon, Charon]) -> None:
    a, b = fresh
    words = "esp_proposals = aes256gcm16-esn\n rekey_time = 1h"
    a.load(child("net", 1, 2, words))
    b.load(child("net", 2, 1, words))
    a.initiate("net")
    b.box.wait(lambda: len(b.box.states) == 2 and len(b.box.policies) == 2)
    agree(a.box, b.box)
    for charon in fresh:
        box = charon.box
        (negotiated,) = charon.children()
        into, out = box.only("in"), box.only("out")
        assert (int(negotiated["spi-in"], 16), int(negotiated["spi-out"], 16)) == (into.spi, out.spi)
        assert (negotiated["encr-alg"], negotiated["encr-keysize"], negotiated["esn"]) == ("AES_GCM_16", "256", "1")
        assert into == State(
            charon.other, charon.me, into.spi, int(negotiated["reqid"]), "tunnel", "in", 64, frozenset({"esn"}),
            limits=into.limits, suite=("aead", "rfc4106(gcm(aes))"), keys=into.keys,
        )  # fmt: skip
        # charon's own: a tenth more for the hard limit, by which the soft one is moved at random.
        assert into.limits.keys() == {"time-soft", "time-hard"} and into.limits["time-hard"] == 3960
        assert 3240 <= into.limits["time-soft"] <= 3600
        assert len(bytes.fromhex(into.keys[0])) == 36 and into.keys != out.keys
        local, remote = negotiated["local-ts"].strip("[]"), negotiated["remote-ts"].strip("[]")
        # The number that `ip xfrm policy` shows of strongSwan's policies from /16 to /16.
        ends = f"proto esp reqid {negotiated['reqid']} mode tunnel"
        assert box.policies == {
            Policy(f"src {local} dst {remote}", "out", 383615, tmpl=f"src {charon.me} dst {charon.other} {ends}"),
            Policy(f"src {remote} dst {local}", "in", 383615, tmpl=f"src {charon.other} dst {charon.me} {ends}"),
        }
    keys = [key for charon in fresh for s in charon.box.states for key in s.keys]
    # at level 4 charon prints its own keys; the plugin must print none
    for charon in fresh:
        ours = "\n".join(line for line in charon.log().splitlines() if "[KNL]" in line)
        assert not any(key[:16] in re.sub(r"[^0-9a-f]", "", ours.lower()) for key in keys)


# strongSwan's name, ESN, and the words.
SUITES = {
    "aes128gcm16-esn": ("aead", "rfc4106(gcm(aes))"),
    "aes192gcm16": ("aead", "rfc4106(gcm(aes))"),
    "aes256gcm16": ("aead", "rfc4106(gcm(aes))"),
    "aes256gmac": ("aead", "rfc4543(gcm(aes))"),
    "chacha20poly1305-esn": ("aead", "rfc7539esp(chacha20,poly1305)"),
    "aes128-sha256": ("enc", "cbc(aes)", "auth-trunc", "hmac(sha256)"),
    "aes256-sha256-esn": ("enc", "cbc(aes)", "auth-trunc", "hmac(sha256)"),
    "aes256-sha1": ("enc", "cbc(aes)", "auth-trunc", "hmac(sha1)"),
    "aes128ctr-sha256": ("enc", "rfc3686(ctr(aes))", "auth-trunc", "hmac(sha256)"),
    "aes256ctr-sha256": ("enc", "rfc3686(ctr(aes))", "auth-trunc", "hmac(sha256)"),
    "null-sha256-esn": ("enc", "ecb(cipher_null)", "auth-trunc", "hmac(sha256)"),
}
OTHERS = [
    "aes256-sha512",
    "aes128-sha1",
    "aes192-sha256",
    "aes128gmac",
    "aes256gcm8",
    "aes128ccm16",
    "camellia256-sha256",
]


def key_lengths(name: str) -> list[int]:
    """Key and salt, and the key of the HMAC, by the RFCs of the suites (4106, 4543, 7634, 3602,
    3686, 4868, 2404)."""
    cipher, _, rest = name.partition("-")
    size = {"aes128": 16, "aes192": 24, "aes256": 32, "chacha": 32, "null-s": 0}[(cipher + "-sha")[:6]]
    salted = any(word in cipher for word in ("gcm", "gmac", "ctr", "chacha"))
    return [size + 4 * salted] + [32] * ("sha256" in rest) + [20] * ("sha1" in rest)


def test_suites(fresh: tuple[Charon, Charon]) -> None:
    """One CHILD_SA of each suite that the box has, under one IKE_SA, and none of those that it
    has not."""
    a, b = fresh
    names = [*SUITES, *OTHERS]
    for charon, left in ((a, 0), (b, 100)):
        charon.load(
            "".join(child(f"c{n}", n + left, n + 100 - left, f"esp_proposals = {s}") for n, s in enumerate(names))
        )
    for n, (name, words) in enumerate(SUITES.items()):
        a.initiate(f"c{n}")
        sa = a.box.states[-1]
        assert sa.suite == words and [len(k) // 2 for k in sa.keys] == key_lengths(name), name
        assert ("esn" in sa.flags) == name.endswith("esn")
    b.box.wait(lambda: len(b.box.states) == 2 * len(SUITES))
    agree(a.box, b.box)
    for n, name in enumerate(OTHERS, len(SUITES)):
        b.mark()
        said = a.initiate(f"c{n}", check=False)
        assert "failed" in said, name
        assert len(re.findall(r"unable to add inbound SA .*: no suite of", b.said())) == 1, name
    assert len(a.box.states) == len(b.box.states) == 2 * len(SUITES)


SELECTORS = {
    "10.1.0.1-10.1.0.9": ("src 10.1.0.1-10.1.0.9 dst 10.2.0.0/16", 400000 - (28 + 16) * 512 - 1),
    "10.1.0.0/24[tcp/443]": ("src 10.1.0.0/24 dst 10.2.0.0/16 proto tcp sport 443", 400000 - 40 * 512 - 256 - 64 - 1),
    "10.1.0.0/16[udp/1024-65535]": ("src 10.1.0.0/16 dst 10.2.0.0/16 proto udp sport 1024-65535", 400000 - 32 * 512 - 257),
    "10.1.0.0/16[icmp/8]": ("src 10.1.0.0/16 dst 10.2.0.0/16 proto icmp type 8 code 0", 400000 - 32 * 512 - 256 - 128 - 1),
    "10.1.0.0/16[icmp/768-1023]": ("src 10.1.0.0/16 dst 10.2.0.0/16 proto icmp type 3", 400000 - 32 * 512 - 256 - 64 - 1),
    "10.1.0.0/16[sctp/0]": ("src 10.1.0.0/16 dst 10.2.0.0/16 proto sctp sport 0-0", 400000 - 32 * 512 - 256 - 64 - 1),
    "10.1.0.0/16[icmp/769]": ("src 10.1.0.0/16 dst 10.2.0.0/16 proto icmp type 3 code 1", 400000 - 32 * 512 - 256 - 128 - 1),
    "10.1.0.0/16[tcp/opaque]": ("src 10.1.0.0/16 dst 10.2.0.0/16 proto tcp sport opaque dport opaque", 400000 - 32 * 512 - 257),
    "fd01::/64": ("src fd01::/64 dst fd02::/64", 400000 - 128 * 512 - 1),
    "0.0.0.0/0": ("src 0.0.0.0/0 dst 10.8.0.0/16", 400000 - 16 * 512 - 1),
    "::/0": ("src ::/0 dst fd08::/64", 400000 - 64 * 512 - 1),
}  # fmt: skip


def test_selectors(fresh: tuple[Charon, Charon]) -> None:
    """Ranges and ports come exactly as negotiated; the priority is kernel-netlink's, of the prefix
    around a range."""
    a, b = fresh
    for charon, (mine, theirs) in ((a, ("local", "remote")), (b, ("remote", "local"))):
        charon.load(
            "".join(
                f"c{n} {{ {mine}_ts = {ts}\n {theirs}_ts = {words.split()[3]}\n esp_proposals = aes256gcm16 }}\n"
                for n, (ts, (words, _)) in enumerate(SELECTORS.items())
            )
        )
    for n, (ts, (words, priority)) in enumerate(SELECTORS.items()):
        a.initiate(f"c{n}")
        _, near, _, far, *rest = words.split()
        turned = rest if "dport" in rest else [word.replace("sport", "dport") for word in rest]
        back = " ".join(["src", far, "dst", near, *turned])
        found = {(p.selector, p.dir): p.priority for p in a.box.policies}
        assert [found.get(key) for key in ((words, "out"), (back, "in"))] == [priority] * 2, (ts, found)


def test_options(fresh: tuple[Charon, Charon]) -> None:
    """What else of swanctl.conf reaches the SAs: window, limits, header fields, padding, UDP."""
    a, b = fresh
    words = """esp_proposals = aes128gcm16
      replay_window = 1024
      life_bytes = 2000
      rekey_bytes = 1000
      rand_bytes = 0
      life_packets = 20
      rekey_packets = 10
      rand_packets = 0
      life_time = 6000
      rekey_time = 5000
      rand_time = 0
      copy_df = no
      copy_ecn = no
      copy_dscp = no
      tfc_padding = mtu"""
    a.load(child("net", 1, 2, words), "encap = yes")
    b.load(
        child(
            "net",
            2,
            1,
            "esp_proposals = aes128gcm16\n rekey_time = 0\n replay_window = 0\n copy_df = no\n tfc_padding = 500",
        )
    )
    a.initiate("net")
    b.box.wait(lambda: len(b.box.policies) == 2)
    agree(a.box, b.box)
    limits = {"byte-soft": 1000, "byte-hard": 2000, "packet-soft": 10, "packet-hard": 20, "time-hard": 6000}
    into, out = a.box.only("in"), a.box.only("out")
    assert (into.window, out.window, out.limits, out.tfcpad, out.encap) == (1024, 0, limits, 9582, (4500, 4500))
    # charon ensures that one of the two rekeys
    assert into.limits == limits | {"time-soft": 5000}
    assert into.flags == out.flags == {"noecn", "nopmtudisc"} and out.extra == {"dont-encap-dscp"} and not into.extra
    into, out = b.box.only("in"), b.box.only("out")
    assert (into.window, out.tfcpad, into.flags, into.limits) == (0, 500, {"nopmtudisc"}, {})


@pytest.mark.parametrize(("asked", "got"), [(19, 0), (20, 20)])
def test_short_padding(fresh: tuple[Charon, Charon], asked: int, got: int) -> None:
    """No packet is shorter than an IPv4 header, so none is padded to less."""
    a, _ = fresh
    installed(fresh, f"tfc_padding = {asked}")
    assert a.box.only("out").tfcpad == got


@pytest.fixture
def bridges(charons: tuple[Charon, Charon]) -> Iterator[None]:
    """The boxes as bumps in the wire, for the time of a test."""
    add = ["link add br0 type bridge", "link set red master br0", "link set black master br0"]
    for lines in (add, None):
        for charon in charons:
            charon.box.ask("batch", lines=lines or ["link delete br0"])
        if lines:
            yield


@pytest.mark.usefixtures("bridges")
def test_transport_mode(fresh: tuple[Charon, Charon]) -> None:
    a, b = fresh
    for charon in fresh:
        charon.load("host { mode = transport\n esp_proposals = aes256gcm16 }")
    a.initiate("host")
    b.box.wait(lambda: len(b.box.policies) == 2)
    agree(a.box, b.box)
    assert {s.mode for s in a.box.states} == {"transport"}
    out = a.box.policy("out")
    assert out.selector == "src 10.9.0.1/32 dst 10.9.0.2/32"
    assert out.tmpl == f"src 0.0.0.0 dst 0.0.0.0 proto esp reqid {a.box.only('out').reqid} mode transport"


@pytest.mark.parametrize("who", [0, 1])
def test_rekey_child_sa(fresh: tuple[Charon, Charon], who: int) -> None:
    """From either side: the new SAs are there before the old ones go, in the order of RFC
    7296, 2.8, and the policies are said again as they are."""
    both = installed(fresh)
    old, marks = both[0].spis(), [len(box.lines) for box in both]
    fresh[who].swanctl("--rekey", "--child", "net")
    wait_until_replaced(old, *both)
    agree(*both)
    for box, mark in zip(both, marks, strict=True):
        lines = box.lines[mark:]
        verbs = [tuple(line.split()[1:3]) for line in lines]
        for verb in (("state", "add"), ("state", "deleteall"), ("policy", "update")):
            assert verbs.count(verb) == len(verbs) / 3 == 2
        assert re.findall(r"add .* dir (\w+)", "\n".join(lines)) == ["in", "out"]
        # The old outbound SA carries packets until the new one is there.
        out = next(n for n, line in enumerate(lines) if "dir out" in line)
        gone = [n for n, (_, verb) in enumerate(verbs) if verb == "deleteall"]
        assert out < gone[-1] and len(box.policies) == 2


def test_rekey_ike_sa(fresh: tuple[Charon, Charon]) -> None:
    """CHILD_SAs are inherited: nothing is told to the box, and they end with the new IKE_SA."""
    both = installed(fresh)
    marks = [len(box.lines) for box in both]
    fresh[0].swanctl("--rekey", "--ike", "t")
    for charon in fresh:
        charon.wait_for_log(r"IKE_SA t\[\d+\] rekeyed between")
    assert [len(box.lines) for box in both] == marks
    fresh[1].swanctl("--terminate", "--child", "net")
    for one in both:
        one.wait_until_empty()


@pytest.mark.parametrize("who", [0, 1])
def test_delete(fresh: tuple[Charon, Charon], who: int) -> None:
    both = installed(fresh)
    fresh[who].swanctl("--terminate", "--child", "net")
    for one in both:
        one.wait_until_empty()
