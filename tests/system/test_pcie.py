# SPDX-License-Identifier: Apache-2.0
"""Cards on a bus that Linux drives: the simulated box in its shells, in slots of a guest's PCI
Express. sallyportd in the guest reaches it as on a server, by BAR 0 of the crypto card."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.peers.guest_image import image
from tests.support.live_box import BLACK_TAP, BOX, PEER, PEER_MAC, RED_HOST, RED_HOST_MAC, RED_TAP
from tests.support.namespaces import WAIT_S, Host, hosts, live, skip_without_taps
from tests.support.paths import ROOT
from tests.support.reference import Tunnel
from tests.support.senders import PING
from tests.system.pcie_guest import Slots, slots

FAR = "10.2.0.2"
PINGS = 10
DAEMON = """registers = "pci:{address}"

[taps]
red = "sp-red"
black = "sp-black"
"""
LINES = f"""addr add {BOX[0][0]}/24 dev red
addr add {BOX[1][0]}/24 dev black
neigh add {RED_HOST} lladdr {RED_HOST_MAC} dev red
neigh add {PEER} lladdr {PEER_MAC} dev black
route add 10.2.0.0/16 via {PEER} dev black
""" + Tunnel(near=BOX[1][0], far=PEER).lines("10.1.0.0/24", "10.2.0.0/16", "10.2.0.0/16")
# A gateway that scapy plays: it decrypts echo requests, and answers them in ESP for hosts behind
# it, from a number on.
GATEWAY = """
import socket, sys
from tests.support.reference import Tunnel
from scapy.layers.inet import ICMP, IP
tunnel, device = Tunnel(), sys.argv[1]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.bind((device, 0))
receiver, sender = tunnel.peer_receiver(), tunnel.peer_sender()
sender.seq_num = int(sys.argv[2])
print("ready", flush=True)
while True:
    frame = raw.recv(9000)
    if frame[12:14] != b"\\x08\\x00" or frame[23] != 50:
        continue
    asked = receiver.decrypt(IP(frame[14:]))
    echo = IP(src=asked.dst, dst=asked.src) / ICMP(type=0, id=asked[ICMP].id, seq=asked[ICMP].seq) / asked[ICMP].payload
    raw.send(frame[6:12] + frame[:6] + frame[12:14] + bytes(sender.encrypt(IP(bytes(echo)))))
"""
FAILED = "an access behind it failed: there is no such register, or a link was down for a moment"
ADOPTED = 'msg="adopted what the chips hold" sas_in=1 sas_out=1'
GONE = "the crypto card at {address} does not answer: it has left the bus, or its memory was not enabled"


class Served:
    """`./sallyport pcie` for the box in a folder."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "pcie.log"
        with self._log.open("a") as log:
            command = [ROOT / "sallyport", "pcie", "--registers", folder / "box0.sock"]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        while "Ctrl-C" not in (line := self.process.stdout.readline()):
            assert line, self._log.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass
