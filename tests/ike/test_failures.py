# SPDX-License-Identifier: Apache-2.0
"""What charon does when the box refuses, when sallyportd dies and returns, when the chips were
reset, and when there are events."""

from __future__ import annotations

import re
import threading
import time

import pytest

from tests.ike.box import IkeBox
from tests.ike.charons import Charon, agree, child, installed, two_charons, wait_until_replaced
from tests.ike.control_relay import nothing_lost, nothing_refused

SENTENCE = "the SAD of the crypto chip is full"


@pytest.mark.parametrize("refused", ["state add .* dir in", "state add .* dir out", "policy update .* dir out"])
def test_refused_batch(fresh: tuple[Charon, Charon], refused: str) -> None:
    """The CHILD_SA fails at both ends, the log says why, nothing is left behind, and the next
    one works."""
    a, b = fresh
    a.box.relay.refuse = lambda line: SENTENCE if re.search(refused, line) else None
    for charon, ends in ((a, (1, 2)), (b, (2, 1))):
        charon.load(child("net", *ends, "esp_proposals = aes256gcm16"))
    assert "failed" in a.initiate("net", check=False)
    assert len(re.findall(rf"unable to add .*: {SENTENCE}", a.said())) == 1
    for charon in fresh:
        charon.box.wait_until_empty()
    a.box.relay.refuse = nothing_refused
    a.initiate("net")
    b.box.wait(lambda: len(b.box.states) == 2 and len(b.box.policies) == 2)
    agree(a.box, b.box)


def test_refused_rekey(fresh: tuple[Charon, Charon]) -> None:
    """A refused successor leaves the old SAs and all policies as they are."""
    a, _ = fresh
    both = installed(fresh)
    before = both[0].spis()
    both[0].relay.refuse = lambda line: SENTENCE if "state add" in line else None
    a.swanctl("--rekey", "--child", "net")
    a.wait_for_log(f"unable to add inbound SA .*: {SENTENCE}")
    both[1].wait(lambda: len(both[1].states) == 2)
    assert both[0].spis() == before == both[1].spis() and [len(d.policies) for d in both] == [2, 2]


def test_daemon_dies_and_returns(fresh: tuple[Charon, Charon]) -> None:
    """Nothing is lost: charon waits a little, says it once, and goes on with the SAs that are
    still there."""
    a, _ = fresh
    both = installed(fresh)
    before, requests = both[0].spis(), len(both[0].lines)
    both[0].stop()
    a.wait_for_log(r"connection to sallyportd at \S+ lost \(")
    assert "INSTALLED" in a.swanctl("--list-sas")  # which asks for bytes, and waits
    both[0].start()
    a.wait_for_log(r"sallyportd at \S+ is there again")
    assert len(re.findall("connection to sallyportd", a.said())) == 1
    assert both[0].lines[requests:] == [] and both[0].spis() == before
    a.swanctl("--rekey", "--child", "net")
    wait_until_replaced(before, *both)
    agree(*both)


def test_request_during_a_restart(fresh: tuple[Charon, Charon]) -> None:
    """A short restart fails nothing: charon repeats the requests made meanwhile."""
    both = installed(fresh)
    before = both[0].spis()
    both[0].stop()
    fresh[1].swanctl("--rekey", "--child", "net")  # A is asked for an SPI now
    both[0].start()
    wait_until_replaced(before, *both)
    agree(*both)


def expired(box: IkeBox) -> list[tuple[int, str]]:
    """The events of limits that a box's daemon has logged: SPI and limit."""
    return [
        (int(spi, 16), limit)
        for spi, limit in re.findall(r"Expired .* spi (0x\w+) .* dir \w+ ([\w ]+)", box.daemon.log())
    ]


def test_time_limits(fresh: tuple[Charon, Charon]) -> None:
    """The daemon keeps them, and its event rekeys; charon gives the soft one to the inbound
    SA alone."""
    both = installed(fresh, "rekey_time = 3s\n rand_time = 0\n life_time = 60s")
    into = both[0].only("in")
    assert (into.limits, both[0].only("out").limits) == ({"time-soft": 3, "time-hard": 60}, {"time-hard": 60})
    wait_until_replaced(both[0].spis(), *both)
    agree(*both)
    assert (into.spi, "soft limit time") in expired(both[0])


