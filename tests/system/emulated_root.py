# SPDX-License-Identifier: Apache-2.0
"""Debian of another processor in a folder, by mmdebstrap. Its programs run under qemu-user, which
the kernel knows of in one user namespace alone (binfmt_misc, Linux 6.7 and newer)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.peers.debian_roots import sources, valid_until
from tests.peers.programs import need
from tests.system.processors import Processor

MAKE_S = 3000
IDS = 65536
# $1 is a folder to mount binfmt_misc on, and $2 the line for it. It goes with the namespace.
INSIDE = """
set -e
read -r _
mount -t binfmt_misc none "$1" || exit 77
printf %s "$2" > "$1/register" || exit 77
mount -t proc none /proc
shift 2
exec "$@"
"""


def registration(processor: Processor, emulator: Path) -> str:
    """The line by which the kernel opens the emulator for programs of that processor."""
    magic = b"\x7fELF\x02\x01\x01".ljust(16, b"\x00") + bytes([2, 0]) + processor.elf.to_bytes(2, "little")
    mask = bytes([255] * 7 + [0] + [255] * 8 + [254, 255, 255, 255])  # any ABI; ET_EXEC and ET_DYN
    escaped = ["".join(f"\\x{byte:02x}" for byte in data) for data in (magic, mask)]
    return f":sallyport-{processor.qemu}:M::{escaped[0]}:{escaped[1]}:{emulator}:F"


def emulated(processor: Processor, emulator: Path, folder: Path, *command: object) -> tuple[int, str]:
    """Exit status and output of a command that may run such programs; 77 where the kernel has no
    binfmt_misc of its own for a user namespace. `folder` is for files of the run."""
    place = folder / "binfmt"
    place.mkdir(parents=True, exist_ok=True)
    # It ends with this process, whatever ends that.
    unshare = "setpriv --pdeathsig KILL unshare --user --mount --pid --fork --kill-child"
    words = [*unshare.split(), "sh", "-c", INSIDE, "sh", place]
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [*map(str, words), registration(processor, emulator), *map(str, command)],
            stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert process.stdin is not None
        try:
            own = Path("/proc/self/ns/user").readlink()
            while process.poll() is None and Path(f"/proc/{process.pid}/ns/user").readlink() == own:
                pass  # until it is in its namespace
            for ids in ("uid_map", "gid_map"):
                Path(f"/proc/{process.pid}/{ids}").write_text(f"0 0 {IDS}\n")
            process.stdin.write(b"go\n")
            process.stdin.close()
            return process.wait(MAKE_S), log.read_text(errors="replace")
        finally:
            process.kill()
            process.wait()


def make_root(processor: Processor, emulator: Path, root: Path) -> None:
    """Puts that Debian into the folder; a skip that says why where it cannot be had."""
    (mmdebstrap,) = need("mmdebstrap")
    shutil.rmtree(root, ignore_errors=True)
    status, said = emulated(
        processor, emulator, root.with_suffix(".run"),
        mmdebstrap, "--mode=root", f"--architectures={processor.architecture}", "--variant=minbase",
        "--skip=check/qemu,chroot/mount", f"--aptopt={valid_until()}", f"--include={','.join(processor.packages)}",
        processor.release, root, *sources(processor.release),
    )  # fmt: skip
    if status == 77:
        pytest.skip("this kernel has no binfmt_misc for a user namespace: Linux 6.7 is the first with it")
    if status:
        shutil.rmtree(root, ignore_errors=True)
        pytest.skip(f"Debian {processor.release} of {processor.architecture} cannot be had: {last_words(said)}")


def last_words(said: str) -> str:
    return (said.strip().splitlines() or ["it said nothing"])[-1]
