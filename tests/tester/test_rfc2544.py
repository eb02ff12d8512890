# SPDX-License-Identifier: Apache-2.0
"""The front end's arithmetic against the published table, and a short RFC 2544 run of two boxes."""

from __future__ import annotations

import json
import re
from contextlib import closing
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from sallyport import limits, simulator, suites
from sallyport.backend import Setup
from sallyport.backend_sim import SimBackend
from sallyport.errors import InputError
from sallyport.tunnels import Tunnels
from tests.support.hosts import TO_BLACK, Pair, sealed
from tests.support.paths import SHARED
from tests.support.reference import FAR, FAR_V6, NEAR, NEAR_V6, Tunnel
from tests.support.replay import sallyport

WIRE_BYTES = 20  # preamble, start of frame and gap between frames (IEEE 802.3 4.4.2)
# The published tables, and the suites that each is about.
TABLES = {
    "AES-GCM-16": ["aes128gcm16", "aes192gcm16", "aes256gcm16", "aes256gmac", "chacha20poly1305"],
    "SM4-GCM-16": ["sm4gcm16"],
    "SM4-CBC+HMAC-SM3-128": ["sm4-sm3", "aes128-sha256", "aes256-sha256"],
    "SM4-CBC+HMAC-SM3-256": ["sm4-sm3-256"],
}


def published() -> str:
    """The published tables, or a skip that says where they are missing."""
    for path in sorted(SHARED.glob("*.md")):
        text = path.read_text()
        if all(f"#### {table}, outer IPv4\n" in text for table in TABLES):
            return text
    pytest.skip("no page with the published tables is beside this clone (../shared)")


@pytest.mark.parametrize(("table", "name"), [(table, name) for table, names in TABLES.items() for name in names])
def test_theoretical_maximum_matches_the_published_table(table: str, name: str) -> None:
    text = published()
    suite = suites.find(name)
    for ip, nat_t in product((4, 6), (False, True)):
        heading = f"#### {table}, outer IPv{ip}{' + NAT-T' if nat_t else ''}\n"
        table_text = text.split(heading)[1].split("####")[0]
        rows = re.findall(
            r"^\| (\d+) \| (\d+) \| \d+ \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| ([\d.]+) \|$", table_text, re.M
        )
        assert len(rows) == 12
        for size, esp, mpps, percent in rows:
            fraction = limits.theoretical_fraction({int(size): 1}, [suite], "tunnel", ip, nat_t)
            assert limits.esp_frame_bytes(int(size), suite, "tunnel", ip, nat_t) == int(esp)
            assert f"{float(100 * fraction):.2f}" == percent
            assert f"{float(fraction * limits.line_rate_fps(int(size))) / 1e6:.3f}" == mpps


@pytest.mark.parametrize(("table", "name"), [(table, names[0]) for table, names in TABLES.items()])
def test_largest_frames_match_the_published_table(table: str, name: str) -> None:
    text = published()
    rows = re.findall(r"^\| ([\w+-]+) \| v(\d) \| (yes|no) \| (\d+) \| (\d+) \|$", text, re.M)
    mine = [row[1:] for row in rows if row[0] == table]
    assert len(mine) == (0 if table == "SM4-GCM-16" else 4)
    for ip, nat_t, *largest in mine:
        found = [
            limits.largest_frame([suites.find(name)], "tunnel", int(ip), nat_t == "yes", port) for port in (1518, 9216)
        ]
        assert found == [int(size) for size in largest]


@pytest.mark.parametrize("name", sorted({name for names in TABLES.values() for name in names}))
def test_tunnel_frames_are_as_long_as_scapy_s(name: str) -> None:
    """Over either IP version, with ESP in UDP and without, at each length of the last block; and so
    is the share of the wire."""
    suite = suites.find(name)
    for (ip, near, far), port in product(((4, NEAR, FAR), (6, NEAR_V6, FAR_V6)), (None, 4500)):
        peer = Tunnel(suite=name, near=near, far=far, far_port=port).peer_sender()
        for size in [*range(64, 97), 128, 512, 1400, 1518]:
            packet = IP(src="198.19.0.1", dst="198.18.0.1") / UDP(sport=7, dport=9) / Raw(bytes(size - 46))
            black = 14 + len(peer.encrypt(IP(bytes(packet)))) + 4
            assert limits.esp_frame_bytes(size, suite, "tunnel", ip, port is not None) == black
            share = limits.theoretical_fraction({size: 1}, [suite], "tunnel", ip, port is not None)
            assert share == Fraction(size + WIRE_BYTES, black + WIRE_BYTES)


