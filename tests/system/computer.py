# SPDX-License-Identifier: Apache-2.0
"""A management computer whose chips are those of a simulated box: our packages by apt, and what an
administrator writes."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable
from pathlib import Path

from tests.ike.charons import SWANCTL, child
from tests.peers.guest import WAIT_S
from tests.support.live_box import BOX, PEER, RED_HOST, RED_HOST_MAC
from tests.system.machine import Machine
from tests.system.wires import Ports

PACKAGES = ("sallyport-mgmt", "sallyport-charon-plugin")
SERVICES = ("sallyportd", "strongswan")
CONTROL = "/run/sallyport/control.sock"
NET = "esp_proposals = aes256gcm16-noesn"
# They stand for the cards: the daemon's unit knows no socket of a simulator.
SOCKETS = """[Unit]
Description=Sockets of the simulated box

[Service]
ExecStart=/usr/bin/python3 /usr/local/lib/guest_sockets.py /run/box {registers} {frames}
ExecStartPost=/bin/sh -c 'until [ -S /run/box/box0.sock ] && [ -S /run/box/box0.frames ]; do sleep 0.1; done'
RuntimeDirectory=box
RuntimeDirectoryMode=0777
"""
DROP_IN = """[Unit]
Requires=box-sockets.service
After=box-sockets.service

[Service]
ReadWritePaths=/run/box
"""
DAEMON = """registers = "unix:/run/box/box0.sock"
saved = "/var/lib/sallyport/saved"

[taps]
red = "sp-red"
black = "sp-black"
"""
TAP = """[Match]
Name={name}

[Network]
Address={address}/24
LinkLocalAddressing=no
IPv6AcceptRA=no
ConfigureWithoutCarrier=yes

[Link]
RequiredForOnline=no
"""
LINES = f"""addr add {BOX[0][0]}/24 dev red
addr add {BOX[1][0]}/24 dev black
neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red
route add 10.2.0.0/16 via {PEER} dev black
"""


class Computer:
    """What an administrator does on it."""

    def __init__(self, machine: Machine, ports: Ports, suite: str) -> None:
        self.machine, self.ports, self.suite = machine, ports, suite

    def write(self, path: str, text: str) -> None:
        self.run(f"mkdir -p $(dirname {path})\ncat > {path} <<'END OF FILE'\n{text}END OF FILE\n")

    def run(self, commands: str, seconds: int = WAIT_S) -> str:
        return self.machine.run(commands, seconds)

    def apt_install(self, key: bytes) -> None:
        """The packages from our repository, which is the only one that apt knows."""
        self.run(f"base64 -d > /etc/apt/keyrings/sallyport.gpg <<'EOF'\n{_base64(key)}EOF")
        url = f"http://10.0.2.2:{self.ports.http}/apt"
        source = f"deb [signed-by=/etc/apt/keyrings/sallyport.gpg] {url} {self.suite} main\n"
        self.run("rm -rf /etc/apt/sources.list /etc/apt/sources.list.d; mkdir /etc/apt/sources.list.d")
        self.write("/etc/apt/sources.list.d/sallyport.list", source)
        self.upgrade(*PACKAGES)

    def upgrade(self, *packages: str) -> None:
        self.run("apt-get -q update", 600)
        self.run(f"DEBIAN_FRONTEND=noninteractive apt-get -qy install {' '.join(packages)}", 900)

    def configure(self) -> None:
        """The daemon's file, addresses of its devices, the box's own configuration, one connection;
        then both services run, now and after a boot."""
        self.write("/usr/local/lib/guest_sockets.py", Path(__file__).with_name("guest_sockets.py").read_text())
        units = "/etc/systemd/system"
        self.write(f"{units}/box-sockets.service", SOCKETS.format(**vars(self.ports)))
        self.write(f"{units}/sallyportd.service.d/simulated.conf", DROP_IN)
        self.write("/etc/sallyport/sallyportd.toml", DAEMON)
        for port, name in enumerate(("sp-red", "sp-black")):
            self.write(f"/etc/systemd/network/{name}.network", TAP.format(name=name, address=BOX[port][0]))
        self.write("/etc/strongswan.d/no-routes.conf", "charon-systemd {\n install_routes = no\n}\n")
        words = {"me": BOX[1][0], "other": PEER, "auth": "psk", "certificate": "", "options": "encap = yes"}
        children = child("net", 1, 2, f"{NET}\n start_action = trap")
        self.write("/etc/swanctl/conf.d/site.conf", SWANCTL.format(**words, children=children))
        self.run(
            "systemctl daemon-reload; systemctl restart systemd-networkd; systemctl enable --now sallyportd.service",
            600,
        )
        self.write("/root/box.conf", LINES)
        self.sallyctl("config load /root/box.conf")
        self.sallyctl("config save")
        self.run("systemctl restart strongswan.service")

    def sallyctl(self, words: str) -> str:
        return self.run(f"sallyctl --daemon {CONTROL} {words}")

    def spis(self) -> set[str]:
        return set(re.findall("spi (0x[0-9a-f]{8})", self.sallyctl("xfrm state list")))

    def wait_for(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < end, self.run("journalctl -b -n 80 --no-pager")
            time.sleep(1)

    def settle(self) -> None:
        """Until the services run, and the box has a tunnel and knows the peer's station."""
        self.wait_for(lambda: len(self.spis()) == 2)
        self.wait_for(lambda: f"{PEER} dev black lladdr" in self.sallyctl("neigh show"))

    def active(self) -> list[str]:
        """What systemd says of each service."""
        return self.run(f"systemctl is-active {' '.join(SERVICES)} || true").split()


def _base64(data: bytes) -> str:
    return base64.encodebytes(data).decode()
