# SPDX-License-Identifier: Apache-2.0
"""Hosts in namespaces of their own across simulated boxes on TAPs: the kernel's TCP/IP on both
sides, scapy's ESP between."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from scapy.utils import RawPcapNgReader

from sallyport.cli import main
from tests.support.hosts import Pair, opened
from tests.support.namespaces import PREFIX, TUN, WAIT_S, hosts, live, persistent_tap, skip_without_taps
from tests.support.paths import ROOT
from tests.support.reference import Tunnel
from tests.support.senders import PING

BATCH = Pair(near="198.18.0.1", far="198.18.0.2")
RED, OTHER = f"{PREFIX}a", f"{PREFIX}b"
PINGS = 20
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 2, 0x1000
PORTS = ["box0.red", "box0.black", "box1.red", "box1.black"]


# One web server for one request, on its standard library.
SERVE = """
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[2])
server = http.server.HTTPServer((sys.argv[1], 8000), handler)
print("ready", flush=True)
server.handle_request()
"""
FETCH = "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())"


@dataclass(frozen=True)
class Session:
    """What a run of two bumps in the wire between two hosts left."""

    batches: list[Path]
    pinged: int
    sent: str
    fetched: str
    status: int
    said: str
    recording: Path


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    skip_without_taps()
    folder = tmp_path_factory.mktemp("live")
    batches = [folder / "near.xfrm", folder / "far.xfrm"]
    batches[0].write_text(BATCH.batch())
    batches[1].write_text(BATCH.mirrored().batch())
    page = "".join(f"line {number} of a file\n" for number in range(300))
    (folder / "page.txt").write_text(page)
    recording = folder / "session.pcapng"
    arguments = [word for batch in batches for word in ("--xfrm", batch)] + ["--red-tap", RED, "--red-tap", OTHER]
    with hosts("near", "far") as (near, far), live(*arguments, "--record", recording) as run:
        near.take(RED, f"{BATCH.near}/24")
        far.take(OTHER, f"{BATCH.far}/24")
        pinged = int(near.python(PING, BATCH.far, PINGS))
        url = f"http://{BATCH.far}:8000/page.txt"
        with far.serving(shutil.which("python3"), "-c", SERVE, BATCH.far, folder) as server:
            assert server.stdout is not None and server.stdout.readline() == "ready\n"
            fetched = near.run("curl", "-s", "-m", 60, url) if shutil.which("curl") else near.python(FETCH, url)
        status, said = run.stop(signal.SIGTERM)
    yield Session(batches, pinged, page, fetched, status, said, recording)


def frames(recording: Path, port: str, into: bool) -> list[bytes]:
    """Frames of a recording at one port, into the box or out of it."""
    with RawPcapNgReader(str(recording)) as reader:
        return [
            data
            for data, about in reader
            if (about.ifname or b"").decode() == port and about.direction == (1 if into else 2)
        ]


def packets(these: list[bytes]) -> list[bytes]:
    """Those of IPv4; the others are ARP, which a bump lets pass."""
    kinds = {frame[12:14] for frame in these}
    assert kinds <= {b"\x08\x00", b"\x08\x06"}, kinds
    return [frame for frame in these if frame[12:14] == b"\x08\x00"]


def test_twenty_pings_cross_without_loss(session: Session) -> None:
    assert session.pinged == PINGS


def test_a_file_crosses_over_http(session: Session) -> None:
    assert session.fetched == session.sent


def test_the_black_cable_carries_esp_alone(session: Session) -> None:
    """And what scapy decrypts of it is, frame by frame, what the hosts sent."""
    for box, pair in enumerate((BATCH, BATCH.mirrored())):
        clear = packets(frames(session.recording, f"box{box}.red", into=True))
        black = packets(frames(session.recording, f"box{box}.black", into=False))
        assert len(clear) > PINGS
        assert {frame[23] for frame in black} == {50}
        receiver = pair.far_receiver()
        assert [opened(receiver, frame) for frame in black] == [unpadded(frame) for frame in clear]


def unpadded(frame: bytes) -> bytes:
    return frame[: 14 + int.from_bytes(frame[16:18], "big")]


def test_what_is_recorded_is_what_crossed(session: Session) -> None:
    """The frames that leave a box are those that come into the other, in the order of
    simulated time."""
    record = session.recording
    for here, there in ((0, 1), (1, 0)):
        cable = frames(record, f"box{here}.black", into=False)
        assert cable == frames(record, f"box{there}.black", into=True)
        sent, came = frames(record, f"box{here}.red", into=True), frames(record, f"box{there}.red", into=False)
        assert sent == came
    with RawPcapNgReader(str(record)) as reader:
        times = [about.tshigh << 32 | about.tslow for _, about in reader]
    assert times == sorted(times) and times[0] > 0


def test_the_summary_counts_and_balances(session: Session) -> None:
    assert session.status == 0, session.said
    for port in PORTS:
        here, out = (len(frames(session.recording, port, into)) for into in (True, False))
        assert re.search(rf"^{port} +{here} +{out}\b", session.said, re.MULTILINE), port
    assert "drop_" not in session.said and "punt_" not in session.said
    assert "conservation: " in session.said
    assert "cycles/s" in session.said


def test_a_recording_replays_to_the_byte(session: Session, tmp_path: Path) -> None:
    """Every frame into and out of every port with its time, however many threads there are; both at
    once, to save time."""
    arguments = [word for batch in session.batches for word in ("--xfrm", batch)] + ["--replay", session.recording]
    again = {threads: tmp_path / f"{threads}.pcapng" for threads in (1, 2)}
    runs = [
        subprocess.Popen(
            [ROOT / "sallyport", "live", *arguments, "--record", path, "--threads", str(threads)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for threads, path in again.items()
    ]
    for run, path in zip(runs, again.values(), strict=True):
        said, _ = run.communicate()
        assert run.returncode == 0, said
        assert "conservation: " in said
        assert path.read_bytes() == session.recording.read_bytes()


# A host that scapy plays on the black side: it decrypts echo requests and answers them in ESP.
PEER = """
import socket, sys
from tests.support.hosts import Pair
from tests.support.senders import PING
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Ether
pair, device = Pair(near="198.18.0.1", far="198.18.0.2"), sys.argv[1]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.bind((device, 0))
receiver, sender = pair.far_receiver(), pair.far_sender()
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    frame = raw.recv(9000)
    while frame[12:14] != b"\\x08\\x00" or frame[23] != 50:
        frame = raw.recv(9000)
    asked = receiver.decrypt(IP(frame[14:]))
    echo = IP(src=pair.far, dst=pair.near) / ICMP(type=0, id=asked[ICMP].id, seq=asked[ICMP].seq) / asked[ICMP].payload
    raw.send(frame[6:12] + frame[:6] + frame[12:14] + bytes(sender.encrypt(IP(bytes(echo)))))
