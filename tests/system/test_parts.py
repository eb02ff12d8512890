# SPDX-License-Identifier: Apache-2.0
"""What the systems of test_system.py are made of, without one: the way of the simulator's sockets
by TCP, the kernel's line for an emulator, versions, and refusals."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.system.emulated_root import registration
from tests.system.guest_sockets import join
from tests.system.processors import ARM64, LOONG64, Processor
from tests.system.repository import next_version
from tests.system.wires import wires

MESSAGES = [bytes([n % 251]) * n for n in (1, 60, 1518, 9596)]


@pytest.mark.parametrize(("kind", "name"), [(socket.SOCK_STREAM, "box0.sock"), (socket.SOCK_SEQPACKET, "box0.frames")])
def test_a_client_in_a_guest_has_the_box(kind: int, name: str, tmp_path: Path) -> None:
    """A box that sends back what it hears; frames keep their bounds, and the end of a client is the
    end of its connection to the box."""

    def echo() -> None:
        client, _ = box.accept()
        while data := client.recv(65536):
            client.sendall(data)
        ended.set()

    ended = threading.Event()
    with socket.socket(socket.AF_UNIX, kind) as box, wires(tmp_path / "box0.sock", tmp_path) as ports:
        box.bind(str(tmp_path / name))
        box.listen()
        threading.Thread(target=echo, daemon=True).start()
        client, guest = socket.socketpair(socket.AF_UNIX, kind)
        framed = kind == socket.SOCK_SEQPACKET
        far = socket.create_connection(("127.0.0.1", ports.frames if framed else ports.registers))
        threading.Thread(target=join, args=(guest, far, framed), daemon=True).start()
        client.settimeout(30)
        for message in MESSAGES:
            client.sendall(message)
            heard = client.recv(65536)
            while not framed and len(heard) < len(message):
                heard += client.recv(65536)
            assert heard == message
        client.close()
        assert ended.wait(30)


@pytest.mark.parametrize("processor", [ARM64, LOONG64], ids=lambda processor: processor.architecture)
def test_the_kernel_opens_the_emulator_for_its_programs_alone(processor: Processor) -> None:
    _, name, kind, offset, *words, emulator, flags = registration(processor, Path("/emulator")).split(":")
    assert (name, kind, offset, emulator, flags) == (f"sallyport-{processor.qemu}", "M", "", "/emulator", "F")
    magic, mask = (bytes.fromhex(re.sub(r"\\x", "", word)) for word in words)

    def opens(machine: int, kind: int = 2, abi: int = 0) -> bool:
        head = b"\x7fELF\x02\x01\x01" + bytes([abi]) + bytes(8) + kind.to_bytes(2, "little")
        head += machine.to_bytes(2, "little")
        return all((byte ^ wanted) & bits == 0 for byte, wanted, bits in zip(head, magic, mask, strict=True))

    assert opens(processor.elf) and opens(processor.elf, kind=3) and opens(processor.elf, abi=3)
    assert not opens(62) and not opens(processor.elf, kind=1)


@pytest.mark.parametrize("version", ["0.2.0", "0.2.0+deb13"])
def test_the_next_version_is_higher(version: str) -> None:
    newer = next_version(version)
    assert subprocess.run(["dpkg", "--compare-versions", newer, "gt", version], check=False).returncode == 0
    assert newer.partition("+")[2] == version.partition("+")[2]


def test_a_release_without_a_plugin_is_one_sentence() -> None:
    script = ROOT / "mgmt/strongswan/packaging/build.sh"
    done = subprocess.run([script, "sid"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr == "build.sh: Debian sid is none of bookworm trixie forky\n"