@pytest.mark.parametrize("name", ["aes256gcm16", "sm4-sm3-256", "aes256-sha1", "null-sha256"])
def test_transport_frames_are_as_long_as_scapy_s(name: str) -> None:
    """The host's own header, and ESP of the bytes behind it."""
    host, suite = Pair(suite=name), suites.find(name)
    for size in [*range(64, 97), 1400, 1518]:
        red = TO_BLACK / host.packet(size - 46)
        assert len(red) + 4 == size
        assert limits.esp_frame_bytes(size, suite, "transport") == len(sealed(host.far_sender(), red)) + 4


def test_several_suites_share_the_wire() -> None:
    """Two suites in turn: as many bytes as both together."""
    both = suites.parse("sm4-sm3,aes256gcm16")
    frames = [limits.esp_frame_bytes(64, suite) + limits.SLOT_BYTES for suite in both]
    assert limits.theoretical_fraction({64: 1}, both) == Fraction(2 * 84, sum(frames))


def test_suites_of_both_classes_share_two_boxes(tmp_path: Path) -> None:
    """GCM overtakes CBC and HMAC, at the theoretical maximum of both together; nothing is lost, and
    each suite keeps its order."""
    rows_file = tmp_path / "rows.json"
    sallyport(
        "rfc2544", "--suite", "aes256gcm16,sm4-sm3", "--sas", "8", "--frame-size", "64", "--warmup-us", "20", "--measure-us", "40",
        "--json", rows_file,
    )  # fmt: skip
    (row,) = json.loads(rows_file.read_text())
    assert row["passed"]
    assert (row["lost"], row["reordered"]) == (0, 0)
    assert row["ratio"] >= 0.95
    assert row["latency_ns"]["min"] < row["latency_ns"]["max"] / 2


def test_two_boxes_carry_what_the_wire_allows(tmp_path: Path) -> None:
    """A short slice of `make demo`: latency test at the theoretical maximum, so one trial a size,
    zero loss."""
    rows_file = tmp_path / "rows.json"
    sallyport(
        "rfc2544", "--frame-size", "64,1400", "--warmup-us", "20", "--measure-us", "40", "--json", rows_file,
        "--html", tmp_path / "report.html",
    )  # fmt: skip
    rows = json.loads(rows_file.read_text())
    assert [row["frame_size"] for row in rows] == [64, 1400]
    for row in rows:
        assert row["passed"]
        assert (row["lost"], row["reordered"]) == (0, 0)
        assert row["ratio"] >= (0.90 if row["frame_size"] < 512 else 0.98)
        assert row["tx_frames"] == row["rx_frames"] > 0
    assert rows[1]["latency_ns"]["max"] < 6000  # simulated time, so exact
    assert "<table>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("boxes", "sas"), [(2, 1), (2, 16), (1, 4)])
def test_transport_mode_carries_what_the_wire_allows(tmp_path: Path, boxes: int, sas: int) -> None:
    """Bumps in the wire: every frame comes out byte for byte, at the rate that the black frames of
    the hosts' own headers leave."""
    rows_file = tmp_path / "rows.json"
    sallyport(
        "rfc2544", "--mode", "transport", "--boxes", boxes, "--sas", sas, "--frame-size", "64,1400",
        "--warmup-us", "20", "--measure-us", "40", "--json", rows_file,
    )  # fmt: skip
    rows = json.loads(rows_file.read_text())
    for row in rows:
        assert (row["mode"], row["passed"], row["lost"], row["reordered"]) == ("transport", True, 0, 0)
        assert row["ratio"] >= (0.90 if row["frame_size"] < 512 else 0.98)
    # 14 + 20 + 8 + 8 + 28 + 16 + 4 = 98 B, and 20 B of preamble and gap.
    assert rows[0]["theoretical_pct"] == pytest.approx(100 * 84 / 118, abs=0.001)