class Server:
    """The management computer with its cards, and hosts at the box's ports."""

    slots: Slots
    cards: Served
    red: Host
    black: Host
    folder: Path
    sent: int = 1
    address: str = field(init=False)

    def __post_init__(self) -> None:
        # The slots are in the order inner, crypto, outer.
        self.addresses = self.run("cd /sys/bus/pci/devices; grep -l 0x1234 */vendor").replace("/vendor", "").split()
        self.address = self.addresses[1]

    def run(self, commands: str) -> str:
        return self.slots.shell.run(commands)

    def device(self, file: str) -> str:
        return f"/sys/bus/pci/devices/{self.address}/{file}"

    def sallyctl(self, words: str) -> str:
        return self.run(f"sallyctl --daemon /run/sallyport/control.sock {words}")

    def start_daemon(self) -> None:
        """Until it is ready; Linux then has its address on red again."""
        self.run(
            "rm -f /tmp/status /tmp/daemon.log /run/sallyport/control.sock\n"
            "(set +e; sallyportd >> /tmp/daemon.log 2>&1; echo $? > /tmp/status) > /dev/null 2>&1 &\n"
            "until [ -S /run/sallyport/control.sock ] && grep -q msg=ready /tmp/daemon.log || [ -e /tmp/status ]; do sleep 0.5; done"
        )
        assert self.run("cat /tmp/status 2> /dev/null || true") == "", self.run("cat /tmp/daemon.log")
        self.run(f"ip addr add {BOX[0][0]}/24 dev sp-red")

    def stop_daemon(self) -> None:
        self.run("kill $(pidof sallyportd)\nuntil [ -e /tmp/status ]; do sleep 0.1; done")
        assert self.run("cat /tmp/status") == "0", self.run("cat /tmp/daemon.log")

    def wait_for(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < end, self.run("tail -n 20 /tmp/daemon.log")
            time.sleep(0.5)

    def errors(self, way: str) -> dict[str, tuple[int, int]]:
        """PCIE_REFUSED and ACCESS_ERRORS of each card."""
        said = self.run(f"sallyctl {way} card")
        chips = re.findall(r"^(\w+) +board vcu1525 version .* ready true$", said, re.MULTILINE)
        counts = re.findall(r"pcie-refused (\d+) access-errors (\d+)", said)
        return {chip: (int(a), int(b)) for chip, (a, b) in zip(chips, counts, strict=True)}

    def ping(self) -> None:
        """Echo requests from red, which all come back through the tunnel."""
        with self.black.serving(ROOT / ".venv/bin/python", "-c", GATEWAY, BLACK_TAP, self.sent) as gateway:
            assert gateway.stdout is not None and gateway.stdout.readline() == "ready\n"
            assert self.red.python(PING, FAR, PINGS) == f"{PINGS}\n"
        self.sent += PINGS


@contextmanager
def _server(folder: Path) -> Iterator[Server]:
    programs = [ROOT / "build/bin" / name for name in ("sallyportd", "sallyctl")]
    modules, linked = ("virtio_pci", "virtio_console", "tun"), ("lspci", "setpci")
    booted = image(*programs, modules=modules, linked=linked)
    batch = folder / "box.xfrm"
    batch.write_text("# sallyportd configures the box\n")
    taps = ("--red-tap", RED_TAP, "--black-tap", BLACK_TAP)
    with ExitStack() as stack:
        red, black = stack.enter_context(hosts("red", "black"))
        stack.enter_context(live("--chips", "shell", "--xfrm", batch, *taps, "--socket-dir", folder))
        red.take(RED_TAP, f"{RED_HOST}/24", mac=RED_HOST_MAC)
        black.take(BLACK_TAP, f"{PEER}/24", mac=PEER_MAC)
        red.run("ip", "route", "add", "default", "via", BOX[0][0])
        cards = Served(folder)
        stack.callback(lambda: server.cards.kill())
        server = Server(stack.enter_context(slots(booted, folder)), cards, red, black, folder)
        server.run("mkdir -p /etc/sallyport /run/sallyport /var/lib/sallyport; ip link set lo up")
        config = DAEMON.format(address=server.address)
        server.run(f"cat > /etc/sallyport/sallyportd.toml <<'E'\n{config}E\ncat > /tmp/lines <<'E'\n{LINES}E")
        yield server
        print(server.run("cat /tmp/daemon.log"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    skip_without_taps()
    with _server(tmp_path_factory.mktemp("pcie")) as server:
        yield server


def test_the_kernel_finds_the_cards(server: Server) -> None:
    """Their identities are those that bitstreams are built with, and the size of BAR 0."""
    assert len(server.addresses) == 3
    shown = server.run(f"lspci -nvvs {server.address} 2> /dev/null")
    print(server.run("uname -r; lspci --version"), shown)
    assert "1000: 1234:1001" in shown and "Subsystem: 10ee:90c8" in shown
    assert re.search(r"Region 0: Memory at [0-9a-f]{8} \(32-bit, non-prefetchable\) \[size=512K\]", shown)
    assert "Express (v2) Endpoint" in shown and "Speed 8GT/s, Width x8" in shown
    server.run(f"for card in {' '.join(server.addresses)}; do echo 1 > /sys/bus/pci/devices/$card/enable; done")
    none = dict.fromkeys(("inner", "crypto", "outer"), (0, 0))
    for way in (server.address, ",".join(server.addresses)):
        assert server.errors(f"--pci {way}") == none


def test_the_daemon_configures_the_box(server: Server) -> None:
    """By `pci:` alone, and no access fails. The guest's kernel answers ARP through the mailbox of
    the inner card; packets cross the tunnel."""
    began = time.monotonic()
    server.start_daemon()
    started = time.monotonic()
    server.sallyctl("-batch /tmp/lines")
    print(f"daemon: {started - began:.1f} s, {len(LINES.splitlines())} lines: {time.monotonic() - started:.1f} s")
    assert server.sallyctl("xfrm state list").count("proto esp spi") == 2
    server.ping()
    assert BOX[0][1] in server.red.run("ip", "neigh", "show", BOX[0][0])
    assert set(server.errors("--daemon /run/sallyport/control.sock").values()) == {(0, 0)}


def test_bus_errors(server: Server) -> None:
    """Addresses without a register, and requests that are no word: all ones, and counted. While
    another program makes them, sallyctl says in a sentence that a write may have failed."""
    server.stop_daemon()
    base = int(server.run(f"cut -d ' ' -f 1 {server.device('resource')} | head -n 1"), 16)
    read = "devmem {:#x} {}".format
    way = f"--pci {server.address}"
    # Of the core and of the shell; of the inner card; a fourth card.
    for number, offset in enumerate((0x7FF0, 0xFFF0, 0x17FF0, 0x30000), start=1):
        assert server.run(read(base + offset, 32)) == "0xFFFFFFFF"
        assert server.errors(way)["crypto"] == (0, number)
    assert server.run(read(base + 0x8000, 8)) == "0xFF"
    assert server.run(read(base + 0x8000, 64)) == "0xFFFFFFFFFFFFFFFF"
    assert server.errors(way)["crypto"] == (2, 4)

    said = server.run(
        f"(while :; do {read(base + 0x7FF0, 32)}; done) > /dev/null & reader=$!\n"
        f'while said=$(sallyctl {way} card 2>&1); do :; done; kill $reader; echo "$said"'
    )
    print(said)
    assert FAILED in said
    server.start_daemon()
    server.sallyctl("addr add 10.9.0.1/24 dev red")
    server.ping()


def test_hot_reset_and_rescan(server: Server) -> None:
    """The kernel gives the card its BAR again behind a reset of its bus, and the chips go on with
    what they hold. So do they behind `remove` and `rescan`, and then need `enable`."""
    for event in (
        f"echo 1 > {server.device('reset')}",
        f"echo 1 > {server.device('remove')}; [ ! -e {server.device('vendor')} ]; echo 1 > /sys/bus/pci/rescan\n"
        f"echo 1 > {server.device('enable')}",
    ):
        server.stop_daemon()
        began = time.monotonic()
        server.run(event)
        print(f"{event.split()[-1]}: {time.monotonic() - began:.1f} s")
        server.start_daemon()
        assert ADOPTED in server.run("cat /tmp/daemon.log")
        server.ping()


def test_no_memory_space(server: Server) -> None:
    """QEMU's guests then read 0, where a server reads all ones. The daemon ends with one sentence
    either way."""
    server.run(f"setpci -s {server.address} COMMAND=0000")
    server.wait_for(lambda: server.run("cat /tmp/status 2> /dev/null || true"))
    assert GONE.format(address=server.address) in server.run("tail -n 1 /tmp/daemon.log")
    assert server.run("cat /tmp/status") == "1"
    server.run(f"setpci -s {server.address} COMMAND=0002")
    server.start_daemon()
    server.ping()


def test_the_card_leaves_and_comes_back(server: Server) -> None:
    """Every read is all ones, and the daemon ends with one sentence. Pulled
    and pushed in again, it needs `enable`; the daemon then takes up what the chips hold."""
    gone = GONE.format(address=server.address)
    server.cards.process.send_signal(signal.SIGUSR1)
    began = time.monotonic()
    server.wait_for(lambda: server.run("cat /tmp/status 2> /dev/null || true"))
    print(f"the daemon ended after {time.monotonic() - began:.1f} s: {server.run('cat /tmp/daemon.log /tmp/status')}")
    assert server.run("cat /tmp/status") == "1"
    assert gone in server.run("tail -n 1 /tmp/daemon.log")
    said = server.run(f"sallyctl --pci {server.address} id 2>&1 || echo status $?")
    assert gone in said and said.splitlines()[1:] == ["status 1"]
    assert server.run(f"setpci -s {server.address} VENDOR_ID").strip() == "ffff"

    server.slots.pull("crypto")
    assert server.run(f"ls -d {server.device('')} 2> /dev/null || true") == ""
    server.cards.process.send_signal(signal.SIGUSR1)
    server.slots.push(server.folder, "crypto")
    server.wait_for(lambda: server.run(f"cat {server.device('enable')} 2> /dev/null || true"))
    assert "Mem-" in server.run(f"lspci -nvvs {server.address} 2> /dev/null")
    server.run(f"echo 1 > {server.device('enable')}")
    server.start_daemon()
    assert ADOPTED in server.run("cat /tmp/daemon.log")
    server.ping()
