"""Two charons with the plugin, each with a stand-in of sallyportd: what arrives there is what IKE negotiated."""

from __future__ import annotations

import re
import time

import pytest
from charons import Charon, agree, child, daemon, installed, spis, wait_until_replaced
from ike_words import State


def test_child_sa(fresh: tuple[Charon, Charon]) -> None:
    a, b = fresh
    words = "esp_proposals = aes256gcm16-esn\n rekey_time = 1h"
    a.load(child("net", 1, 2, words))
    b.load(child("net", 2, 1, words))
    a.initiate("net")
    da, db = daemon(a), daemon(b)
    db.wait(lambda: len(db.states) == 2 and len(db.policies) == 3)
    agree(da, db)
    for charon in fresh:
        here = daemon(charon)
        (negotiated,) = charon.children()
        into, out = here.only("in"), here.only("out")
        assert (int(negotiated["spi-in"], 16), int(negotiated["spi-out"], 16)) == (into.spi, out.spi)
        assert (negotiated["encr-alg"], negotiated["encr-keysize"], negotiated["esn"]) == ("AES_GCM_16", "256", "1")
        assert into == State(
            charon.other, charon.me, into.spi, int(negotiated["reqid"]), "tunnel", "in", 64, frozenset({"esn"}),
            suite=("aead", "rfc4106(gcm(aes))"), keys=into.keys,
        )  # fmt: skip
        assert len(bytes.fromhex(into.keys[0])) == 36 and into.keys != out.keys
        local, remote = negotiated["local-ts"].strip("[]"), negotiated["remote-ts"].strip("[]")
        # The number that `ip xfrm policy` shows of strongSwan's policies from /16 to /16.
        ends = {"proto": "esp", "mode": "tunnel", "reqid": negotiated["reqid"]}
        for direction, src, dst, near, far in (
            ("out", local, remote, charon.me, charon.other),
            ("in", remote, local, charon.other, charon.me),
            ("fwd", remote, local, charon.other, charon.me),
        ):
            policy = here.policy(direction)
            assert (policy["src"], policy["dst"], policy.priority) == (src, dst, 383615)
            assert dict(policy.tmpl) == ends | {"src": near, "dst": far}
    keys = [key for d in (da, db) for s in d.states.values() for key in s.keys]
    for charon in fresh:  # at level 4 charon prints its own keys, of which the plugin's share must be none
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
    "aes256-sha1": ("enc", "cbc(aes)", "auth", "hmac(sha1)"),
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
    """Key and salt, and the key of the HMAC, by the RFCs of the suites (4106, 4543, 7634, 3602, 3686, 4868, 2404)."""
    cipher, _, rest = name.partition("-")
    size = {"aes128": 16, "aes192": 24, "aes256": 32, "chacha": 32, "null-s": 0}[(cipher + "-sha")[:6]]
    salted = any(word in cipher for word in ("gcm", "gmac", "ctr", "chacha"))
    return [size + 4 * salted] + [32] * ("sha256" in rest) + [20] * ("sha1" in rest)


