# SPDX-License-Identifier: Apache-2.0
"""`./sallyport cluster` and the filter of its boxes: each frame that a switch floods to all nodes
has one that takes it."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from sallyport import simulator, suites
from sallyport.backend import Setup
from sallyport.cluster import dispatch, numbers
from sallyport.cluster.trials import Carried, Cluster
from sallyport.mixes import CLUSTER_MIX
from tests.support import registers
from tests.support.replay import called

CRYPTO = os.environ.get(simulator.CRYPTO_VARIABLE, "rtl")
SETUP = Setup(
    {},
    suites.parse("aes256gcm16"),
    direction="encrypt",
    sas=8,
    crypto=CRYPTO,
    threads=1,
    warmup_ns=5_000,
    measure_ns=10_000,
)
# 77 % of line rate.
FPS, MIX = Fraction(30_000_000), {300: 1}


def carried(setup: Setup, nodes: int, mode: str, check: Callable[[Cluster, Carried], None]) -> tuple:
    """A trial but for its speed, and the captures of the near nodes: they depend on the arguments
    alone."""
    with closing(Cluster(setup, nodes, mode, window=1024)) as cluster:
        found = cluster.run(MIX, FPS)
        check(cluster, found)
        return replace(found.result, simulation=None), [file.read_bytes() for file in cluster.captures]


def whole(_: Cluster, found: Carried) -> None:
    """Each frame arrived once, and no SA used a number twice."""
    assert found.result.passed, found.result.reasons
    assert found.result.rx_frames == found.result.tx_frames > 200
    assert found.dropped == {} and found.switches == {}


def test_two_nodes_share_packets_and_repeat_themselves() -> None:
    """All arrive once, each node carries a share, and a run gives the same bytes once more, on one
    thread and on two."""

    def judged(cluster: Cluster, found: Carried) -> None:
        whole(cluster, found)
        assert sum(found.shares) > 200
        assert min(found.shares) > 0.35 * sum(found.shares)
        first = [file.read_bytes() for file in cluster.captures]
        cluster.run(MIX, FPS)
        assert [file.read_bytes() for file in cluster.captures] == first

    assert carried(SETUP, 2, "packet", judged) == carried(replace(SETUP, threads=2), 2, "packet", whole)


def test_a_session_has_one_node() -> None:
    with closing(Cluster(replace(SETUP, sas=1), 2, "session", window=1024)) as cluster:
        found = cluster.run(MIX, FPS)
        whole(cluster, found)
        assert min(found.shares) == 0
        cluster.share("packet")
        found = cluster.run(MIX, FPS)
        whole(cluster, found)
        assert min(found.shares) > 0.35 * sum(found.shares)


def test_the_command_writes_a_row_for_each_search(tmp_path: Path) -> None:
    """Two whole boxes carry all that ESP leaves of the wire, so the search is one trial."""
    rows = tmp_path / "rows.json"
    chips = ("--tables", "standard", "--crypto", CRYPTO, "--suite", "aes256gcm16", "--sas", 8, "--threads", 1)
    times = ("--warmup-us", 5, "--measure-us", 15)
    done = called("cluster", "--nodes", 2, "--dispatch", "packet", "--sizes", 512, *chips, *times, "--json", rows)
    assert done.exit_code == 0, done.stderr
    assert "87.37" in done.stdout
    (row,) = json.loads(rows.read_text())
    assert row["passed"] and row["trials"] == 1 and row["gbps"] == row["wire_gbps"] == 87.372
    assert (row["nodes"], row["flows"], row["dispatch"], row["frames"]) == (2, 8, "packet", "512")
    assert row["lost"] == row["duplicated"] == 0 and row["checks"] == [] and row["of_linear_pct"] is None


@pytest.mark.long
@pytest.mark.parametrize("nodes", [3, 6])
@pytest.mark.parametrize("mode", ["session", "packet"])
def test_more_nodes(nodes: int, mode: str) -> None:
    def judged(cluster: Cluster, found: Carried) -> None:
        whole(cluster, found)
        assert all(found.shares)

    carried(SETUP, nodes, mode, judged)


@pytest.mark.parametrize("nodes", [1, 2, 6, 128])
def test_each_bucket_has_one_owner(nodes: int) -> None:
    owned = [sum(word << 32 * at for at, word in enumerate(dispatch.owned(node, nodes))) for node in range(nodes)]
    assert sum(owned) == (1 << dispatch.BUCKETS) - 1
    assert sum(mine.bit_count() for mine in owned) == dispatch.BUCKETS
    assert max(mine.bit_count() for mine in owned) - min(mine.bit_count() for mine in owned) <= 1


def test_keys_come_from_the_seed() -> None:
    assert dispatch.key(1) == dispatch.key(1) != dispatch.key(2)


@pytest.mark.parametrize("chip", dispatch.CHIPS)
def test_registers_stand_where_they_are_written(chip: str) -> None:
    assert dispatch.CHIPS[chip] == registers.CHIPS[chip]
    assert registers.offset(chip, "dispatch_control") == dispatch.CONTROL
    assert registers.offset(chip, "dispatch_owned_7") == dispatch.OWNED + 4 * 7
    assert registers.offset(chip, "dispatch_key_11") == dispatch.KEY + 4 * 11


def test_the_mix_has_its_mean_and_deviation() -> None:
    frames = [size for size, weight in CLUSTER_MIX.items() for _ in range(weight)]
    assert statistics.mean(frames) == pytest.approx(1188, abs=0.5)
    assert statistics.pstdev(frames) == pytest.approx(525, abs=0.5)


def esp(spi: int, number: int, iv: int) -> bytes:
    """A frame with an ESP packet, as a block of a pcapng file."""
    packet = b"\x45" + bytes(8) + b"\x32" + bytes(10) + spi.to_bytes(4) + number.to_bytes(4) + iv.to_bytes(8)
    frame = bytes(12) + b"\x08\x00" + packet
    padded = frame + bytes(-len(frame) % 4)
    length = 32 + len(padded)
    fields = [numbers.ENHANCED_PACKET, length, 0, 0, 0, len(frame), len(frame)]
    return b"".join(each.to_bytes(4, "little") for each in fields) + padded + length.to_bytes(4, "little")


def test_numbers_of_two_nodes_are_compared(tmp_path: Path) -> None:
    files = [tmp_path / "0", tmp_path / "1"]
    files[0].write_bytes(esp(7, 1, 1) + esp(8, 2, 1))
    files[1].write_bytes(esp(7, 2, 2))
    assert numbers.repeated(files, 8) == []
    files[1].write_bytes(esp(7, 2, 1))
    assert numbers.repeated(files, 8) == ["1 of 3 packets have the IV of another packet of their SA"]
    files[1].write_bytes(esp(7, 1, 2))
    assert numbers.repeated(files, 8) == ["1 of 3 packets have a number of another packet of their SA"]


@pytest.mark.parametrize("nodes", ["0", "129", "two", "1,,2", "-1"])
def test_numbers_of_nodes_that_make_no_sense(nodes: str) -> None:
    done = called("cluster", "--nodes", nodes)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "give 1 to 128, several with commas" in done.stderr


def test_a_simulation_with_such_lanes_must_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = (simulator.ROOT / "build" / "none", "make sim TABLES=slow")
    monkeypatch.setitem(simulator.TABLES, "slow", slow)
    done = called("cluster", "--nodes", "2", "--crypto", "model", "--json", str(tmp_path / "rows.json"))
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "is not built; run 'make sim TABLES=slow CRYPTO=model' first" in done.stderr
    assert not (tmp_path / "rows.json").exists()