def test_hard_time_limit(fresh: tuple[Charon, Charon]) -> None:
    """The daemon deletes the SAs before charon does, which finds nothing wrong with it, and makes
    the CHILD_SA anew."""
    a, b = fresh
    a.load(child("net", 1, 2, "esp_proposals = aes256gcm16\n rekey_time = 0\n rand_time = 0\n life_time = 4s"))
    b.load(child("net", 2, 1, "esp_proposals = aes256gcm16"))
    a.initiate("net")
    a.wait_for_log("closing expired CHILD_SA net")
    gone = {spi for spi, limit in expired(a.box) if limit == "hard limit time"}
    assert gone
    for charon in fresh:
        charon.box.wait(lambda box=charon.box: not box.spis() & gone)
    assert "unable to delete" not in a.said()


def test_limits_while_nobody_looks(fresh: tuple[Charon, Charon]) -> None:
    """What the daemon tells before charon is connected to it again is not lost: one CHILD_SA is
    rekeyed, another is gone and closed, the third stays."""
    a, b = fresh
    limits = {
        "none": "rekey_time = 0",
        "hard": "rekey_time = 0\n life_time = 5s",
        "soft": "rekey_time = 5s\n rand_time = 0\n life_time = 60s",
    }
    words = "esp_proposals = aes256gcm16"
    a.load("".join(child(name, n, n + 100, f"{words}\n {limit}") for n, (name, limit) in enumerate(limits.items())))
    b.load("".join(child(name, n + 100, n, words) for n, name in enumerate(limits)))
    for name in limits:
        a.initiate(name)
    held = {c["name"]: {int(c["spi-in"], 16), int(c["spi-out"], 16)} for c in a.children() if "spi-out" in c}
    a.box.stop()
    time.sleep(5)
    a.box.start()
    a.wait_for_log("closing expired CHILD_SA hard")
    a.box.wait(lambda: not a.box.spis() & (held["soft"] | held["hard"]))
    assert a.box.spis() >= held["none"] and "unable to delete" not in a.said()
    assert {limit for spi, limit in expired(a.box) if spi in held["hard"]} == {"hard limit time"}


PORTS = {"proto": 6, "sport": 40000, "dport": 443}
ECHO = {"proto": 1, "type": 8, "code": 0}


@pytest.mark.parametrize(
    ("packet", "said"),
    [
        (PORTS, r"10\.1\.0\.9/32\[tcp/40000\] === 10\.2\.0\.9/32\[tcp/https\]"),
        (ECHO, r"10\.1\.0\.9/32\[icmp/8\] === 10\.2\.0\.9/32\[icmp/8\]"),
    ],
)
def test_acquire(fresh: tuple[Charon, Charon], packet: dict, said: str) -> None:
    """A trap is a policy without an SA; a packet that it caught starts IKE, and its policy stays
    one row."""
    a, b = fresh
    da, db = a.box, b.box
    b.load(child("net", 2, 1, "esp_proposals = aes256gcm16"))
    a.load(child("net", 1, 2, "esp_proposals = aes256gcm16\n start_action = trap"))
    da.wait(lambda: len(da.policies) == 2)
    trap = da.policy("out")
    assert trap.priority == 383616 and not da.states
    reqid = int(re.findall(r"reqid (\d+)", trap.tmpl)[0])
    da.emit(
        event="acquire", src="10.1.0.9", dst="10.2.0.9", **packet, policy="src 10.1.0.0/16 dst 10.2.0.0/16", reqid=reqid
    )
    a.wait_for_log(f"creating acquire job for policy {said}")
    da.wait(lambda: len(da.states) == 2 and da.policy("out").priority == 383615)
    db.wait(lambda: len(db.states) == 2)
    agree(da, db)
    assert da.only("out").reqid == reqid and len(da.policies) == 2
    a.swanctl("--terminate", "--child", "net")
    da.wait(lambda: not da.states and da.policy("out") == trap)
    a.load("")
    a.swanctl("--uninstall", "--child", "net", check=False)


def test_shunts(fresh: tuple[Charon, Charon]) -> None:
    """Policies to bypass and to discard."""
    a, _ = fresh
    da = a.box
    a.load(
        child("clear", 1, 3, "mode = pass\n start_action = trap")
        + child("shut", 1, 4, "mode = drop\n start_action = trap")
    )
    da.wait(lambda: len(da.policies) == 4)
    rules = {(p.selector, p.dir): (p.action, p.priority) for p in da.policies}
    assert (
        rules["src 10.1.0.0/16 dst 10.3.0.0/16", "out"]
        == rules["src 10.3.0.0/16 dst 10.1.0.0/16", "in"]
        == ("allow", 183615)
    )
    assert rules["src 10.1.0.0/16 dst 10.4.0.0/16", "out"] == ("block", 583615)
    for name in ("clear", "shut"):
        a.swanctl("--uninstall", "--child", name)
    da.wait(lambda: not da.policies)


