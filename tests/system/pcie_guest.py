# SPDX-License-Identifier: Apache-2.0
"""A Linux guest whose QEMU has the cards of a simulated box in slots of PCI Express, by
vfio-user."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sallyport.commands.pcie import ANSWER_MS
from tests.peers.debian_roots import inside
from tests.peers.guest import Guest, wait_for_boot
from tests.peers.guest_image import Image
from tests.support.namespaces import WAIT_S
from tests.system.emulators import emulators

CARDS = ("inner", "crypto", "outer")
# Slots as a server has them: the guest's kernel drives them, and not the firmware by ACPI.
NATIVE = "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"


def card(folder: Path, chip: str) -> dict[str, object]:
    """QEMU's words for a card in its slot. The sockets are in `folder`."""
    where = {"type": "unix", "path": str(folder / f"box0.{chip}.vfio")}
    return {
        "driver": "vfio-user-pci",
        "id": chip,
        "bus": f"slot-{chip}",
        "x-msg-timeout": ANSWER_MS,
        "socket": where,
    }


class Slots:
    """The guest, and hands at its slots."""

    def __init__(self, shell: Guest, monitor: socket.socket) -> None:
        self.shell, self._monitor = shell, monitor
        self._lines = monitor.makefile("r")
        self._lines.readline()  # the greeting
        self._ask("qmp_capabilities")

    def pull(self, chip: str) -> None:
        """Presses the slot's button, and waits until the kernel has let the card go."""
        self._ask("device_del", id=chip)
        while (event := json.loads(self._lines.readline())).get("event") != "DEVICE_DELETED":
            assert "error" not in event, event

    def push(self, folder: Path, chip: str) -> None:
        self._ask("device_add", **card(folder, chip))

    def _ask(self, execute: str, **arguments: object) -> None:
        self._monitor.sendall(json.dumps({"execute": execute, "arguments": arguments}).encode() + b"\n")
        while "return" not in (answer := json.loads(self._lines.readline())):
            assert "error" not in answer, answer


@contextmanager
def slots(image: Image, folder: Path) -> Iterator[Slots]:
    """The guest with all three cards, from when its shell answers."""
    for path in (image.kernel, image.initrd):
        shutil.copy(path, folder)
    console, log = folder / "console.log", folder / "qemu.log"
    console.touch()
    devices = [("pcie-root-port", f"id=slot-{chip},chassis={n}") for n, chip in enumerate(CARDS, start=1)]
    words = [
        "qemu-system-x86_64", "-machine", "q35", "-global", NATIVE, "-accel", "tcg,thread=single", "-m", "512",
        "-nodefaults", "-display", "none", "-no-reboot", "-kernel", folder / image.kernel.name,
        "-initrd", folder / image.initrd.name, "-append", "console=ttyS0 panic=-1", "-serial", f"file:{console}",
        "-device", "virtio-serial-pci", "-chardev", f"socket,id=line,path={folder / 'line.sock'}",
        "-device", "virtserialport,chardev=line", "-qmp", f"unix:{folder / 'qmp.sock'}",
        *(word for kind, options in devices for word in ("-device", f"{kind},{options}")),
        *(word for chip in CARDS for word in ("-device", json.dumps(card(folder, chip)))),
    ]  # fmt: skip
    with _listener(folder / "line.sock") as lines, _listener(folder / "qmp.sock") as monitors, log.open("w") as errors:
        process = subprocess.Popen(inside(emulators("emulators-x86"), folder, *words), stderr=errors, text=True)
        try:
            monitor, _ = monitors.accept()
            line, _ = lines.accept()
            monitor.settimeout(WAIT_S)
            with monitor, line:
                here = Slots(Guest(line, console), monitor)
                wait_for_boot(process, console)
                here.shell.run("true")
                yield here
        finally:
            process.kill()
            process.wait()


@contextmanager
def _listener(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(WAIT_S)
        yield listener
