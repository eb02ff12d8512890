# SPDX-License-Identifier: Apache-2.0
"""QEMU of Debian testing in a root of its own: this machine's may be too old for LoongArch's vector
instructions, which Debian's programs have."""

from __future__ import annotations

from pathlib import Path

from tests.peers.debian_roots import CACHE, make

PACKAGES = ("qemu-user", "qemu-system-misc", "qemu-system-arm", "qemu-efi-loongarch64")


def emulators() -> Path:
    """The root; a skip that says why where it cannot be had."""
    root = CACHE / "emulators"
    if not root.exists():
        make("forky", root, PACKAGES)
    return root
