# SPDX-License-Identifier: Apache-2.0
"""tshark decrypts what a box sends, with preferences made of the box's own file, and finds every
ICV right."""

from __future__ import annotations

import os
import random
import stat
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sallyport import suites
from tests.peers.programs import need
from tests.support.reference import FAR_V6, NEAR, NEAR_V6, Tunnel
from tests.support.replay import Box, sallyport
from tests.support.scapy_suites import keys

# Wireshark 4.0 has neither GMAC, ChaCha20 nor SM4 for ESP.
DECRYPTED = [
    "aes128gcm16", "aes192gcm16", "aes256gcm16", "aes128ctr-sha256", "aes256ctr-sha256",
    "aes128-sha256", "aes256-sha256", "aes256-sha1", "null-sha256",
]  # fmt: skip
SIZES = (1, 14, 15, 16, 100, 1400)
RED = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


@dataclass(frozen=True)
class Case:
    """A tunnel of a box, and the prefix behind its peer."""

    name: str
    tunnel: Tunnel
    prefix: str

    def packet(self, size: int) -> Packet:
        data = Raw(random.Random(size).randbytes(size))
        if ":" in self.prefix:
            return IPv6(src="2001:db8:1::2", dst=self.prefix + "9") / UDP(sport=7, dport=40000) / data
        return IP(src="198.18.0.2", dst=self.prefix + "9") / UDP(sport=7, dport=40000) / data

    def lines(self) -> str:
        network = f"{self.prefix}/64" if ":" in self.prefix else f"{self.prefix}0/24"
        return self.tunnel.lines(src="any", dst=network, back=network)


def cases() -> list[Case]:
    """Each suite from IPv4 in IPv4, then one in the other families, and one behind a NAT."""
    plain = [
        Case(suite, Tunnel(suite=suite, spi_out=0x1000 + n, spi_in=0x2000 + n), f"198.20.{n}.")
        for n, suite in enumerate(DECRYPTED)
    ]
    v6 = {"near": NEAR_V6, "far": FAR_V6}
    return [
        *plain,
        Case("6 in 4", Tunnel(spi_out=0x1101, spi_in=0x2101), "2001:db8:a::"),
        Case("4 in 6", Tunnel(spi_out=0x1102, spi_in=0x2102, **v6), "198.21.0."),
        Case("6 in 6", Tunnel(spi_out=0x1103, spi_in=0x2103, **v6), "2001:db8:b::"),
        Case("NAT", Tunnel(spi_out=0x1104, spi_in=0x2104, far_port=4501), "198.22.0."),
    ]


def tshark(capture: Path, config: Path, *fields: str) -> list[list[str]]:
    """These fields of each frame."""
    asked = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-r", capture, "-T", "fields", *asked],
        env=os.environ | {"WIRESHARK_CONFIG_DIR": str(config)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_tshark_decrypts_every_suite_that_it_has(make_box, tmp_path: Path) -> None:
    need("tshark")
    chosen = cases()
    head = f"addr add {NEAR}/24 dev black\naddr add {NEAR_V6}/64 dev black\n"
    box: Box = make_box(head + "".join(case.lines() for case in chosen))
    sent = [(case, case.packet(size)) for size in SIZES for case in chosen]
    outcome = box.red([RED / packet for _, packet in sent])
    assert outcome.named() == {}
    said = sallyport("wireshark", "--xfrm", box.batch, "--out", tmp_path / "wireshark").stdout
    assert said.startswith(f"{tmp_path}/wireshark: {2 * len(chosen)} of {2 * len(chosen)} SAs;")
    fields = ("esp.spi", "esp.icv_good", "esp.icv_bad", "udp.payload")
    seen = tshark(outcome.folder / "black.pcapng", tmp_path / "wireshark", *fields)
    # An SA keeps its order; a GCM suite may overtake others (docs/explanation/crypto-chip.md).
    opened = defaultdict(list)
    for spi, good, bad, payload in seen:
        # In front of the packet's own UDP may be that of NAT traversal.
        opened[int(spi, 0)].append((good, bad, payload.split(",")[-1]))
    assert len(opened) == len(chosen)
    for case in chosen:
        payloads = [bytes(packet[UDP].payload).hex() for its, packet in sent if its is case]
        assert opened[case.tunnel.spi_out] == [("1", "0", payload) for payload in payloads], case.name


def test_another_key_fails_the_icv(make_box, tmp_path: Path) -> None:
    """So tshark's check of ICVs is one."""
    need("tshark")
    tunnel = Tunnel(suite="aes128-sha256")
    box: Box = make_box(tunnel.batch())
    outcome = box.red([RED / cases()[0].packet(100)])
    _, key = keys(tunnel.suite, tunnel.spi_out)
    other = tmp_path / "other.xfrm"
    other.write_text(box.batch.read_text().replace(key.hex(), bytes(reversed(key)).hex()))
    sallyport("wireshark", "--xfrm", other, "--out", tmp_path / "wireshark")
    seen = tshark(outcome.folder / "black.pcapng", tmp_path / "wireshark", "esp.icv_good", "esp.icv_bad")
    assert seen == [["0", "1"]]


def test_suites_that_wireshark_lacks_are_named(tmp_path: Path) -> None:
    lacked = [name for name in suites.SUITES if name not in DECRYPTED]
    batch = tmp_path / "box.xfrm"
    batch.write_text(
        "".join(
            Tunnel(suite=name, spi_out=n, spi_in=n + 256).batch()
            for n, name in enumerate(["aes256gcm16", *lacked], start=1)
        )
    )
    said = sallyport("wireshark", "--xfrm", batch, "--out", tmp_path / "w").stdout.splitlines()
    assert len(said) == 2 * len(lacked) + 1
    assert "SPI 0x00000002: Wireshark cannot decrypt rfc4543(gcm(aes))" in said
    assert stat.S_IMODE((tmp_path / "w/esp_sa").stat().st_mode) == 0o600
    assert len((tmp_path / "w/esp_sa").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "No such file or directory; give a file of ip -batch"),
        ("addr add 192.0.2.1/24 dev black\n", "no line begins with 'xfrm state add'; give the file of a box with SAs"),
        ("xfrm state add src 192.0.2.1 spi 1\n", "cannot read the SA 'xfrm state add src 192.0.2.1 spi 1' …"),
        ("xfrm state add src a dst b spi x aead n 0x1 128\n", "cannot read the SA"),
    ],
)
def test_files_that_have_no_sas_are_refused(text: str | None, sentence: str, tmp_path: Path) -> None:
    batch = tmp_path / "box.xfrm"
    if text is not None:
        batch.write_text(text)
    done = sallyport("wireshark", "--xfrm", batch, "--out", tmp_path / "w", check=False)
    assert (done.exit_code, done.stderr.count("\n"), (tmp_path / "w").exists()) == (2, 1, False)
    assert done.stderr.startswith(f"sallyport: {batch}: {sentence}")
