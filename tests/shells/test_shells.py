# SPDX-License-Identifier: Apache-2.0
"""`--chips shell`: chips as they are built, with a card's clocks, crossings and PCIe around each
core, carry the first-light traffic."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from sallyport import simulator
from sallyport.errors import InputError
from sallyport.simulator import Simulator, program, simulation
from tests.support.frames import read_frames
from tests.support.reference import Tunnel, classify_red, esp_payload, forwarded, open_esp
from tests.support.replay import sallyport
from tests.support.runs import digest

MINIMUM = 60
ETHERNET = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
# UDP payloads whose frames end at every byte of a beat, and the longest that a tunnel of 9600
# B takes.
SIZES = [*range(18, 84), 256, 1400, 1472, 4000, 9000]


@pytest.fixture(scope="module", autouse=True)
def shell_is_built() -> None:
    """These tests are for a simulation of its own: say how it is built, if it is not."""
    simulation(None, "shell", "standard")


def test_real_frames_leave_as_esp(make_box, office_lan: Path) -> None:
    """What policy protects is opened by scapy, in order; the core alone drops and punts the same
    under the same names."""
    tunnel = Tunnel()
    outcome = make_box(tunnel.batch()).red(office_lan, "--chips", "shell")
    frames = [frame.ljust(MINIMUM, b"\0") for frame in read_frames(office_lan)]
    protected = [forwarded(frame[14:]) for frame in frames if classify_red(frame) == "protect"]
    peer = tunnel.peer_receiver()
    for number, (frame, packet) in enumerate(zip(outcome.out, protected, strict=True), start=1):
        outer = esp_payload(frame)
        assert outer[ESP].seq == number
        assert open_esp(peer, outer).data == packet
    assert set(outcome.named()) == {f"inner.{name}" for name in map(classify_red, frames) if name != "protect"}


def test_frames_of_every_length_come_back(make_box) -> None:
    """scapy's ESP of frames that end at every byte of a beat: decrypted, in order, byte
    for byte."""
    tunnel = Tunnel()
    peer = tunnel.peer_sender()
    packets = [
        IP(src="198.19.0.1", dst="198.18.0.1", id=size)
        / UDP(sport=7, dport=9)
        / Raw(random.Random(size).randbytes(size))
        for size in SIZES
    ]
    outcome = make_box(tunnel.batch()).black(
        [ETHERNET / peer.encrypt(packet) for packet in packets], "--chips", "shell"
    )
    assert not outcome.named()
    for frame, packet in zip(outcome.out, packets, strict=True):
        want = forwarded(bytes(packet))
        assert frame[14 : 14 + len(want)] == want
        assert not any(frame[14 + len(want) :])


@pytest.mark.parametrize("core_mhz", [300, 250])
def test_two_boxes_carry_what_the_wire_allows(tmp_path: Path, core_mhz: int) -> None:
    """Both directions at the theoretical maximum, nothing lost, in the order sent; 65 B is the
    worst length for 512 bits."""
    rows = tmp_path / "rows.json"
    sallyport(
        "rfc2544",
        "--chips",
        "shell",
        "--core-mhz",
        core_mhz,
        "--frame-size",
        "64,65,1518",
        "--measure-us",
        "50",
        "--json",
        rows,
    )
    for row in json.loads(rows.read_text()):
        assert row["chips"] == "shell"
        assert (row["throughput_pct"], row["lost"], row["reordered"]) == (row["theoretical_pct"], 0, 0)


def test_same_run_same_bytes_whatever_the_threads(make_box) -> None:
    """Six clocks a chip that drift, and yet the same bytes at the same times."""
    tunnel = Tunnel()
    frames = [ETHERNET / IP(src="198.18.0.1", dst="198.19.0.1") / UDP() / Raw(bytes(size)) for size in SIZES]
    box = make_box(tunnel.batch())
    runs = [box.red(frames, "--chips", "shell", "--threads", threads) for threads in (1, 2)]
    assert digest(runs[0].folder) == digest(runs[1].folder)


def test_a_damaged_link_mends_itself(make_box) -> None:
    """Bit errors between two chips cost packets, under the name of their loss, and never a wrong
    one; the link goes on."""
    tunnel = Tunnel()
    frames = [ETHERNET / IP(src="198.18.0.1", dst="198.19.0.1", id=n) / UDP() / Raw(bytes(1000)) for n in range(400)]
    outcome = make_box(tunnel.batch()).red(frames, "--chips", "shell", "--fault", "link-ber:1e-6")
    lost = outcome.counters["crypto"]["red_rx_lost"] + outcome.counters["outer"]["link_rx_lost"]
    peer = tunnel.peer_receiver()
    for frame in outcome.out:
        assert open_esp(peer, esp_payload(frame)).data[28:] == bytes(1000)
    assert len(outcome.out) == len(frames) - lost > 0 < lost


def cards(box: Simulator) -> subprocess.CompletedProcess:
    """What `sallyctl card` says of the first box."""
    words = [program("sallyctl"), "--socket", box.socket(0), "card", "--json"]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def test_the_cards_say_how_they_are() -> None:
    """The shells' registers by PCIe: each card has the right identity, its links up and its MAC out
    of reset."""
    with Simulator(1, None, 1, chips="shell") as box:
        done = cards(box)
    assert done.returncode == 0, done.stderr
    states = json.loads(done.stdout)
    assert {chip: [link["to"] for link in state["links"]] for chip, state in states.items()} == {
        "inner": ["crypto"],
        "crypto": ["inner", "outer"],
        "outer": ["crypto"],
    }
    channel = {"up": True, "trained": True, "soft_errors": 0, "hard_errors": 0, "overflow": 0, "restarts": 0}
    for chip, state in states.items():
        assert (state["version"], state["ready"]) == ((simulator.ROOT / "VERSION").read_text().strip(), True)
        assert all(link["up"] and link["channels"] == [channel] for link in state["links"])
        assert (state["pcie_refused"], state["access_errors"]) == (0, 0)
        assert state["monitor"] == {"temperature_c": 40.2, "vccint_v": 0.85, "vccaux_v": 1.8}
        mac = {"rx_status": True, "tx_reset": False, "rx_reset": False, "overflow": 0}
        assert state.get("mac") == (None if chip == "crypto" else mac)


def test_ports_of_cards_are_read_by_hand() -> None:
    """A word of the system monitor through the shell's window; where nothing answers, the access
    ends by itself."""
    with Simulator(1, None, 1, chips="shell") as box:
        words = [program("sallyctl"), "--socket", box.socket(0), "card", "drp"]
        done = [
            subprocess.run([*words, card, *port], capture_output=True, text=True, timeout=300, check=False)
            for card, *port in (("inner", "monitor", "1"), ("outer", "mac", "0xb0200"), ("crypto", "monitor", "0"))
        ]
    assert [(one.returncode, one.stdout) for one in done] == [(0, "0x4889\n"), (1, ""), (0, "0xa110\n")]
    assert done[1].stderr == "nothing answers at that dynamic reconfiguration port\n"


def test_cores_alone_are_no_cards() -> None:
    with Simulator(1, None, 1) as box:
        done = cards(box)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "the simulated box has no cards: start the simulation with --chips shell\n"


@pytest.mark.parametrize("boxes", [1, 2])
def test_the_program_ends_without_a_fault(boxes: int) -> None:
    """Models leave the context of their chip, not that of another one, which is gone."""
    command = [simulation(None, "shell", "standard"), "--boxes", str(boxes)]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


NOT_BUILT = {
    "rtl": "build/absent/sallyport-sim-shell is not built; run 'make sim-shell' first",
    "model": "build/absent/sallyport-sim-shell-model is not built; run 'make sim-shell CRYPTO=model' first",
}


@pytest.mark.parametrize("crypto", NOT_BUILT)
def test_a_program_that_is_not_built_is_named(monkeypatch: pytest.MonkeyPatch, crypto: str) -> None:
    monkeypatch.setattr(simulator, "TABLES", {"standard": (simulator.ROOT / "build" / "absent", "")})
    with pytest.raises(InputError, match=NOT_BUILT[crypto]):
        Simulator(1, None, 1, crypto=crypto, chips="shell")
