# SPDX-License-Identifier: Apache-2.0
"""A management computer in QEMU (TCG, one processor), with a shell for the test."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.peers.debian_roots import inside
from tests.peers.guest import Guest
from tests.system.disk import READY, Image
from tests.system.emulators import emulators
from tests.system.processors import Processor

BOOT_S = 600
MEMORY = "1024"


class Machine:
    """One with a disk of its own in a folder, where its console's log is, too. Start it."""

    def __init__(self, processor: Processor, image: Image, folder: Path) -> None:
        self.processor, self.image, self.folder = processor, image, folder
        self.console = folder / "console.log"
        self.console.touch()
        for path in (image.kernel, image.initrd, image.disk):
            subprocess.run(["cp", "--sparse=always", path, folder], check=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._boots = 0

    def start(self) -> float:
        """Seconds until systemd has started all that it starts."""
        path = self.folder / "line.sock"
        path.unlink(missing_ok=True)
        began = time.monotonic()
        words = (
            f"qemu-system-{self.processor.qemu}", *self.processor.machine, "-accel", "tcg", "-smp", "1", "-m", MEMORY,
            "-nodefaults", "-display", "none",
            "-kernel", self.folder / self.image.kernel.name, "-initrd", self.folder / self.image.initrd.name,
            "-append", f"root=/dev/vda rw {self.processor.boot}",
            "-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console",
            "-drive", f"file={self.folder / self.image.disk.name},format=raw,if=none,id=disk",
            "-device", "virtio-blk-pci,drive=disk", "-device", "virtio-rng-pci",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=line,path={path},server=on,wait=off",
            "-device", "virtserialport,chardev=line,name=line",
            "-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-pci,netdev=net",
        )  # fmt: skip
        with (self.folder / "qemu.log").open("ab") as log:
            self._process = subprocess.Popen(
                inside(emulators(), self.folder, *words), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._wait(path.exists, "QEMU did not start")
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(str(path))
        return self._booted(began)

    def run(self, commands: str, seconds: int = 300) -> str:
        """What these commands print, with their errors; each must do well."""
        assert self._line
        return Guest(self._line, self.console).run(commands, seconds)

    def reboot(self) -> float:
        """Seconds from the order until that is so again."""
        assert self._line
        began = time.monotonic()
        self._line.sendall(b"systemctl reboot\n")
        return self._booted(began)

    def power_cut(self) -> None:
        """Whatever it had not written to its disk is lost."""
        if self._line:
            self._line.close()
        if self._process:
            self._process.kill()
            self._process.wait()

    def said(self) -> str:
        return self.console.read_text(errors="replace")

    def _booted(self, began: float) -> float:
        self._boots += 1
        self._wait(lambda: self.said().count(READY) >= self._boots, "the guest did not boot")
        self.run("systemctl is-system-running --wait || true", BOOT_S)
        return time.monotonic() - began

    def _wait(self, condition: Callable[[], bool], failure: str) -> None:
        end = time.monotonic() + BOOT_S
        while not condition():
            assert self._process and self._process.poll() is None and time.monotonic() < end, (
                f"{failure}: {(self.folder / 'qemu.log').read_text()}{self.said()[-3000:]}"
            )
            time.sleep(0.2)