"""


def test_one_box_between_the_kernel_and_scapy(tmp_path: Path) -> None:
    skip_without_taps()
    batch = tmp_path / "box.xfrm"
    batch.write_text(BATCH.batch())
    with (
        hosts("red", "black") as (red, black),
        persistent_tap(OTHER),
        live("--xfrm", batch, "--red-tap", RED, "--black-tap", OTHER) as run,
    ):
        red.take(RED, f"{BATCH.near}/24")
        black.take(OTHER)
        red.run("ip", "neigh", "add", BATCH.far, "lladdr", "02:00:00:00:00:99", "dev", RED)
        with black.serving(ROOT / ".venv/bin/python", "-c", PEER, OTHER, 5) as peer:
            assert peer.stdout is not None and peer.stdout.readline() == "ready\n"
            assert red.python(PING, BATCH.far, 5) == "5\n"
        red.run("ip", "link", "del", RED)
        assert run.process.wait(WAIT_S) == 1
        assert OTHER in black.run("ip", "-o", "link", "show")  # which is not the run's, and stays
    said = run.said()
    assert f"box0.red is TAP {RED} (made" in said
    assert f"box0.black is TAP {OTHER} (which was there)" in said
    assert f"sallyport: device {RED} went away" in said
    assert "conservation: " in said
    assert "drop_" not in said


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The sentence with which the command line refuses its arguments, in this process."""

    def call(*arguments: object) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["live", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert (ended.value.code, out) == (2, "")
        return err.strip().splitlines()[-1]

    return call


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    path = tmp_path / "box.xfrm"
    path.write_text(Tunnel().batch())
    return path


def test_arguments_that_do_not_fit_are_refused(refused: Callable[..., str], batch: Path, tmp_path: Path) -> None:
    one, two = ("--xfrm", batch), ("--xfrm", batch, "--xfrm", batch)
    red, black = ("--red-tap", "x"), ("--black-tap", "y")
    for arguments, sentence in [
        ((), "live takes --xfrm FILE once, or twice"),
        ((*two, *one, *red), "not 3 times"),
        ((*one, *red), "one box (--xfrm once) has one --red-tap and one --black-tap, not 1 and 0"),
        ((*one, *black), "not 0 and 1"),
        ((*two, *red, *black), "two boxes (--xfrm twice) have two --red-tap and no --black-tap"),
        ((*two, *red, *red), "device 'x' is named twice"),
        ((*one, "--red-tap", "a" * 16, *black), "is too long: Linux takes 15 characters, this has 16"),
        ((*one, *red, "--replay", batch), "--replay FILE takes the place of the TAPs"),
        ((*one, "--replay", tmp_path / "none"), "No such file or directory"),
        ((*one, *red, *black, "--record", tmp_path), "cannot be written"),
        ((*one, *red, *black, "--record", tmp_path / "no" / "x"), "cannot be written"),
        ((*one, "--replay", batch, "--record", batch), "is the recording that --replay reads"),
    ]:
        message = refused(*arguments)
        assert message.startswith("sallyport: ") and sentence in message, message


def test_what_the_engine_finds_is_refused_and_nothing_is_left(
    refused: Callable[..., str], batch: Path, tmp_path: Path
) -> None:
    record = tmp_path / "x.pcapng"
    bad = tmp_path / "bad.xfrm"
    bad.write_text("xfrm state add banana\n")
    assert f"{bad}:1:" in refused("--xfrm", bad, "--red-tap", "x", "--black-tap", "y", "--record", record)
    assert "is no pcapng file" in refused("--xfrm", batch, "--replay", batch, "--record", record)
    ends = ("--black-tap", OTHER, "--record", record)
    message = refused("--xfrm", batch, "--red-tap", "lo", *ends)
    if os.geteuid() == 0 and TUN.exists():
        assert "cannot open TAP lo: a device of this name exists and is no TAP" in message
    assert not record.exists()


def test_a_device_in_use_is_refused(refused: Callable[..., str], batch: Path) -> None:
    skip_without_taps()
    with TUN.open("r+b", buffering=0) as tun:
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", OTHER.encode(), IFF_TAP | IFF_NO_PI))
        message = refused("--xfrm", batch, "--red-tap", RED, "--black-tap", OTHER)
    assert f"cannot open TAP {OTHER}: another process uses it" in message
    assert not Path(f"/sys/class/net/{RED}").exists()


def test_without_the_right_to_make_devices_the_sentence_says_so(batch: Path) -> None:
    skip_without_taps()
    if not shutil.which("setpriv"):
        pytest.skip("setpriv (util-linux) is not installed")
    ends = ("--red-tap", RED, "--black-tap", OTHER)
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-net_admin", ROOT / "sallyport", "live", "--xfrm", batch, *ends],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert f"cannot open TAP {RED}: no right to; run as root" in done.stderr