@pytest.mark.parametrize("direction", ["encrypt", "decrypt", "both"])
def test_one_box_carries_what_the_wire_allows(tmp_path: Path, direction: str) -> None:
    """A box alone, its tester on red and on black; it decrypts packets that another one encrypted
    in an earlier run."""
    rows_file = tmp_path / "rows.json"
    sallyport(
        "rfc2544", "--boxes", "1", "--direction", direction, "--frame-size", "64,1400,imix", "--sas", "4",
        "--warmup-us", "20", "--measure-us", "40", "--json", rows_file,
    )  # fmt: skip
    rows = json.loads(rows_file.read_text())
    for row in rows:
        assert (row["passed"], row["lost"], row["reordered"]) == (True, 0, 0)
        assert row["ratio"] >= 0.98
        assert row["tx_frames"] == row["rx_frames"] > 0
    assert rows[1]["latency_ns"]["max"] < 3000


def test_latency_at_a_tenth_of_line_rate(tmp_path: Path) -> None:
    """One trial a size at just that load; two boxes take what one takes twice, and the wire
    between them."""
    latency = {}
    for boxes, direction in ((1, "encrypt"), (1, "decrypt"), (2, "encrypt")):
        rows_file = tmp_path / "rows.json"
        sallyport(
            "rfc2544", "--test", "latency", "--latency-at", "100", "--load", "10", "--boxes", boxes, "--direction", direction,
            "--frame-size", "64,1400",            "--warmup-us", "10", "--measure-us", "50", "--json", rows_file,
        )  # fmt: skip
        rows = json.loads(rows_file.read_text())
        assert [(row["load_pct"], row["trials"], row["passed"]) for row in rows] == [(10.0, 1, True)] * 2
        latency[boxes, direction] = [row["latency_ns"] for row in rows]
    cable_ns = 100
    for size, both, encrypt, decrypt in zip(
        (64, 1400), latency[2, "encrypt"], latency[1, "encrypt"], latency[1, "decrypt"], strict=True
    ):
        on_the_wire = (
            cable_ns + limits.esp_frame_bytes(size, suites.find("aes256gcm16")) * 8e9 / limits.WIRE_BITS_PER_SECOND
        )
        assert both["avg"] == pytest.approx(encrypt["avg"] + on_the_wire + decrypt["avg"], abs=10)


def test_full_tables_say_how_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, which is exit status 2."""
    monkeypatch.setitem(simulator.TABLES, "full", (simulator.ROOT / "build" / "absent", simulator.TABLES["full"][1]))
    with (
        pytest.raises(InputError, match=r"build/absent/sallyport-sim is not built; run 'make sim TABLES=full' first"),
        closing(SimBackend()) as tester,
    ):
        tester.check(Setup({64: 1}, suites.parse("aes256gcm16"), tables="full"))


def test_each_of_64_ki_tunnels_has_a_flow_of_its_own() -> None:
    """Five-tuples and SPIs are distinct, and what the tester counts up to is the last of them."""
    gcm, last = suites.parse("aes256gcm16"), {}
    for ip in (4, 6):
        tunnels = Tunnels(Setup({}, gcm, ip=ip, sas=65_536))
        flows = [[tunnels.flow(way, number) for number in range(65_536)] for way in (0, 1)]
        assert len(set(flows[0])) == len(set(flows[1])) == 65_536
        last[ip] = (str(flows[0][-1].src), str(flows[0][-1].dst))
    assert last == {4: ("198.18.255.255", "198.19.255.255"), 6: ("2001:2:0:100::ffff", "2001:2:0:101::ffff")}
    with pytest.raises(InputError, match="--sas 65537: choose 1 to 65536"):
        Tunnels(Setup({}, gcm, sas=65_537))