def test_shunt_behind_a_child(fresh: tuple[Charon, Charon]) -> None:
    """What a child protects is discarded while its CHILD_SA is not there: a shunt of the same
    selectors stands in the box before it and behind it."""
    a, b = fresh
    a.load(
        child("guard", 1, 2, "mode = drop\n start_action = trap") + child("net", 1, 2, "esp_proposals = aes256gcm16")
    )
    b.load(child("net", 2, 1, "esp_proposals = aes256gcm16"))
    actions = lambda: {p.dir: p.action if not p.tmpl else "protect" for p in a.box.policies}  # noqa: E731
    a.box.wait(lambda: actions() == {"out": "block", "in": "block"})
    a.initiate("net")
    b.box.wait(lambda: len(b.box.states) == 2)
    assert actions() == {"out": "protect", "in": "protect"}
    a.swanctl("--terminate", "--child", "net")
    a.box.wait(lambda: actions() == {"out": "block", "in": "block"} and not a.box.states)
    a.swanctl("--uninstall", "--child", "guard")
    a.box.wait(lambda: not a.box.policies)


def test_deleted_while_the_daemon_is_away(fresh: tuple[Charon, Charon]) -> None:
    """What charon deletes meanwhile leaves the box when the daemon is there again, and the tunnel
    can be made anew."""
    a, _ = fresh
    both = installed(fresh)
    a.box.stop()
    a.wait_for_log(r"connection to sallyportd at \S+ lost \(")
    a.swanctl("--terminate", "--ike", "t", "--timeout", "60")
    a.wait_for_log("unable to delete policy .* out")
    a.box.start()
    for box in both:
        box.wait_until_empty()
    installed(fresh)
    agree(*both)


@pytest.mark.parametrize("lost", ["state add .* dir out", "policy update .* dir out"])
def test_answer_lost_with_the_daemon(fresh: tuple[Charon, Charon], lost: str) -> None:
    """The daemon dies when it has carried out a change and has not answered: the CHILD_SA fails,
    what it left in the box goes when the daemon is there again, and the next one works."""
    a, b = fresh
    dying: list[threading.Thread] = []

    def lose(line: str) -> bool:
        if re.search(lost, line) and not dying:
            dying.append(threading.Thread(target=a.box.stop))
            dying[0].start()
        return bool(dying)

    for charon, ends in ((a, (1, 2)), (b, (2, 1))):
        charon.load(child("net", *ends, "esp_proposals = aes256gcm16"))
    a.box.relay.lose = lose
    assert "failed" in a.initiate("net", check=False)
    dying[0].join()
    a.box.relay.lose = nothing_lost
    assert re.search(lost, "\n".join(a.box.lines))
    a.box.start()
    for charon in fresh:
        charon.box.wait_until_empty()
    installed(fresh)
    agree(a.box, b.box)


def test_policies_flushed_by_others(fresh: tuple[Charon, Charon]) -> None:
    """The next rekey brings them back."""
    a, _ = fresh
    both = installed(fresh)
    before, policies = both[0].spis(), both[0].policies
    both[0].ask("batch", lines=["xfrm policy flush"])
    a.swanctl("--rekey", "--child", "net")
    wait_until_replaced(before, *both)
    assert both[0].policies == policies


def test_policies_said_again_without_an_answer(fresh: tuple[Charon, Charon]) -> None:
    """A rekey says policies again that the box has. Without an answer it still has them, and the
    CHILD_SA is rekeyed from either side."""
    both = installed(fresh)
    policies = both[0].policies
    for side in fresh:
        before = both[0].spis()
        both[0].relay.lose = lambda line: line.startswith("xfrm policy update")
        side.swanctl("--rekey", "--child", "net")
        wait_until_replaced(before, *both)
        both[0].relay.lose = nothing_lost
        agree(*both)
        assert both[0].policies == policies
    assert len(re.findall("policy .* stays as it was: sallyportd at .* gives no answer", fresh[0].said())) == 4


