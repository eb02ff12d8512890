# SPDX-License-Identifier: Apache-2.0
"""The daemon's page in headless Chromium: the page's figures of a simulated box against the traffic
sent, and its view of answers made up here."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import pytest

from sallyport.simulator import Simulator
from sallyport.tunnels import FIRST_SPI
from tests.daemon.test_daemon import PACKET, TUNNELS, configure, daemons, stream, trial
from tests.support.browsers import Watched
from tests.support.daemon import Client, Daemon
from tests.support.paths import ROOT

ASSETS = ROOT / "mgmt" / "internal" / "web" / "assets"
ADDRESS = "127.0.0.1:19790"
URL = f"http://{ADDRESS}/"
SCREEN = {"width": 1280, "height": 900}
# Pixels of the colours of both directions' lines, in each plot; where lines lie upon each other the
# last one counts.
DRAWN = """
() => [...document.querySelectorAll("canvas")].map((canvas) => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const style = getComputedStyle(document.documentElement);
  return ["--encrypt", "--decrypt"].map((name) => {
    const wanted = [1, 3, 5].map((at) => parseInt(style.getPropertyValue(name).trim().slice(at, at + 2), 16));
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 255 && wanted.every((value, channel) => data[i + channel] === value)) count += 1;
    }
    return count;
  });
})
"""


def drawn(page) -> list[list[int]]:
    return page.evaluate(DRAWN)


def whole(number: int) -> str:
    return f"{number:,}"


def wait_for_cell(watched: Watched, section: str, text: str) -> None:
    watched.page.wait_for_function(
        "([section, text]) => [...document.querySelectorAll(`#${section} td`)].some(cell => cell.textContent === text)",
        arg=[section, text],
    )


def test_a_box_under_traffic(browser, tmp_path: Path) -> None:
    """From an empty box to tunnels, drops and events; the daemon is killed and comes again."""
    page = f'[web]\nlisten = "{ADDRESS}"'
    with Simulator(boxes=2, threads=None, seed=1) as sim, daemons(sim, tmp_path, 2, page) as each:
        shown = Watched(browser, viewport=SCREEN)
        shown.page.goto(URL)
        shown.page.wait_for_selector("#state.bad >> text=not configured")
        for section, said in (
            ("sas", "No SA"),
            ("policies", "No policy"),
            ("drops", "Nothing"),
            ("events", "No event"),
        ):
            assert shown.page.inner_text(f"#{section} .note").startswith(said)
        lines = [line for box, daemon in enumerate(each) for line in configure(daemon, box)]
        sent = trial(sim)
        carried(shown, sent)
        tampered(sim, each)
        client = Client(each[1].control)
        dropped = client.get("counters")["chips"]["crypto"]["drop_dec_icv"]
        client.close()
        assert dropped > 0
        wait_for_cell(shown, "drops", whole(dropped))
        assert shown.columns("drops")["Counter"] == ["drop_dec_icv"]
        wait_for_cell(shown, "events", "icv")
        assert f"spi 0x{FIRST_SPI:08x}" in shown.columns("events")["What"][-1]
        shown.page.wait_for_function(f"() => ({DRAWN})().every(([one, other]) => one + other > 30)")
        on_a_phone(shown)
        assert shown.errors == []
        assert all(url.startswith(URL) for url in shown.requests)
        told = urllib.request.urlopen(f"{URL}api/box").read().decode() + shown.page.content()
        keys = {key for line in lines for key in re.findall(r"0x([0-9a-f]{32,})", line)}
        assert keys and not any(key[:8] in told for key in keys)

        before = shown.columns("sas")
        each[1].kill()
        shown.page.wait_for_selector("#silence >> text=/No answer from sallyportd since [0-9:]{8}\\. What is shown/")
        assert shown.columns("sas") == before
        each[1].start()
        shown.page.wait_for_selector("#silence", state="hidden")
        for column in ("SPI", "Packets", "Bytes"):
            assert shown.columns("sas")[column] == before[column]
        assert shown.columns("events")["Event"] == []
        assert all("ERR_CONNECTION_REFUSED" in error or "ERR_EMPTY" in error for error in shown.errors)
        sim.command("quit")


def carried(shown: Watched, sent: list[int]) -> None:
    """Box 1 has received way 0, and sent way 1: every packet of either."""
    for count in sent:
        wait_for_cell(shown, "sas", whole(count))
    shown.page.wait_for_selector("#state.good >> text=configured, links up")
    sas = shown.columns("sas")
    of = dict(zip(sas["Direction"], zip(sas["Packets"], sas["Bytes"], strict=True), strict=True))
    assert of == {
        "in": (whole(sent[0]), whole(sent[0] * PACKET)),
        "out": (whole(sent[1]), whole(sent[1] * PACKET)),
    }
    assert set(sas["SPI"]) == {f"0x{FIRST_SPI:08x}"} and set(sas["Suite"]) == {"aes256gcm16"}
    ends = re.search(r"src (\S+) dst (\S+)", TUNNELS.ends(0, 0))
    assert (
        ends
        and (sas["Source"][sas["Direction"].index("in")], sas["Destination"][sas["Direction"].index("in")])
        == ends.groups()
    )
    assert "never" not in sas["Last use"]
    policies = shown.columns("policies")
    assert whole(sent[1]) in policies["Packets"] and "protect" in policies["Action"]
    assert shown.page.inner_text("#now-sas") == "2\n1 out, 1 in"
    chips = shown.page.eval_on_selector_all("#chips article", "all => all.map(each => each.textContent)")
    assert ["ready" in chip and "up" in chip for chip in chips] == [True] * 3
    assert "aes256gcm16" in chips[1]


def tampered(sim: Simulator, each: list[Daemon]) -> None:
    """Box 0 gets another key: its packets come with wrong ICVs."""
    line = next(
        each for each in TUNNELS.batch(0, mtu=9582).splitlines() if TUNNELS.ends(0, 0) in each and "state" in each
    )
    other = re.sub(r"0x[0-9a-f]{64,}", lambda key: "0x" + key[0][:1:-1], line.replace("state add", "state update"))
    client = Client(each[0].control)
    client.get("batch", lines=[other])
    client.close()
    sim.trial(warmup_us=0, measure_us=20, seed=1, streams=[stream(0)])


def on_a_phone(shown: Watched) -> None:
    """Tables scroll inside themselves, and nothing else does, by day and by night."""
    for scheme in ("light", "dark"):
        with shown.shown_on(390, 844, color_scheme=scheme) as page:
            page.wait_for_function("() => document.documentElement.scrollWidth == 390")
            page.wait_for_function("() => [...document.querySelectorAll('canvas')].every(c => c.clientWidth <= 390)")
            assert page.eval_on_selector("#sas .scroll", "place => place.scrollWidth > place.clientWidth")
            page.wait_for_function(f"() => ({DRAWN})().every(([one, other]) => one + other > 10)")
            colours = page.evaluate(
                "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
            )
            text, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
            assert text < 150 < 600 < paper if scheme == "light" else paper < 150 < 600 < text


def chip(name: str, **links: bool) -> dict:
    return {
        "name": name, "version": "0.1.0", "simulation": False, "ready": True, "tamper": False, "links": links,
        "uptime": 90_061_000, "capabilities": {},
    }  # fmt: skip


BAD = '<img src=x onerror="document.title=1">'
LOAD, HALF = ({"bits": 98_765_432_100.0 / n, "frames": 148_800_000.0 / n} for n in (1, 2))
NONE = dict.fromkeys(("red_in", "red_out", "black_in", "black_out", "drops_encrypt", "drops_decrypt"))
FULL = {
    "red_in": LOAD, "red_out": HALF, "black_in": HALF, "black_out": LOAD, "drops_encrypt": 12.0, "drops_decrypt": 0.5,
}  # fmt: skip
USED = {"packets": "18446744073709551615", "bytes": "9007199254740993", "last_use": 0}
ANSWER = {
    "daemon": BAD, "configured": True, "sas": {"out": 65536, "in": 65536}, "policies": {"out": 1}, "fresh": True, "next": "a-9",
    "chips": [chip("inner", crypto=True), chip("crypto", inner=True, outer=False), chip("outer", crypto=True) | {"ready": False}],
    "sa_list": [{
        "dir": "out", "src": "2001:db8::1", "dst": BAD, "spi": "0xffffffff", "reqid": 1, "mode": "tunnel",
        "suite": "sm4gcm16", "udp": "", "added": 0, **USED,
    }],
    "policy_list": [{"dir": "in", "selector": BAD, "action": "block", "priority": 4294967295, "tunnel": ""}],
    "drops": [{"chip": "inner", "name": BAD, "path": "encrypt", "total": "18446744073709551615", "rate": None}],
    "points": [{"n": n, "at": 1_800_000_000_000 + 10_000 * n} | (NONE if n in (3, 4) else FULL) for n in range(1, 9)],
    "events": [{"n": 9, "at": 1_800_000_000_000, "kind": "audit", "text": BAD}],
}  # fmt: skip
KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@pytest.fixture
def made_up(browser) -> Watched:
    """The page with the answer above, and afterwards what changes about it."""
    shown = Watched(browser, viewport=SCREEN)
    answers = [ANSWER]

    def serve(route) -> None:
        path = route.request.url.removeprefix(URL).split("?")[0] or "index.html"
        if path == "api/box":
            route.fulfill(json=answers[-1])
            answers.append(ANSWER | {"fresh": False, "points": [], "events": []})
        else:
            route.fulfill(body=(ASSETS / path).read_bytes(), content_type=KINDS[path.rpartition(".")[2]])

    shown.page.route("**/*", serve)
    shown.page.goto(URL)
    shown.page.wait_for_selector("#sas td")
    return shown


def test_what_a_box_may_say(made_up: Watched) -> None:
    """Names stay text, counts of 64 bits keep each digit, unknown values are a dash and a gap, and
    faults stand at the top."""
    page = made_up.page
    assert page.query_selector("img") is None and page.title() == "Sallyport"
    assert page.inner_text("#daemon") == f"sallyportd {BAD}"
    assert page.inner_text("#state") == "crypto chip has no link to outer, outer chip not ready"
    assert (
        made_up.columns("sas")["Destination"]
        == made_up.columns("policies")["Selector"]
        == made_up.columns("events")["What"]
        == [BAD]
    )
    sas = made_up.columns("sas")
    assert (sas["Packets"], sas["Bytes"], sas["Last use"], sas["Added"], sas["UDP ports"]) == (
        ["18,446,744,073,709,551,615"], ["9,007,199,254,740,993"], ["never"], ["—"], ["—"],
    )  # fmt: skip
    assert page.inner_text("#sas .note") == "These are the first 1 of 131,072; sallyctl lists all."
    assert page.inner_text("#policies .note") == ""
    assert made_up.columns("policies")["Packets"] == ["—"]
    assert (made_up.columns("drops")["Packets"], made_up.columns("drops")["Now"]) == (
        ["18,446,744,073,709,551,615"],
        ["—"],
    )
    assert page.inner_text("#now-encrypt") == "98.8 Gbit/s\n149 Mpps"
    assert page.inner_text("#now-drops") == "12.5 pps\n18,446,744,073,709,551,615 since reset"
    assert page.inner_text("#now-sas") == "131,072\n65,536 out, 65,536 in"
    assert "1 d 1 h" in page.inner_text("#chips article >> nth=0")
    pixels = drawn(page)
    assert all(count > 5 for plot in pixels for count in plot)
    # The second answer adds nothing, and so takes nothing away.
    page.wait_for_timeout(1500)
    assert drawn(page) == pixels and made_up.columns("events")["What"] == [BAD]
    assert made_up.errors == []


def test_a_hidden_page_asks_for_nothing(made_up: Watched) -> None:
    page = made_up.page
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => window.away, configurable: true}); window.away = true"
    )
    page.wait_for_timeout(2500)
    asked = len(made_up.requests)
    page.wait_for_timeout(2500)
    assert len(made_up.requests) == asked
    with page.expect_request("**/api/box*"):
        page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
