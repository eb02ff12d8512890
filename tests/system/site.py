# SPDX-License-Identifier: Apache-2.0
"""A management computer, its live box, a host behind the box, and on black a gateway with this
machine's charon and strongSwan's own ESP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.ike.charons import Charon, child, skip_without_strongswan
from tests.support.live_box import BLACK_TAP, BOX, PEER, RED_HOST, RED_TAP, live_box
from tests.support.namespaces import Host
from tests.support.registers import CHIPS, Registers
from tests.support.senders import PING
from tests.system.computer import NET, Computer
from tests.system.disk import image
from tests.system.machine import Machine
from tests.system.processors import Processor
from tests.system.repository import VERSION, Repository
from tests.system.wires import wires

BEHIND_PEER = "10.2.0.1"
NUMBERS = {"trixie": 13, "forky": 14}  # Debian's, of releases
# Sends an echo request every 100 ms until its standard input ends; prints how many it sent, and how
# many of these were answered within 60 s.
STREAM = """
import select, socket, struct, sys, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
answered, number, end = set(), 0, None
due = time.monotonic()
while end is None or (len(answered) < number and time.monotonic() < end):
    if end is None and time.monotonic() >= due:
        due += 0.1
        number += 1
        body = struct.pack("!HH", 78, number)
        total = 0x800 + sum(struct.unpack("!2H", body))
        raw.sendto(struct.pack("!BBH", 8, 0, ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + body, (sys.argv[1], 0))
    ready, _, _ = select.select([raw] + ([sys.stdin] if end is None else []), [], [], 0.02)
    if raw in ready:
        packet = raw.recv(2000)[20:]
        if packet[0] == 0 and packet[4:6] == struct.pack("!H", 78):
            answered.add(packet[6:8])
    if sys.stdin in ready:
        end = time.monotonic() + 60
print(number, len(answered))
"""


@dataclass
class Site:
    """What the tests of a system have in common."""

    processor: Processor
    computer: Computer
    repository: Repository
    peer: Charon
    red: Host
    registers: Path
    folder: Path

    @property
    def packages(self) -> dict[str, str]:
        """The file of each of our packages, by name."""
        arch, number = self.processor.architecture, NUMBERS[self.processor.release]
        return {
            "sallyport-mgmt": f"sallyport-mgmt_{VERSION}_{arch}.deb",
            "sallyport-charon-plugin": f"sallyport-charon-plugin_{VERSION}+deb{number}_{arch}.deb",
        }

    def ping(self, count: int) -> None:
        """From the host behind the box, and to it: every one is answered."""
        for space, to in ((self.red, BEHIND_PEER), (self.peer.space, RED_HOST)):
            assert space.python(PING, to, count) == f"{count}\n", self.computer.sallyctl("counters")

    def connect(self) -> None:
        """Packets of the host have charon make a tunnel, unless there is one."""
        self.computer.wait_for(lambda: self.red.python(PING, BEHIND_PEER, 1) == "1\n")
        self.computer.settle()

    @contextmanager
    def stream(self) -> Iterator[list[int]]:
        """Echo requests for the time of a with block; then the list has how many were sent and how
        many answered."""
        counts: list[int] = []
        command = self.red.command(sys.executable, "-c", STREAM, BEHIND_PEER)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield counts
                said, _ = process.communicate()
                counts += map(int, said.split())
            finally:
                process.kill()

    def remember_the_box(self) -> None:
        """Its neighbours no longer ask who it is. Between two daemons the box does not answer, and
        Linux forgets a neighbour that is silent for 8 s, as a slow machine is."""
        for space, device, port in ((self.red, RED_TAP, 0), (self.peer.space, BLACK_TAP, 1)):
            address, mac = BOX[port]
            space.run("ip", "neigh", "replace", address, "lladdr", mac, "dev", device, "nud", "permanent")

    def reset_chips(self) -> None:
        """As a power cut does to cards: no chip says that it holds a configuration."""
        with Registers(self.registers) as registers:
            for chip in CHIPS:
                registers.write(chip, "scratch", 0)


@contextmanager
def site(processor: Processor, folder: Path) -> Iterator[Site]:
    """All of it, with our packages installed and configured, and no tunnel."""
    skip_without_strongswan()
    system = image(processor)
    lines = f"addr add {BOX[0][0]}/24 dev red\naddr add {BOX[1][0]}/24 dev black\n"
    box = folder / "box0.sock"
    web = folder / "web"
    web.mkdir()
    with live_box(folder, lines=lines) as (_, red, black), wires(box, web) as ports:
        black.run("ip", "route", "del", "10.1.0.0/24")
        black.run("ip", "link", "set", "lo", "up")
        black.run("ip", "addr", "add", f"{BEHIND_PEER}/32", "dev", "lo")
        machine = Machine(processor, system, folder)
        computer = Computer(machine, ports, processor.release)
        made = Site(processor, computer, None, None, red, box, folder)  # type: ignore[arg-type]
        made.repository = Repository(web, *made.packages.values())
        made.peer = Charon(folder, black, (PEER, BOX[1][0]), None)
        try:
            made.peer.load(child("net", 2, 1, NET), "encap = yes")
            seconds = machine.start()
            print(f"{processor.architecture}: Linux {system.version} boots in {seconds:.0f} s")
            computer.apt_install(made.repository.key)
            computer.configure()
            yield made
        finally:
            machine.power_cut()
            made.peer.kill()