def test_answer_timeout(tmp_path) -> None:
    """A request waits so long for its answer and fails. The SAs stay, and the next rekey works."""
    with two_charons(tmp_path, tag="w") as (a, b):
        a.kill()
        more = {"": "kernel-sallyport { answer_timeout = 1s }"}
        hasty = Charon(tmp_path / "hasty", a.space, (a.me, a.other), a.box.path, more)
        hasty.box = a.box
        try:
            both = installed((hasty, b))
            before = both[0].spis()
            with a.box.relay.lock:  # no request goes on
                hasty.swanctl("--rekey", "--child", "net")
                hasty.wait_for_log("unable to get an SPI: sallyportd at .* gives no answer: it takes too long")
            assert both[0].spis() == before
            hasty.swanctl("--rekey", "--child", "net")
            wait_until_replaced(before, *both)
            agree(*both)
        finally:
            hasty.kill()


def test_traps_after_a_reset(fresh: tuple[Charon, Charon]) -> None:
    """The chips are reset while the daemon is down, and charon has policies without any SA: they
    come back."""
    a, _ = fresh
    a.load(child("net", 1, 2, "start_action = trap") + child("clear", 1, 3, "mode = pass\n start_action = trap"))
    a.box.wait(lambda: len(a.box.policies) == 4)
    policies = a.box.policies
    a.box.stop()
    a.box.reset()
    a.box.start()
    a.wait_for_log("is there again")
    a.box.wait(lambda: a.box.policies == policies)


def test_peer_moves(fresh: tuple[Charon, Charon]) -> None:
    """A mapping event: no SA is moved under its key. The CHILD_SA is rekeyed to where the peer
    is now."""
    a, b = fresh
    both = installed(fresh, options="encap = yes")
    before, mark = both[0].spis(), len(both[0].lines)
    sa = both[0].only("in")
    b.space.run(
        "ip", "addr", "add", "10.9.0.22/24", "dev", b.space.run("sh", "-c", "ls /sys/class/net | grep -v lo").strip()
    )
    both[0].emit(event="mapping", src=sa.src, dst=sa.dst, proto="esp", spi=sa.spi, reqid=sa.reqid, dir="in",
                 old="10.9.0.2:4500", new="10.9.0.22:4500")  # fmt: skip
    a.wait_for_log("cannot move from .* under its key")
    wait_until_replaced(before, *both)
    assert {both[0].only("in").src, both[0].only("out").dst} == {"10.9.0.22"}
    assert not [line for line in both[0].lines[mark:] if "state update" in line]
    assert "dst 10.9.0.22 proto esp" in both[0].policy("out").tmpl and len(both[0].policies) == 2
    # the peer does not know of its new address
    agree(*both, alike=("mode", "suite", "keys", "spi"))


@pytest.mark.parametrize(
    ("way", "of"), [("out", {"event": "sequence"}), ("in", {"event": "audit", "reason": "window_upset"})]
)
def test_sa_that_carries_nothing_more(fresh: tuple[Charon, Charon], way: str, of: dict[str, str]) -> None:
    """Flipped bits or the last sequence number: the CHILD_SA is rekeyed, though the event comes
    again. A replay ends no SA."""
    a, _ = fresh
    both = installed(fresh)
    before, sa = both[0].spis(), both[0].only(way)
    named = {"src": sa.src, "dst": sa.dst, "proto": "esp", "spi": sa.spi, "reqid": sa.reqid, "dir": way}
    both[0].emit(event="audit", reason="replayed", **named)
    time.sleep(1)
    assert both[0].spis() == before
    for _ in range(3):
        both[0].emit(**of, **named)
    wait_until_replaced(before, *both)
    agree(*both)
    assert len(re.findall("establishing CHILD_SA", a.said())) == 2


@pytest.mark.parametrize("unseen", [False, True])
def test_reset_of_the_chips(fresh: tuple[Charon, Charon], unseen: bool) -> None:
    """The chips are reset and empty; the daemon tells charon, or was itself down and tells nothing.
    charon installs its policies again, and new SAs for those lost."""
    both = installed(fresh)
    before, policies = both[0].spis(), both[0].policies
    if unseen:
        both[0].stop()
    both[0].reset()
    if unseen:
        both[0].start()
    wait_until_replaced(before, *both)
    assert both[0].policies == policies
    agree(*both)


def test_daemon_comes_later(tmp_path) -> None:
    """charon starts without it, says so once, and is of use as soon as it is there."""
    with two_charons(tmp_path, tag="l") as (a, b):
        a.box.stop()
        a.wait_for_log("connection to sallyportd")
        a.kill()
        again = Charon(tmp_path / "again", a.space, (a.me, a.other), a.box.path)
        again.box = a.box
        try:
            again.wait_for_log("no connection to sallyportd at .* no SA can be installed")
            a.box.start()
            again.wait_for_log("is there again")
            installed((again, b))
        finally:
            again.kill()
