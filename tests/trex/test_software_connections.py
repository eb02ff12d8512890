# SPDX-License-Identifier: Apache-2.0
"""Tests of connections with a real TRex in software: through a cable, and through the RTL of two
boxes between its ports; where TREX names a TRex release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support.namespaces import PREFIX, Host, hosts, live, skip_without_taps
from tests.support.paths import ROOT
from tests.trex.software import CONFIG, LAB, STATEFUL_START, client, measured, release, running

PORTS = (f"{PREFIX}a", f"{PREFIX}b")
MACS = [f"02:00:00:00:01:0{number}" for number in (0, 1)]
RED_MACS = ("02:72:0a:09:00:01", "02:72:0a:09:01:01")  # of the boxes below
KEYS = ("11" * 36, "22" * 36)  # examples and no secret


def box(number: int) -> str:
    """The configuration of a box: a tunnel between the networks of clients and of servers."""
    other = 1 - number
    here, there = (f"192.0.2.{which + 1}" for which in (number, other))
    state = 'proto esp spi 0x{0}001 reqid {0} mode tunnel replay-window 1024 aead "rfc4106(gcm(aes))" 0x{1} 128'
    return f"""link set dev black mtu 1500
addr add 10.9.{number}.1/24 dev red
addr add {here}/24 dev black
neigh add {there} lladdr 02:62:c0:00:02:0{other + 1} dev black
xfrm state add src {here} dst {there} {state.format(number + 1, KEYS[number])}
xfrm state add src {there} dst {here} {state.format(other + 1, KEYS[other])}
xfrm policy add src 198.1{8 + number}.0.0/16 dst 198.1{8 + other}.0.0/16 dir out \\
  tmpl src {here} dst {there} proto esp reqid {number + 1} mode tunnel
xfrm policy add src 198.1{8 + other}.0.0/16 dst 198.1{8 + number}.0.0/16 dir fwd \\
  tmpl src {there} dst {here} proto esp reqid {other + 1} mode tunnel
"""


def written(folder: Path, trex: Path, next_hops: tuple[str, ...]) -> None:
    (config,) = yaml.safe_load(CONFIG)
    (folder / "trex_cfg.yaml").write_text(yaml.safe_dump([config | {"interfaces": list(PORTS)}]))
    lab = yaml.safe_load(re.sub(r"client: .*", f"client: {client(trex)}", LAB))
    for end, mac in zip(lab["boxes"], next_hops, strict=True):
        end["red"]["next_hop"] = mac
    (folder / "lab.yaml").write_text(yaml.safe_dump(lab))


def by_figure(host: Host, folder: Path, *options: object) -> dict[str, dict]:
    """The rows of one command by the names of their figures."""
    return {row["figure_name"]: row for row in measured(host, folder / "lab.yaml", *options)}


@pytest.mark.parametrize("ip", [4, 6])
def test_connections_through_a_cable(tmp_path: Path, ip: int) -> None:
    """All are served, and their frames take of the wire what the arithmetic says."""
    trex = release()
    skip_without_taps()
    written(tmp_path, trex, (MACS[1], MACS[0]))
    with hosts("trex") as (host,):
        host.run("ip", "link", "set", "lo", "up")
        host.run("ip", "link", "add", PORTS[0], "type", "veth", "peer", "name", PORTS[1])
        for port, mac in zip(PORTS, MACS, strict=True):
            host.run("ip", "link", "set", port, "address", mac, "up")
        with running(host.name, trex, tmp_path, STATEFUL_START):
            load = ("--load", "0.1", "--measure-us", 2_000_000, "--warmup-us", 500_000, "--ip", ip)
            rows = by_figure(host, tmp_path, "--test", "http-connections", *load)
    assert all(row["passed"] and row["trials"] == 1 for row in rows.values()), rows
    (connections, failed) = (rows[name]["figure"] for name in ("connections", "connections failed"))
    assert failed == 0 and connections == pytest.approx(
        10e9 * 0.001 / 8 / (1124 + 4 * (70 + 20 * (ip == 6) + 20)), rel=0.05
    )


def test_a_real_trex_fetches_objects_through_two_simulated_boxes(tmp_path: Path) -> None:
    """Each byte is counted by the client, through AES-GCM tunnels both ways."""
    trex = release()
    skip_without_taps()
    written(tmp_path, trex, RED_MACS)
    files = [tmp_path / f"box{number}.xfrm" for number in (0, 1)]
    for number, file in enumerate(files):
        file.write_text(box(number))
    taps = [word for port in PORTS for word in ("--red-tap", port)] + ["--socket-dir", tmp_path]
    configured = [word for file in files for word in ("--xfrm", file)]
    with hosts("trex") as (host,), live("--crypto", "model", *configured, *taps):
        host.run("ip", "link", "set", "lo", "up")
        for number, port in enumerate(PORTS):
            host.take(port)
            ctl = (ROOT / "build/bin/sallyctl", "--socket", tmp_path / f"box{number}.sock")
            host.run(*ctl, "next-hop", "default", "dev", "red", "lladdr", MACS[number])
        with running(host.name, trex, tmp_path, STATEFUL_START):
            load = ("--load", "0.001", "--measure-us", 10_000_000, "--warmup-us", 4_000_000)
            rows = by_figure(host, tmp_path, "--test", "http-connections", "--frame-size", 576, *load)
    assert all(row["passed"] for row in rows.values()), rows
    assert rows["connections"]["figure"] > 1 and rows["connections failed"]["figure"] == 0
    assert rows["connections"]["lost"] == 0
