# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.box.fingerprint`: one hash over what the boxes do, for a change that must
do nothing.

It hashes the captures (bytes and simulated times) and counters of a fixed set of replays in both
directions, and the rows of a fixed set of trials. Two commits with the same hash carry the same
packets at the same nanoseconds. `-v` prints a hash for each run, to find the one that differs.

Run it before and after a change of structure: `make sim mgmt && python -m tests.box.fingerprint`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import tempfile
from pathlib import Path

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import PcapWriter

ROOT = Path(__file__).resolve().parents[2]
NEAR, FAR = "192.0.2.1", "192.0.2.2"
LENGTHS = [1, 26, 27, 63, 200, 441, 1000, 1372, 1400, 3000]
# Linux's names and the length of the keys in bytes, a suite of each kind of lane schedule.
SUITES = {
    "gcm": (('aead "rfc4106(gcm(aes))" {} 128', 36),),
    "chacha": (('aead "rfc7539esp(chacha20,poly1305)" {} 128', 36),),
    "cbc-sm3": (('enc "cbc(sm4)" {}', 16), ('auth-trunc "hmac(sm3)" {} 128', 32)),
    "ctr-sha256": (('enc "rfc3686(ctr(aes))" {}', 20), ('auth-trunc "hmac(sha256)" {} 128', 32)),
}
TRIALS = [
    ["--suite", "aes256gcm16", "--frame-size", "64,1400,imix"],
    ["--suite", "sm4-sm3", "--frame-size", "64,1518", "--ip", "6"],
    ["--suite", "aes128gcm16", "--frame-size", "128", "--mode", "transport"],
    ["--suite", "chacha20poly1305", "--frame-size", "512", "--nat-t", "--sas", "16"],
]
OF_THE_MACHINE = ("wall_s", "cycles_per_s")


def batch(suite: str, near: str, far: str) -> str:
    """The batch file of one end; both ends have the same keys, which depend on the direction."""
    text = f"addr add {near}/24 dev black\nneigh add {far} lladdr 02:00:00:00:00:02 dev black\n"
    for src, dst, way in ((near, far, "out"), (far, near, "in")):
        spi = 0x1000 + int(src.rsplit(".", 1)[1])
        keys = random.Random(f"{suite} {src}")
        algorithms = " ".join(form.format("0x" + keys.randbytes(n).hex()) for form, n in SUITES[suite])
        ends = f"src {src} dst {dst} proto esp"
        text += f"xfrm state add {ends} spi {spi:#x} reqid {spi} mode tunnel replay-window 1024 {algorithms}\n"
        for anything in ("0.0.0.0/0", "::/0"):
            text += f"xfrm policy add src {anything} dst {anything} dir {way} tmpl {ends} reqid {spi} mode tunnel\n"
    return text


def frames() -> list[bytes]:
    """Packets of both IP versions in every length, then frames that a box drops."""
    made: list[bytes] = []
    for number, length in enumerate(LENGTHS * 4):
        body = Raw(random.Random(number).randbytes(length))
        layer = IPv6(src="2001:db8::1", dst="2001:db8::2") if number % 3 == 0 else IP(src="10.0.0.1", dst="10.0.1.1")
        made.append(
            bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:03") / layer / UDP(sport=7, dport=9) / body)
        )
    made += [made[1][:30], made[1][:24] + b"\0\0" + made[1][26:], made[0][:14] + b"\x50" + made[0][15:]]
    return made


def digest_of(paths: list[Path]) -> str:
    """One hash over names and bytes of files."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def run(*arguments: object) -> None:
    """./sallyport with these arguments; its message ends the program if it fails."""
    subprocess.run([str(ROOT / "sallyport"), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)


def replays(folder: Path) -> dict[str, str]:
    """A hash of each suite and direction: what went in by red comes back by the peer's
    black port."""
    source = folder / "red.pcap"
    with PcapWriter(str(source), linktype=1) as writer:
        for number, frame in enumerate(frames()):
            record = Raw(frame)
            record.time = number / 1_000_000
            writer.write(record)
    hashes = {}
    for suite in SUITES:
        for direction, near, far in (("encrypt", NEAR, FAR), ("decrypt", FAR, NEAR)):
            out, file = folder / f"{suite}-{direction}", folder / f"{suite}-{direction}.xfrm"
            file.write_text(batch(suite, near, far))
            port, given = (
                ("--red", source) if direction == "encrypt" else ("--black", folder / f"{suite}-encrypt/black.pcapng")
            )
            run("replay", "--xfrm", file, port, given, "--out", out, "--seed", 1)
            hashes[f"{suite} {direction}"] = digest_of([*out.iterdir()])
    return hashes


def trials(folder: Path) -> dict[str, str]:
    """A hash of the rows of each trial, without what depends on the machine."""
    hashes = {}
    for arguments in TRIALS:
        file = folder / "rows.json"
        short = ["--no-cache", "--warmup-us", 10, "--measure-us", 20, "--json", file]
        run("rfc2544", "--test", "latency", *arguments, *short)
        rows = [{k: v for k, v in row.items() if k not in OF_THE_MACHINE} for row in json.loads(file.read_text())]
        hashes[" ".join(arguments)] = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
    return hashes


def main() -> None:
    parser = argparse.ArgumentParser(prog="fingerprint", description="One hash over fixed replays and trials.")
    parser.add_argument("-v", "--verbose", action="store_true", help="a hash for each run, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        hashes = {**replays(Path(name)), **trials(Path(name))}
    if arguments.verbose:
        for what, value in hashes.items():
            print(f"{value[:16]}  {what}")
    print(hashlib.sha256("\n".join(hashes.values()).encode()).hexdigest())


if __name__ == "__main__":
    main()
