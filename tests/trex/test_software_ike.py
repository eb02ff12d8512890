# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/lab-ike.md with a real TRex in software, two of Debian's charons, and the RTL of two
boxes between TRex's ports: where TREX names a TRex release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from sallyport.ike.charon import NO_COOKIES, Charon
from sallyport.ike.tunnels import FRAMES
from sallyport.simulator import program
from tests.ike.charons import skip_without_strongswan
from tests.support.daemon import Daemon
from tests.support.managed import DEVICES, TAPS
from tests.support.namespaces import PREFIX, Host, hosts, live
from tests.trex.software import CONFIG, LAB, client, measured, release, running

PORTS = (f"{PREFIX}a", f"{PREFIX}b")
MACS = [f"02:00:00:00:01:0{number}" for number in (0, 1)]
# Of the boxes, by their addresses.
RED_MACS = ("02:72:0a:09:00:01", "02:72:0a:09:01:01")
BLACK_MACS = ("02:62:c0:00:02:01", "02:62:c0:00:02:02")
# Requests wait for simulated chips.
TIMERS = "retransmit_timeout = 20"
# Stands for OpenSSH's client: the command of a box runs here, with that box's programs.
SSH = """#!/bin/bash
host="${{@: -2:1}}"
export PATH="{folder}/${{host##*.}}:$PATH"
[ "$1" != -tt ] || exec script -qfec "${{@: -1}}" /dev/null
exec sh -c "${{@: -1}}"
"""


def box(number: int) -> str:
    """The configuration of a box without a tunnel."""
    other = 1 - number
    return f"""link set dev black mtu 1500
addr add 10.9.{number}.1/24 dev red
addr add 192.0.2.{number + 1}/24 dev black
neigh add 192.0.2.{other + 1} lladdr {BLACK_MACS[other]} dev black
"""


def written(folder: Path, trex: Path) -> Path:
    """The files of TRex and the lab file; the programs of box N are in folder 2N + 1 of ssh's."""
    (config,) = yaml.safe_load(CONFIG)
    (folder / "trex_cfg.yaml").write_text(yaml.safe_dump([config | {"interfaces": list(PORTS)}]))
    (folder / "ssh").write_text(SSH.format(folder=folder))
    (folder / "ssh").chmod(0o755)
    lab = yaml.safe_load(re.sub(r"client: .*", f"client: {client(trex)}", LAB))
    for number, end in enumerate(lab["boxes"]):
        end["red"]["next_hop"] = RED_MACS[number]
        end |= {"management": f"192.0.2.{21 + number}", "ssh": {}}
    (folder / "lab.yaml").write_text(yaml.safe_dump(lab))
    return folder / "lab.yaml"


def programs(folder: Path, number: int, daemon: Daemon, charon: Charon) -> None:
    """What ssh finds at a box."""
    (there := folder / str(21 + number)).mkdir()
    (there / "swanctl.conf").write_text("")
    swanctl = f'exec env SWANCTL_DIR={there} /usr/sbin/swanctl "$@" --uri unix://{charon.folder}/vici'
    sallyctl = f'exec {program("sallyctl")} --daemon {daemon.control} "$@"'
    for name, command in (("swanctl", swanctl), ("sallyctl", sallyctl)):
        (there / name).write_text(f"#!/bin/sh\n{command}\n")
        (there / name).chmod(0o755)


@contextmanager
def gateways(folder: Path, spaces: list[Host]) -> Iterator[None]:
    """A daemon and a charon for each box, in namespaces that have the boxes' addresses."""
    with ExitStack() as ends:
        for number, space in enumerate(spaces):
            daemon = Daemon(folder / f"box{number}.sock", folder / f"daemon{number}", None, TAPS, space)
            daemon.start()
            ends.callback(daemon.kill)
            for device, address in zip(DEVICES, (f"10.9.{number}.1", f"192.0.2.{number + 1}"), strict=True):
                space.run("ip", "addr", "add", f"{address}/24", "dev", device)
            charon = Charon(folder / f"charon{number}", space, daemon.control, TIMERS, NO_COOKIES)  # type: ignore[arg-type]
            ends.callback(charon.kill)
            programs(folder, number, daemon, charon)
            assert daemon.sallyctl("next-hop", "default", "dev", "red", "lladdr", MACS[number]).returncode == 0
        yield


def test_a_real_trex_and_real_charons_measure_ike(tmp_path: Path) -> None:
    """Tunnels through both boxes' chips, the first packet, and rekeys under load."""
    trex = release()
    skip_without_strongswan()
    lab = written(tmp_path, trex)
    files = [tmp_path / f"box{number}.xfrm" for number in (0, 1)]
    for number, file in enumerate(files):
        file.write_text(box(number))
    taps = [word for port in PORTS for word in ("--red-tap", port)] + ["--socket-dir", tmp_path]
    configured = [word for file in files for word in ("--xfrm", file)]
    with hosts("trex", "ga", "gb") as (host, *spaces), live("--crypto", "model", *configured, *taps):
        host.run("ip", "link", "set", "lo", "up")
        for port in PORTS:
            host.take(port)
        for space in spaces:
            space.run("ip", "link", "set", "lo", "up")
        with gateways(tmp_path, spaces), running(host.name, trex, tmp_path):
            tests = ("--test", "ike", "--ike-tunnels", 2, "--trials", 1)
            rows = measured(host, lab, *tests, "--load", "0.001", "--measure-us", 10_000_000)
    by_figure = {row["figure_name"]: row for row in rows}
    assert all(row["checks"] == [] for row in rows), rows
    made, first, rekeys = (by_figure[name] for name in ("tunnels set up", "first packet", "rekeys"))
    assert (made["passed"], made["tx_frames"], made["lost"]) == (True, 2 * 2 * FRAMES, 0)
    assert (
        first["figure"] == pytest.approx(1000 * first["lost"] / first["intended_fps"], rel=1e-3) and first["lost"] > 0
    )
    assert by_figure["IKE and its SAs"]["figure"] > 0
    assert (rekeys["passed"], rekeys["lost"], by_figure["blocked"]["figure"]) == (True, 0, 0)
