# SPDX-License-Identifier: Apache-2.0
"""QEMU of Debian testing in roots of its own: this machine's may be too old for LoongArch's vector
instructions, which Debian's programs have, and for vfio-user."""

from __future__ import annotations

from pathlib import Path

from tests.peers.debian_roots import CACHE, make

PACKAGES = {
    "emulators": ("qemu-user", "qemu-system-misc", "qemu-system-arm", "qemu-efi-loongarch64"),
    "emulators-x86": ("qemu-system-x86",),
}


def emulators(name: str = "emulators") -> Path:
    """The root of that name; a skip that says why where it cannot be had."""
    root = CACHE / name
    if not root.exists():
        make("forky", root, PACKAGES[name])
    return root
