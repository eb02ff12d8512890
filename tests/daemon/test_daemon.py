# SPDX-License-Identifier: Apache-2.0
"""Daemons configure two boxes through their control sockets. They are killed and come again under
traffic, and the packets do not show it."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether

from sallyport import suites
from sallyport.backend import Setup
from sallyport.errors import CheckFailed
from sallyport.simulator import TESTER_MAC, Simulator, program
from sallyport.tunnels import FIRST_SPI, Tunnels
from tests.support.daemon import Client, Daemon
from tests.support.frames import read_frames

TUNNELS = Tunnels(Setup({}, suites.parse("aes256gcm16")))
SIZE = 256
PACKET = SIZE - 18  # without Ethernet's header and FCS


@contextmanager
def daemons(sim: Simulator, folder: Path, boxes: int, more: str = "") -> Iterator[list[Daemon]]:
    """A daemon a box, started, the last with `more` in its configuration; they are gone afterwards,
    whatever happens."""
    each = [
        Daemon(sim.socket(box), folder / f"box{box}", box, more if box == boxes - 1 else "") for box in range(boxes)
    ]
    try:
        for daemon in each:
            daemon.start()
        yield each
    finally:
        for daemon in each:
            daemon.kill()


def configure(daemon: Daemon, box: int) -> list[str]:
    """Both tunnels, and the tester as next hop of all else; the lines of the batch."""
    lines = TUNNELS.batch(box, mtu=9582).splitlines()
    client = Client(daemon.control)
    client.get("batch", lines=lines)
    for device, mac in TESTER_MAC.items():
        client.get("command", words=["next-hop", "default", "dev", device, "lladdr", mac])
        client.get("command", words=["link", "set", "dev", device, "promisc", "on"])
    client.close()
    return lines


def stream(way: int) -> dict:
    flow = TUNNELS.flow(way, 0)
    addresses = {"src_ip": str(flow.src), "dst_ip": str(flow.dst), "src_port": flow.src_port, "dst_port": flow.dst_port}
    ends = {"from": f"box{way}.red", "to": f"box{1 - way}.red"}
    return {"id": way, **ends, "load_pct": 20, "frame_size": SIZE, "flows": addresses}


def trial(sim: Simulator, measure_us: int = 40, **more: object) -> list[int]:
    """A trial both ways that loses nothing; gives how many packets each way had."""
    answer = sim.trial(warmup_us=10, measure_us=measure_us, seed=1, streams=[stream(0), stream(1)], **more)
    assert answer["passed"], answer
    return [row["tx_frames_total"] for row in answer["streams"]]


def state(daemon: Daemon, way: int) -> dict:
    """What query-state says of the SA of a direction."""
    words = dict(re.findall(r"(src|dst|proto) (\S+)", TUNNELS.ends(way, 0)))
    client = Client(daemon.control)
    answer = client.get("query-state", **words, spi=FIRST_SPI)
    client.close()
    return answer


def listed(daemon: Daemon) -> tuple[list[str], list[str]]:
    client = Client(daemon.control)
    states, policies = (client.get("list", what=what)["items"] for what in ("state", "policy"))
    client.close()
    return states, policies


def test_a_daemon_is_killed_under_traffic_and_comes_again(tmp_path: Path) -> None:
    """What its boxes forward, and how often they did, is the same as without that; keys stay on the
    chips and nowhere else."""
    captures = [tmp_path / f"black{box}.pcapng" for box in (0, 1)]
    with Simulator(boxes=2, threads=None, seed=1) as sim, daemons(sim, tmp_path, 2) as each:
        lines = [line for box, daemon in enumerate(each) for line in configure(daemon, box)]
        for box, capture in enumerate(captures):
            sim.command("capture", port=f"box{box}.black", direction="out", file=str(capture))
        began = int(time.time())
        before = [listed(daemon) for daemon in each]
        assert all(len(states) == 2 and len(policies) >= 2 for states, policies in before)
        sent = trial(sim)
        for way in (0, 1):
            for daemon in (each[way], each[1 - way]):
                answer = state(daemon, way)
                assert (answer["packets"], answer["bytes"]) == (sent[way], sent[way] * PACKET)
                assert answer["add_time"] <= began <= answer["use_time"] <= time.time()

        back: list[float] = []

        def crash() -> None:
            for daemon in each:
                daemon.kill()
                daemon.start()
            back.append(time.monotonic())

        # Registers are served while packets are on their way.
        crashing = threading.Thread(target=crash)
        crashing.start()
        more = trial(sim, 200, registers="live")
        ended = time.monotonic()
        crashing.join()
        assert back[0] < ended, "the daemons did not come again in time"
        total = [a + b for a, b in zip(sent, more, strict=True)]
        assert [listed(daemon) for daemon in each] == before
        last = trial(sim)
        total = [a + b for a, b in zip(total, last, strict=True)]
        for box, daemon in enumerate(each):
            client = Client(daemon.control)
            counters = client.get("counters")["chips"]
            printed = json.loads(daemon.sallyctl("counters", "--json", "--check").stdout)
            assert {**counters, "conservation": printed["conservation"]} == printed
            assert counters["inner"]["tx_protect"] == state(daemon, box)["packets"] == total[box]
            assert state(daemon, 1 - box)["packets"] == state(daemon, 1 - box)["seq"] == total[1 - box]
            metrics = daemon.metrics()
            assert metrics['sallyport_tx_protect_total{chip="inner",kind="sent",path="encrypt"}'] == total[box]
            assert (metrics['sallyport_sas{dir="in"}'], metrics['sallyport_sas{dir="out"}']) == (1, 1)
            client.close()
            assert "adopted what the chips hold" in daemon.log()
            assert daemon.stop() == 0
            assert not daemon.control.exists()
            assert "the daemon ends" in daemon.log()
        sim.command("quit")
    for way, capture in enumerate(captures):
        numbers = [(packet[ESP].spi, packet[ESP].seq) for packet in map(Ether, read_frames(capture))]
        assert numbers == [(FIRST_SPI, number) for number in range(1, total[way] + 1)]
    keys = {key for line in lines for key in re.findall(r"0x([0-9a-f]{32,})", line)}
    assert keys
    for daemon in each:
        for key in keys:
            assert key[:8] not in daemon.log()


def test_one_writer(tmp_path: Path) -> None:
    """While a daemon has a box no other program reaches it, and sallyctl does the same through the
    daemon as it does without one."""
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        sim.sallyctl(0, "addr", "add", "192.0.2.1/24", "dev", "black")
        with daemons(sim, tmp_path, 1) as (daemon,):
            for arguments in (["id"], ["counters"], ["addr", "show"], ["events"]):
                with pytest.raises(
                    CheckFailed, match=f"sallyportd has this box: use sallyctl --daemon {daemon.control},"
                ):
                    sim.sallyctl(0, *arguments)
            # adopted from sallyctl
            assert "192.0.2.1/24 dev black" in daemon.sallyctl("addr", "show").stdout
            batch = tmp_path / "batch"
            batch.write_text("addr add 10.1.0.1/24 dev red\nroute add 10.2.0.0/16 via 192.0.2.9 dev frob\n")
            refused = daemon.sallyctl("-batch", batch)
            assert (refused.returncode, refused.stdout) == (2, "")
            assert refused.stderr.startswith(f"{batch}:2: ") and refused.stderr.count("\n") == 1
            batch.write_text("addr add 10.1.0.1/24 dev red\n")
            assert daemon.sallyctl("-batch", batch).returncode == 0
            assert daemon.sallyctl("events").returncode == 2
            assert daemon.stop() == 0
        assert "10.1.0.1/24 dev red" in sim.sallyctl(0, "addr", "show")
        sim.command("quit")


def test_an_spi_is_promised_once_and_events_come_as_they_happen(tmp_path: Path) -> None:
    with Simulator(boxes=2, threads=None, seed=1) as sim, daemons(sim, tmp_path, 2) as each:
        client = Client(each[1].control)
        ends = {"src": "192.0.2.1", "dst": "192.0.2.2"}
        spis = [client.get("alloc-spi", **ends, min=FIRST_SPI, max=FIRST_SPI + 1)["spi"] for _ in range(2)]
        assert sorted(spis) == [FIRST_SPI, FIRST_SPI + 1]
        assert "is free" in client.ask("alloc-spi", **ends, min=FIRST_SPI, max=FIRST_SPI + 1)["error"]
        for box, daemon in enumerate(each):
            configure(daemon, box)
        # An SA of box 0 that may carry ten packets, and says so after five.
        line = next(
            line for line in TUNNELS.batch(0, mtu=9582).splitlines() if TUNNELS.ends(0, 0) in line and "state" in line
        )
        monitors = [Client(daemon.control) for daemon in each]
        for monitor in monitors:
            monitor.get("monitor")
        limited = line.replace("state add", "state update") + " limit packet-soft 5 limit packet-hard 10"
        other_key = re.sub(r"0x[0-9a-f]{64,}", lambda key: "0x" + key[0][:1:-1], limited)
        updating = Client(each[0].control)
        updating.get("batch", lines=[other_key])
        updating.close()
        sim.trial(warmup_us=0, measure_us=40, seed=1, streams=[stream(0)])
        events = [monitors[0].next() for _ in range(2)]
        for event, hard in zip(events, (False, True), strict=True):
            assert (event["event"], event["spi"], event["hard"], event["limit"]) == (
                "expire",
                FIRST_SPI,
                hard,
                "packets",
            )
        # The peer does not have the new key. Its drops one behind the other are one event.
        event = monitors[1].next()
        assert (event["event"], event["spi"], event["reason"], event["count"]) == ("icv", FIRST_SPI, "dec_icv", 1)
        dropped = client.get("counters")["chips"]["crypto"]["drop_dec_icv"]
        assert dropped == 10
        for each_client in (client, *monitors):
            each_client.close()
        sim.command("quit")


def test_an_sa_ends_at_its_time(tmp_path: Path) -> None:
    """By the machine's own clock: a warning, then the SA is gone from the chips, and its
    traffic stops."""
    with Simulator(boxes=2, threads=None, seed=1) as sim, daemons(sim, tmp_path, 2) as each:
        for box, daemon in enumerate(each):
            configure(daemon, box)
        assert sum(trial(sim)) > 0
        line = next(line for line in TUNNELS.batch(0, mtu=9582).splitlines() if TUNNELS.ends(0, 0) in line)
        client, monitor = Client(each[0].control), Client(each[0].control)
        monitor.get("monitor")
        # Numbers begin again, so the box takes no key that it had before.
        fresh = re.sub(r"0x([0-9a-f]{32,})", lambda key: "0x" + key[1][::-1], line.replace("state add", "state update"))
        # Time between them: a daemon that a busy machine keeps waiting tells of the hard one alone.
        limited = f"{fresh} limit time-soft 1 limit time-hard 6"
        client.get("batch", lines=[limited])
        for hard in (False, True):
            event = monitor.next()
            assert (event["event"], event["spi"], event["hard"], event["limit"]) == ("expire", FIRST_SPI, hard, "time")
        assert client.get("command", words=["xfrm", "state", "count"])["output"] == "\t SAD count 1\n"
        (row,) = sim.trial(warmup_us=0, measure_us=10, seed=1, streams=[stream(0)])["streams"]
        inner = client.get("counters")["chips"]["inner"]
        # The policy is still there, and asks for an SA; its group has a policer.
        assert row["rx_frames_total"] == 0
        assert inner["punt_policy"] + inner["drop_punt_other"] == row["tx_frames_total"] > 0
        for connection in (client, monitor):
            connection.close()
        sim.command("quit")


def test_a_reset_under_the_daemon(tmp_path: Path) -> None:
    """The chips' own reset, under traffic: the daemon gives them back all but the SAs and tells so;
    with new ones, which is all that IKE would bring, nothing is lost."""
    with Simulator(boxes=2, threads=None, seed=1) as sim, daemons(sim, tmp_path, 2) as each:
        for box, daemon in enumerate(each):
            configure(daemon, box)
        monitor, client = Client(each[0].control), Client(each[0].control)
        monitor.get("monitor")

        def written() -> list[str]:
            return [
                each[0].sallyctl(*words).stdout for words in (["addr", "show"], ["link", "show"], ["xfrm", "policy"])
            ]

        def reset() -> dict[str, float]:
            sim.command("reset", box=0)
            # links between chips go down and come up, too
            while monitor.next()["event"] != "restart":
                pass
            return {}

        before = written()
        sim.trial(reset, warmup_us=10, measure_us=20, seed=1, streams=[stream(0), stream(1)], software_after_us=20)
        assert written() == before and "tmpl src" in before[2]
        assert client.get("list", what="state")["items"] == []
        new = [state for way in (0, 1) for state in TUNNELS.states(way, generation=1)]
        for daemon in reversed(each):
            adding = Client(daemon.control)
            adding.get("batch", lines=new)
            adding.close()
        assert min(trial(sim)) > 0
        for connection in (client, monitor):
            connection.close()
        sim.command("quit")


def test_tamper_under_the_daemon(tmp_path: Path) -> None:
    """While the tamper input is active the daemon shows no SA and changes nothing; then the box has
    all but its SAs again, and with new ones it forwards."""
    with Simulator(boxes=2, threads=None, seed=1) as sim, daemons(sim, tmp_path, 2) as each:
        for box, daemon in enumerate(each):
            configure(daemon, box)
        policies = listed(each[0])[1]
        monitor, client = Client(each[0].control), Client(each[0].control)
        monitor.get("monitor")
        sim.command("tamper", box=0, on=True)
        sim.command("idle", cycles=100)
        assert listed(each[0]) == ([], [])
        refused = client.ask("command", words=["xfrm", "policy", "flush"])
        assert not refused["ok"] and not refused["input"] and "has erased its keys" in refused["error"]
        sim.command("tamper", box=0, on=False)
        told = []
        while not told or told[-1]["event"] != "restart":
            told.append(monitor.next())
        assert {"event": "tamper", "chip": "crypto", "ok": False} in told
        assert listed(each[0]) == ([], policies)
        new = [state for way in (0, 1) for state in TUNNELS.states(way, generation=1)]
        for daemon in reversed(each):
            adding = Client(daemon.control)
            adding.get("batch", lines=new)
            adding.close()
        assert min(trial(sim)) > 0
        for connection in (client, monitor):
            connection.close()
        sim.command("quit")


def test_bad_input(tmp_path: Path) -> None:
    """A mistake in the configuration is one sentence with its line, and exit status 2."""
    daemon = Daemon(tmp_path / "none.sock", tmp_path / "d")

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [program("sallyportd"), "--config", str(daemon.config), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    assert run("--check-config") == (0, "")
    status, text = run()
    assert status == 1 and "cannot reach the simulator" in text and text.count("\n") == 1
    good = daemon.config.read_text()
    for wrong, line, reason in (
        ("poll = 1", 2, 'there is no key "poll"'),
        ('state = "x"', 2, '"x" is not an absolute path'),
        ('initial_batch = "/none"', 0, "cannot read the initial batch /none: no such file or directory"),
    ):
        daemon.config.write_text(good.replace("\n\n", f"\n{wrong}\n", 1))
        place = f"{daemon.config}:{line}: " if line else ""
        assert run("--check-config") == (2, f"{place}{reason}\n")
    batch = tmp_path / "initial"
    batch.write_text("addr add 192.0.2.1/24 dev black\nfrob\n")
    batch.chmod(0o600)
    daemon.config.write_text(good.replace("\n\n", f'\ninitial_batch = "{batch}"\n', 1))
    status, text = run("--check-config")
    assert status == 2 and text.startswith(f"{batch}:2: ") and text.count("\n") == 1
    daemon.config.unlink()
    assert run() == (2, f"cannot read the configuration {daemon.config}: no such file or directory\n")
