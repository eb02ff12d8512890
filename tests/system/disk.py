# SPDX-License-Identifier: Apache-2.0
"""The disk of a management computer as Debian ships it, with a shell for the test at a virtual
serial port. It has nothing of ours. Made from packages, kept in the user's cache by their names."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.peers.programs import need
from tests.system.emulated_root import make_root
from tests.system.emulators import emulators
from tests.system.processors import Processor

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sallyport/systems"
SIZE = "3G"  # a sparse file
READY = "the shell of the test is there"
SHELL = f"""[Unit]
Description=Shell of the test

[Service]
ExecStart=/bin/sh -c 'until [ -e /dev/virtio-ports/line ]; do sleep 0.2; done; \
exec 3<>/dev/virtio-ports/line; echo "{READY}" >/dev/console; exec /bin/sh <&3 >&3 2>&1'
Restart=always

[Install]
WantedBy=multi-user.target
"""
NETWORK = """[Match]
Driver=virtio_net

[Network]
Address=10.0.2.15/24
LinkLocalAddressing=no
IPv6AcceptRA=no
"""
FILES = {
    "etc/systemd/system/shell.service": SHELL,
    "etc/systemd/network/management.network": NETWORK,
    "etc/fstab": "/dev/vda / ext4 defaults 0 1\n",
    "etc/hostname": "management\n",
    "etc/hosts": "127.0.0.1 localhost management\n",
}
ENABLED = {
    "shell.service": "/etc/systemd/system/shell.service",
    "systemd-networkd.service": "/usr/lib/systemd/system/systemd-networkd.service",
}


@dataclass(frozen=True)
class Image:
    """What QEMU boots: a kernel, its initial RAM disk, and a disk to copy."""

    kernel: Path
    initrd: Path
    disk: Path

    @property
    def version(self) -> str:
        return self.kernel.name.removeprefix("vmlinuz-")


def image(processor: Processor) -> Image:
    """The image; a skip that says why where it cannot be had."""
    recipe = repr((processor.release, processor.packages, FILES, ENABLED, SIZE))
    place = CACHE / f"{processor.architecture}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    if not place.exists():
        _make(processor, place)
    (kernel,) = place.glob("vmlinuz-*")
    return Image(kernel, place / kernel.name.replace("vmlinuz", "initrd.img"), place / "disk")


def _make(processor: Processor, place: Path) -> None:
    (mke2fs,) = need("mke2fs")
    part = place.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    root = part / "root"
    make_root(processor, emulators() / f"usr/bin/qemu-{processor.qemu}", root)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    wanted = root / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir(parents=True, exist_ok=True)
    for name, unit in ENABLED.items():
        (wanted / name).unlink(missing_ok=True)
        (wanted / name).symlink_to(unit)
    for path in (root / "boot").glob("vmlinuz-*"):
        shutil.copy(path, part)
        shutil.copy(root / "boot" / path.name.replace("vmlinuz", "initrd.img"), part)
    words = [mke2fs, "-q", "-t", "ext4", "-d", root, part / "disk", SIZE]
    subprocess.run(words, check=True, capture_output=True, text=True)
    shutil.rmtree(root)
    part.rename(place)
