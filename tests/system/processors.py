# SPDX-License-Identifier: Apache-2.0
"""The processors of management computers, and the Debian that runs on each."""

from __future__ import annotations

from dataclasses import dataclass

# Without libseccomp systemd 262 has no filter of system calls, and cannot judge one.
COMMON = (
    "systemd-sysv", "udev", "kmod", "initramfs-tools", "zstd", "iproute2", "netbase", "procps", "python3",
    "libseccomp2", "charon-systemd", "strongswan-swanctl", "libcharon-extra-plugins", "libjson-c5",
)  # fmt: skip


@dataclass(frozen=True)
class Processor:
    """One of Debian's architectures, with QEMU's name and ELF's number of it."""

    architecture: str
    qemu: str
    elf: int
    release: str
    kernel: str  # package
    machine: tuple[str, ...]  # words of QEMU
    boot: str  # words for the kernel
    strongswan: str

    @property
    def packages(self) -> tuple[str, ...]:
        return (*COMMON, self.kernel)


FIRMWARE = "/usr/share/qemu-efi-loongarch64"
ARM64 = Processor(
    "arm64", "aarch64", 183, "trixie", "linux-image-cloud-arm64",
    ("-machine", "virt", "-cpu", "cortex-a72"), "console=ttyAMA0", "6.0.1",
)  # fmt: skip
# Without a firmware, whose tables tell of it, the kernel of loong64 finds no PCI.
LOONG64 = Processor(
    "loong64", "loongarch64", 258, "forky", "linux-image-loong64",
    ("-machine", "virt", "-cpu", "la464", "-bios", f"{FIRMWARE}/QEMU_EFI.fd"), "console=ttyS0", "6.1.0",
)  # fmt: skip
