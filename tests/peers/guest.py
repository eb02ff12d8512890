# SPDX-License-Identifier: Apache-2.0
"""A Linux guest in QEMU on a bridge of a namespace, which runs what a test writes into its virtual
serial port."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.peers.guest_image import Image
from tests.peers.programs import need
from tests.support.namespaces import PREFIX, WAIT_S, Host

BRIDGE, TAP = f"{PREFIX}br", f"{PREFIX}q"
END = "@@ "


class Guest:
    """A shell in the guest."""

    def __init__(self, line: socket.socket, console: Path) -> None:
        self._line, self._console = line, console
        self._rest = ""

    def run(self, commands: str, seconds: int = WAIT_S) -> str:
        """What these commands print, with their errors; each must do well."""
        self._line.settimeout(seconds)
        self._line.sendall(f"(set -e\n{commands}\n) < /dev/null; echo '{END}'$?\n".encode())
        while f"\n{END}" not in (said := "\n" + self._rest) or not said.endswith("\n"):
            more = self._line.recv(65536)
            assert more, self._console.read_text(errors="replace")[-2000:]
            self._rest += more.decode()
        self._rest = ""
        text, _, status = said.rpartition(f"\n{END}")
        assert status == "0\n", f"{commands[:200]}: {text}\n{self._console.read_text(errors='replace')[-500:]}"
        return text.removeprefix("\n")


def join(space: Host, device: str) -> None:
    """A bridge in the namespace between a device that is there and one for the guest. Neither has
    an address."""
    space.run("ip", "link", "add", BRIDGE, "type", "bridge", "mcast_snooping", "0")
    space.run("ip", "tuntap", "add", "dev", TAP, "mode", "tap")
    for each in (device, TAP):
        space.run("ip", "link", "set", each, "master", BRIDGE, "up")
    space.run("ip", "link", "set", BRIDGE, "up")


@contextmanager
def guest(image: Image, space: Host, mac: str, folder: Path, cpus: int = 1) -> Iterator[Guest]:
    """The guest behind TAP of the namespace, from when its shell answers. One thread of QEMU runs
    all of its processors."""
    path = folder / "line.sock"
    console = folder / "console.log"
    console.touch()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(WAIT_S)
        process = subprocess.Popen(
            space.command(
                *need("qemu-system-x86_64"), "-accel", "tcg,thread=single", "-smp", cpus, "-m", "512",
                "-nodefaults", "-display", "none", "-no-reboot",
                "-kernel", image.kernel, "-initrd", image.initrd, "-append", "console=ttyS0 panic=-1",
                "-serial", f"file:{console}", "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=line,path={path}", "-device", "virtserialport,chardev=line",
                "-netdev", f"tap,id=black,ifname={TAP},script=no,downscript=no",
                "-device", f"virtio-net-pci,netdev=black,mac={mac}",
            ),
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            line, _ = listener.accept()
            with line:
                wait_for_boot(process, console)
                shell = Guest(line, console)
                shell.run("true")
                yield shell
        finally:
            process.kill()
            process.communicate()


def wait_for_boot(process: subprocess.Popen[str], console: Path) -> None:
    """Until the guest's own program runs: bytes written earlier into the line would be lost."""
    end = time.monotonic() + WAIT_S
    while "ready" not in console.read_text(errors="replace"):
        assert process.poll() is None and time.monotonic() < end, console.read_text(errors="replace")[-2000:]
        time.sleep(0.1)
