# SPDX-License-Identifier: Apache-2.0
"""A flipped bit of a table in a simulated chip: packets that depend on its row are dropped by name,
and the daemon writes the table anew, so that the next ones pass."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from sallyport.simulator import Simulator
from tests.daemon.test_daemon import configure, daemons, stream
from tests.support.daemon import Client, Daemon

# The memories of a table in box 0, counters of the chip that meets the flip, and the way of the
# packets that box 0 sends (0) or receives (1).
TABLES = {
    "flow": (r"inner\.paths\.encrypt\.flows\.ways_memory\w*", "flow_row_upset", "drop_policy_upset", 0),
    "sad": (r"outer\.paths\.decrypt\.sad\.ways_memory\w*", "sad_row_upset", "drop_sad_upset", 1),
    "selector": (r"inner\.paths\.decrypt\.selectors\.memory", "selector_row_upset", "drop_no_selector", 1),
    "tunnel": (r"outer\.paths\.encrypt\.tunnels\.memory", "tunnel_row_upset", "drop_no_tunnel", 0),
    "next_hop": (r"outer\.paths\.encrypt\.clearHop\.lookup\.hops\.memory", "next_hop_row_upset", "drop_no_next_hop", 0),
}


def flip(sim: Simulator, pattern: str, bit: int) -> int:
    """Flips a bit of each row of the memories that are as wide, and gives how many rows these are:
    those that no packet meets do no harm."""
    memories = sim.command("memories")["memories"]
    found = [
        each for each in memories if re.fullmatch(rf"{pattern}\.banks_\d+\.memory", each["name"]) and each["bits"] > bit
    ]
    assert found
    for memory in found:
        for row in range(memory["rows"]):
            sim.command("fault", upset=memory["name"], row=row, bit=bit)
    return sum(memory["rows"] for memory in found)


def sent_and_lost(sim: Simulator, way: int) -> tuple[int, int]:
    answer = sim.trial(warmup_us=0, measure_us=10, seed=1, streams=[stream(way)])
    return answer["total"]["tx_frames_total"], answer["total"]["lost_total"]


def rewritten(watcher: Client, chip: str, table: str) -> None:
    """Returns once both events of the table have come. They may be those of the slow comparison, if
    it has met a flipped row before a packet has: then none follow for packets."""
    told = []
    while len(told) < 2:
        event = watcher.next()
        if event["event"] == "upset":
            told.append((event["chip"], event["table"], event["ok"]))
    assert told == [(chip, table, False), (chip, table, True)]


def mended(daemon: Daemon, chip: str, table: str, rows: int) -> None:
    """Returns once the daemon has written all rows of the table, and has none left to write."""
    labels = f'{{chip="{chip}",table="{table}"}}'
    deadline = time.monotonic() + 60
    while True:
        metrics = daemon.metrics()
        if (
            metrics[f"sallyport_table_rows_rewritten_total{labels}"] >= rows
            and metrics[f"sallyport_table_upset{labels}"] == 0
        ):
            return
        assert time.monotonic() < deadline, metrics
        time.sleep(0.05)


def counts(daemon: Daemon, chip: str) -> dict[str, int]:
    client = Client(daemon.control)
    try:
        return client.get("counters")["chips"][chip]
    finally:
        client.close()


@pytest.mark.parametrize("table", TABLES)
def test_the_daemon_mends_a_table(table: str, tmp_path: Path) -> None:
    pattern, met, dropped, way = TABLES[table]
    chip = pattern.partition("\\")[0]
    with Simulator(boxes=2, threads=None, seed=1) as sim, daemons(sim, tmp_path, 2) as each:
        for box, daemon in enumerate(each):
            configure(daemon, box)
        assert sent_and_lost(sim, way)[1] == 0
        watcher = Client(each[0].control)
        watcher.get("monitor")
        rows = flip(sim, rf"box0\.{pattern}", bit=9)
        sent, lost = sent_and_lost(sim, way)
        rewritten(watcher, chip, table)
        watcher.close()
        mended(each[0], chip, table, rows)
        counted = counts(each[0], chip)
        assert sent == lost == counted[dropped], counted
        assert counted[met] >= sent
        assert sent_and_lost(sim, way)[1] == 0
        assert counts(each[0], chip)[met] == counted[met]
