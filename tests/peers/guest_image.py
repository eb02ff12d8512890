# SPDX-License-Identifier: Apache-2.0
"""Debian's kernel with an initial RAM disk of busybox, iproute2 and the modules of ESP; made from
packages of this machine's Debian or of another one, kept in build/peers."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.peers.debian_roots import inside
from tests.peers.programs import need
from tests.support.paths import ROOT

CACHE = ROOT / "build/peers/linux"
PACKAGE = "linux-image-cloud-amd64"  # the name that always has the newest kernel
# With what they need. Hashes, AES and CBC are in the kernel itself; the makers of IVs draw their
# salts from drbg.
MODULES = (
    "virtio_pci", "virtio_net", "virtio_console", "xfrm_user", "esp4", "esp6", "xfrm4_tunnel", "xfrm6_tunnel",
    "gcm", "ghash-generic", "ctr", "authenc", "authencesn", "seqiv", "echainiv", "drbg",
    "chacha20poly1305", "chacha_generic", "poly1305_generic", "tun", "8021q", "vrf",
)  # fmt: skip
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do insmod /modules/$module; done
until [ -e /dev/vport0p1 ]; do sleep 0.1; done
exec 3<> /dev/vport0p1
echo ready > /dev/ttyS0
sh <&3 >&3 2>&1
"""


@dataclass(frozen=True)
class Image:
    """What QEMU boots, and the kernel's version."""

    kernel: Path
    initrd: Path
    version: str


def image(
    *programs: Path, root: Path | None = None, modules: Sequence[str] = MODULES, linked: Sequence[str] = ()
) -> Image:
    """The image, with some static programs, and with this machine's `linked` ones and their
    libraries; a skip that says why where its parts cannot be had. The kernel and iproute2 are those
    of the Debian in `root`, or of this machine's."""
    busybox, modprobe, depmod, *_ = need("busybox", "modprobe", "depmod", "cc", "apt-get", "dpkg")
    unpacked = _kernel_package(root)
    (modules_of_it,) = (unpacked / "lib/modules").iterdir()
    version = modules_of_it.name
    (kernel,) = (*(unpacked / "boot").glob("vmlinuz-*"), *modules_of_it.glob("vmlinuz"))
    tree = CACHE / f"tree-{version}"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("bin", "dev", "proc", "sys", "tmp", "modules"):
        (tree / folder).mkdir(parents=True)
    _busybox(Path(busybox), tree)
    _with_libraries(Path("/usr/bin/ip") if root else Path(need("ip")[0]), tree, root)
    for program in need(*linked):
        _with_libraries(Path(program), tree, None)
    _udp_encap(tree)
    for program in programs:
        shutil.copy(program, tree / "bin" / program.name)
    subprocess.run([depmod, "-b", unpacked, version], check=True)
    _modules(modprobe, unpacked, version, tree, modules)
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    initrd = CACHE / f"initrd-{version}.gz"
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    packed = subprocess.run(
        [busybox, "cpio", "-o", "-H", "newc"], cwd=tree, input=names.encode(), capture_output=True, check=True
    )
    initrd.write_bytes(gzip.compress(packed.stdout, 1))
    return Image(kernel, initrd, version)


def _run(root: Path | None, *words: object) -> subprocess.CompletedProcess[str]:
    """A program of the Debian in `root` or of this machine, in the folder of images."""
    CACHE.mkdir(parents=True, exist_ok=True)
    there = ["env", "-C", str(CACHE), *map(str, words)]
    command = inside(root, CACHE, *there) if root else there
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _kernel_package(root: Path | None) -> Path:
    """The package, unpacked; downloaded once for each version."""
    depends = _run(root, "apt-cache", "depends", PACKAGE).stdout
    named = re.search(r"Depends: (linux-image-\S+-cloud-amd64)", depends)
    if not named:
        pytest.skip(f"apt-get knows no package {PACKAGE}")
    unpacked = CACHE / named[1]
    if not unpacked.exists():
        # Testing has the kernel and its modules in packages of their own.
        shown = _run(root, "apt-cache", "depends", named[1]).stdout
        names = [named[1], *re.findall(r"Depends: (linux-(?:base|binary|modules)-\S+)", shown)]
        done = _run(root, "apt-get", "download", *names)
        if done.returncode:
            pytest.skip(f"package {named[1]} cannot be downloaded: {done.stderr.strip().splitlines()[-1]}")
        part = unpacked.with_suffix(".part")
        for name in names:
            (package,) = CACHE.glob(f"{name}_*.deb")
            subprocess.run(["dpkg", "-x", package, part], check=True)
        if (part / "usr/lib/modules").exists() and not (part / "lib").exists():
            (part / "lib").symlink_to("usr/lib")  # where this machine's depmod looks
        part.rename(unpacked)
    return unpacked


def _busybox(busybox: Path, tree: Path) -> None:
    shutil.copy(busybox, tree / "bin/busybox")
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in {*applets} - {"busybox", "ip"}:
        (tree / "bin" / applet).symlink_to("busybox")


def _with_libraries(program: Path, tree: Path, root: Path | None) -> None:
    """Copies a program, and each library where it was."""
    above = str(root or "")
    shutil.copy(os.path.realpath(f"{above}{program}"), tree / "bin" / program.name)
    listed = _run(root, "ldd", program).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        place = tree / library[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(f"{above}{library}"), place)


def _udp_encap(tree: Path) -> None:
    source = Path(__file__).with_name("udp_encap.c")
    subprocess.run(["cc", "-static", "-O1", "-o", tree / "bin/udp_encap", source], check=True)


def _modules(modprobe: str, unpacked: Path, version: str, tree: Path, modules: Sequence[str]) -> None:
    """Copies the modules and what they depend on, and writes down their order."""
    order: list[str] = []
    for module in modules:
        shown = subprocess.run(
            [modprobe, "-d", unpacked, "-S", version, "--show-depends", module],
            capture_output=True,
            text=True,
            check=False,
        )
        if shown.returncode:
            pytest.skip(f"kernel {version} has no module {module}")
        for path in re.findall(r"^insmod (\S+)", shown.stdout, re.MULTILINE):
            name = Path(path).name.removesuffix(".xz")
            if name not in order:
                order.append(name)
                packed = path.endswith(".xz")
                data = Path(path).read_bytes()
                (tree / "modules" / name).write_bytes(lzma.decompress(data) if packed else data)
    (tree / "modules/order").write_text("\n".join(order) + "\n")