def test_suites(fresh: tuple[Charon, Charon]) -> None:
    """One CHILD_SA of each suite that the box has, under one IKE_SA, and none of those that it has not."""
    a, b = fresh
    da, db = daemon(a), daemon(b)
    names = [*SUITES, *OTHERS]
    for charon, left in ((a, 0), (b, 100)):
        charon.load(
            "".join(child(f"c{n}", n + left, n + 100 - left, f"esp_proposals = {s}") for n, s in enumerate(names))
        )
    for n, (name, words) in enumerate(SUITES.items()):
        a.initiate(f"c{n}")
        sa = list(da.states.values())[-1]
        assert sa.suite == words and [len(k) // 2 for k in sa.keys] == key_lengths(name), name
        assert ("esn" in sa.flags) == name.endswith("esn")
    db.wait(lambda: len(db.states) == 2 * len(SUITES))
    agree(da, db)
    for n, name in enumerate(OTHERS, len(SUITES)):
        before = len(b.log())
        said = a.initiate(f"c{n}", check=False)
        assert "failed" in said, name
        assert len(re.findall(r"unable to add inbound SA .*: no suite of", b.log()[before:])) == 1, name
    assert len(da.states) == len(db.states) == 2 * len(SUITES)


SELECTORS = {
    "10.1.0.1-10.1.0.9": ({"src": "10.1.0.1-10.1.0.9"}, 400000 - (28 + 16) * 512 - 1),
    "10.1.0.0/24[tcp/443]": ({"src": "10.1.0.0/24", "proto": "6", "sport": "443"}, 400000 - 40 * 512 - 256 - 64 - 1),
    "10.1.0.0/16[udp/1024-65535]": ({"src": "10.1.0.0/16", "proto": "17", "sport": "1024-65535"}, 400000 - 32 * 512 - 257),
    "10.1.0.0/16[icmp/8]": ({"src": "10.1.0.0/16", "proto": "1", "type": "8", "code": "0"}, 400000 - 32 * 512 - 256 - 128 - 1),
    "10.1.0.0/16[icmp/768-1023]": ({"src": "10.1.0.0/16", "proto": "1", "type": "3"}, 400000 - 32 * 512 - 256 - 64 - 1),
    "10.1.0.0/16[sctp/0]": ({"src": "10.1.0.0/16", "proto": "132", "sport": "0-0"}, 400000 - 32 * 512 - 256 - 64 - 1),
    "10.1.0.0/16[icmp/769]": ({"src": "10.1.0.0/16", "proto": "1", "type": "3", "code": "1"}, 400000 - 32 * 512 - 256 - 128 - 1),
    "10.1.0.0/16[tcp/opaque]": ({"src": "10.1.0.0/16", "proto": "6", "sport": "opaque"}, 400000 - 32 * 512 - 257),
    "fd01::/64": ({"src": "fd01::/64"}, 400000 - 128 * 512 - 1),
}  # fmt: skip


def test_selectors(fresh: tuple[Charon, Charon]) -> None:
    """Ranges and ports come exactly as negotiated; the priority is kernel-netlink's, of the prefix around a range."""
    a, b = fresh
    other = {"fd01::/64": "fd02::/64"}
    for charon, (mine, theirs) in ((a, ("local", "remote")), (b, ("remote", "local"))):
        charon.load(
            "".join(
                f"c{n} {{ {mine}_ts = {ts}\n {theirs}_ts = {other.get(ts, '10.2.0.0/16')}\n esp_proposals = aes256gcm16 }}\n"
                for n, ts in enumerate(SELECTORS)
            )
        )
    for n, (ts, (words, priority)) in enumerate(SELECTORS.items()):
        a.initiate(f"c{n}")
        want = {"dst": other.get(ts, "10.2.0.0/16"), "dir": "out"} | words
        (found,) = [p for p in daemon(a).policies.values() if dict(p.name) == want]
        assert found.priority == priority, ts
        turned = {"src": "dst", "dst": "src", "sport": "dport"}
        back = {turned.get(word, word): value for word, value in want.items()} | {"dir": "fwd"}
        assert [p for p in daemon(a).policies.values() if dict(p.name) == back], ts


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
      copy_df = no
      copy_ecn = no
      copy_dscp = no
      tfc_padding = mtu"""
    a.load(child("net", 1, 2, words), "encap = yes")
    b.load(child("net", 2, 1, "esp_proposals = aes128gcm16\n replay_window = 0\n copy_df = no\n tfc_padding = 500"))
    a.initiate("net")
    da, db = daemon(a), daemon(b)
    db.wait(lambda: len(db.policies) == 3)
    agree(da, db)
    limits = {"byte-soft": 1000, "byte-hard": 2000, "packet-soft": 10, "packet-hard": 20}
    into, out = da.only("in"), da.only("out")
    assert (into.window, out.window, out.limits, out.tfcpad, out.encap) == (1024, 0, limits, 9582, (4500, 4500))
    assert into.flags == out.flags == {"noecn", "nopmtudisc"} and out.extra == {"dont-encap-dscp"} and not into.extra
    into, out = db.only("in"), db.only("out")
    assert (into.window, out.tfcpad, into.flags, into.limits) == (0, 500, {"nopmtudisc"}, {})


def test_transport_mode(fresh: tuple[Charon, Charon]) -> None:
    a, b = fresh
    for charon in fresh:
        charon.load("host { mode = transport\n esp_proposals = aes256gcm16 }")
    a.initiate("host")
    da, db = daemon(a), daemon(b)
    db.wait(lambda: len(db.policies) == 2)
    agree(da, db)
    assert {s.mode for s in da.states.values()} == {"transport"}
    out = da.policy("out")
    reqid = str(da.only("out").reqid)
    assert (out["src"], out["dst"], out.tmpl) == (
        "10.9.0.1/32", "10.9.0.2/32", (("mode", "transport"), ("proto", "esp"), ("reqid", reqid)),
    )  # fmt: skip


@pytest.mark.parametrize("who", [0, 1])
def test_rekey_child_sa(fresh: tuple[Charon, Charon], who: int) -> None:
    """From either side: the new SAs are there before the old ones go, in the order of RFC 7296, 2.8, and no policy is touched."""
    both = installed(fresh)
    old, marks = spis(both[0]), [len(d.lines) for d in both]
    fresh[who].swanctl("--rekey", "--child", "net")
    wait_until_replaced(old, *both)
    agree(*both)
    for one, mark in zip(both, marks, strict=True):
        verbs = [tuple(line.split()[1:3]) for line in one.lines[mark:]]
        assert verbs.count(("state", "add")) == verbs.count(("state", "delete")) == len(verbs) / 2 == 2
        directions = [re.search(r"dir (\w+)", line) for line in one.lines[mark:] if " add " in line]
        assert [d[1] for d in directions if d] == ["in", "out"]
        # The old outbound SA carries packets until the new one is there.
        out = [one.lines[mark:].index(line) for line in one.lines[mark:] if "dir out" in line]
        gone = [n for n, (_, verb) in enumerate(verbs) if verb == "delete"]
        assert out[0] < gone[-1] and len(one.policies) == 3


def test_rekey_ike_sa(fresh: tuple[Charon, Charon]) -> None:
    """CHILD_SAs are inherited: nothing is told to the box, and they end with the new IKE_SA."""
    both = installed(fresh)
    marks = [len(d.lines) for d in both]
    fresh[0].swanctl("--rekey", "--ike", "t")
    for charon in fresh:
        charon.wait_for_log(r"IKE_SA t\[\d+\] rekeyed between")
    assert [len(d.lines) for d in both] == marks
    fresh[1].swanctl("--terminate", "--child", "net")
    for one in both:
        one.wait_until_empty()


@pytest.mark.parametrize("who", [0, 1])
def test_delete(fresh: tuple[Charon, Charon], who: int) -> None:
    both = installed(fresh)
    fresh[who].swanctl("--terminate", "--child", "net")
    for one in both:
        one.wait_until_empty()


def test_usage(fresh: tuple[Charon, Charon]) -> None:
    """What the box has counted is what swanctl shows, and traffic from the peer stands for an answer to dead peer detection."""
    a, _ = fresh
    both = installed(fresh, options="dpd_delay = 2s")
    both[0].usage = {"bytes": 2**40 + 5, "packets": 77, "use_time": int(time.time()) - 3}
    (negotiated,) = a.children()
    assert {negotiated["bytes-in"], negotiated["bytes-out"]} == {str(2**40 + 5)}
    assert {negotiated["packets-in"], negotiated["packets-out"]} == {"77"} and negotiated["use-in"] in ("3", "4", "5")
    assert {"query-state", "query-policy"} <= set(both[0].requests)
    # B hears nothing for as long: it asks. A, whose peer sends all the time, does not.
    for one in both:
        one.usage = {"bytes": 1, "packets": 1, "use_time": 0}
    marks = [len(charon.log()) for charon in fresh]
    stop = time.monotonic() + 5
    while time.monotonic() < stop:
        both[0].usage = {"bytes": 1, "packets": 1, "use_time": int(time.time())}
        both[1].usage = both[0].usage
        time.sleep(0.2)
    assert [charon.log()[mark:].count("sending DPD request") for charon, mark in zip(fresh, marks, strict=True)] == [
        0,
        0,
    ]
    for one in both:
        one.usage = {"bytes": 1, "packets": 1, "use_time": 0}
    a.wait_for_log("sending DPD request")
