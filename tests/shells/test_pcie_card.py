# SPDX-License-Identifier: Apache-2.0
"""Configuration space and BAR 0 of a card, as a host sees them by vfio-user."""

from __future__ import annotations

import struct
from pathlib import Path
from threading import Event

import pytest

from sallyport.errors import CheckFailed, InputError
from sallyport.pcie.box import Box, shell_registers
from sallyport.pcie.server import cards
from sallyport.simulator import Simulator
from tests.shells.pcie_client import BAR0, CONFIG, RESET, FakeBox, connected

ONES = 0xFFFFFFFF


def test_the_identity_is_that_of_the_bitstream() -> None:
    """Literals of boards/ip/pcie4_uscale_plus.yaml and boards/data/vcu1525.yaml."""
    with connected() as client:
        header = client.read(CONFIG, 0, 0x40)
        assert struct.unpack_from("<HH", header) == (0x1234, 0x1001)
        assert header[0x09:0x0C] == bytes.fromhex("000010") and header[0x0E] == 0
        assert struct.unpack_from("<HH", header, 0x2C) == (0x10EE, 0x90C8)
        assert header[0x3D] == 0  # no interrupt


def test_capabilities_are_a_list_that_ends() -> None:
    with connected() as client:
        assert client.read(CONFIG, 6, 1)[0] & 0x10
        place, found = client.read(CONFIG, 0x34, 1)[0], []
        while place:
            assert place % 4 == 0 and place not in found
            found.append(client.read(CONFIG, place, 1)[0])
            place = client.read(CONFIG, place + 1, 1)[0]
        assert found == [0x01, 0x10]
        assert client.read(CONFIG, 0x100, 4) == bytes(4)


def test_the_bar_tells_its_size() -> None:
    with connected() as client:
        for place in range(0x10, 0x28, 4):
            client.write(CONFIG, place, b"\xff" * 4)
            want = ONES - (512 << 10) + 1 if place == 0x10 else 0
            assert client.read(CONFIG, place, 4) == want.to_bytes(4, "little")
        client.write(CONFIG, 0x10, bytes.fromhex("785634fe"))
        assert client.read(CONFIG, 0x10, 4) == bytes.fromhex("000030fe")


def test_nothing_answers_without_memory_space() -> None:
    """Nor in a power state but D0, nor behind a reset."""
    box = FakeBox()
    with connected(box) as client:
        client.write(BAR0, 0x14, b"\1\0\0\0")
        assert client.word(0x14) == 1
        for place, off, on in ((4, b"\0\0", b"\2\0"), (0x44, b"\3\0", b"\0\0")):
            client.write(CONFIG, place, off)
            accesses = box.accesses
            client.write(BAR0, 0x14, b"\2\0\0\0")
            assert client.word(0x14) == ONES and box.accesses == accesses
            client.write(CONFIG, place, on)
            assert client.word(0x14) == 1
        client.get(RESET)
        assert client.word(0x14) == ONES
        assert client.read(CONFIG, 4, 2) == bytes(2)


def test_a_card_that_has_left_reads_all_ones() -> None:
    box = FakeBox()
    with connected(box) as client:
        client.write(BAR0, 0x14, b"\1\0\0\0")
        client.gone.set()
        client.write(BAR0, 0x14, b"\2\0\0\0")
        assert client.word(0x14) == ONES and client.read(CONFIG, 0, 4) == b"\xff" * 4
        client.gone.clear()
        assert client.word(0x14) == 1


def test_an_address_names_card_and_register() -> None:
    box = FakeBox()
    with connected(box) as client:
        for place, chip in ((0, "crypto"), (1, "inner"), (2, "outer")):
            client.write(BAR0, place << 16 | 0x8014, bytes([place + 1, 0, 0, 0]))
            assert box.registers[chip, 0x8014] == place + 1
    with connected(box, "outer") as client:
        assert client.word(0x8014) == 3 and client.word(0x18014) == ONES


def test_what_no_bridge_gets_is_counted() -> None:
    """Requests that are no word in PCIE_REFUSED, addresses without a card in ACCESS_ERRORS, beside
    what the shells count."""
    names = shell_registers()
    box = FakeBox()
    box.registers = {("crypto", names["pcie_refused"]): 10, ("crypto", names["access_errors"]): ONES}
    box.registers |= {("inner", names["access_errors"]): 3, ("outer", names["access_errors"]): 1}
    with connected(box) as client:
        for offset, count in ((0, 1), (2, 2), (1, 4), (0, 8), (4, 16)):
            assert client.read(BAR0, offset, count) == b"\xff" * count
        client.write(BAR0, 2, bytes(4))
        client.write(BAR0, 0, bytes(8))
        assert client.word(names["pcie_refused"]) == 10 + 7
        assert client.word(0x30000) == ONES
        client.write(BAR0, 0x7FFFC, bytes(4))
        assert client.word(names["access_errors"]) == (ONES + 3 + 1 + 2) & ONES
        assert not client.ends
        client.write(BAR0, 1, b"\1\1")
        client.write(BAR0, 3, b"\1")
    assert client.ends == ["a write of less than a word is lost, since the simulation's host writes whole words alone"]


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("p")
    with Simulator(boxes=1, threads=1, seed=1, chips="shell", socket_dir=folder) as simulator:
        yield simulator


def test_a_simulated_card(simulator: Simulator) -> None:
    """A register that fails counts in the shell, in RTL, and in the crypto card's, too."""
    errors = shell_registers()["access_errors"]
    box = Box(simulator.socket(0))
    box.require_shells()
    with connected(box) as client:
        assert client.word(0x8000) == client.word(0x18000) == client.word(0x28000) == 0x534C5953
        client.write(BAR0, 0x18014, b"\1\2\3\4")
        assert client.word(0x18014) == 0x04030201
        for number, offset in enumerate((0x7FF0, 0x17FF0, 0x2FFF0), start=1):
            assert client.word(offset) == ONES and client.word(errors) == number
        client.write(BAR0, 0x7FF0, bytes(4))
        assert client.word(errors) == 4
    box.close()


def test_sockets_are_there_as_long_as_the_server(simulator: Simulator, tmp_path: Path) -> None:
    said: list[str] = []
    with cards(simulator.socket(0), said.append, Event()) as (paths, _):
        assert [path.name for path in paths.values()] == ["box0.inner.vfio", "box0.crypto.vfio", "box0.outer.vfio"]
        with (
            pytest.raises(InputError, match="is this box served already"),
            cards(simulator.socket(0), said.append, Event()),
        ):
            pass
        assert all(path.is_socket() for path in paths.values())
    assert not any(path.exists() for path in paths.values())
    with pytest.raises(InputError, match="of a simulation that runs"), cards(tmp_path / "x", print, Event()):
        pass
    assert not said


def test_an_end_of_the_simulation_is_one_sentence(tmp_path: Path) -> None:
    simulator = Simulator(boxes=1, threads=1, seed=1, chips="shell", socket_dir=tmp_path)
    box = Box(simulator.socket(0))
    simulator.close()
    with pytest.raises(CheckFailed, match=r"box0\.sock has ended"):
        box.read("crypto", 0)
    box.close()


def test_bare_cores_are_no_cards(tmp_path: Path) -> None:
    with (
        Simulator(boxes=1, threads=1, seed=1, socket_dir=tmp_path) as simulator,
        pytest.raises(InputError, match="has no cards: start the simulation with --chips shell"),
        cards(simulator.socket(0), print, Event()),
    ):
        pass
