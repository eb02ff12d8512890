# SPDX-License-Identifier: Apache-2.0
"""Bits of tables flip under traffic. Nothing leaves in clear, no IV comes twice, no replay and no
wrong packet is accepted: each bit is repaired, drops packets by name, or changes nothing.

`SALLYPORT_UPSETS` is how many bits flip, each in a branch of its own; `SALLYPORT_UPSET_SEED`
chooses others."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from pathlib import Path

from sallyport import suites
from sallyport.backend import Setup
from sallyport.simulator import TESTER_MAC, Simulator
from sallyport.tunnels import Tunnels
from tests.support.boxes import next_hops
from tests.support.frames import read_frames

SEED = int(os.environ.get("SALLYPORT_UPSET_SEED", "26"))
SAS = 8
BY_FLOW = SAS // 2  # behind these SAs policies without ports: rules and by prefix, in turn
SUITES = tuple(suites.find(name) for name in suites.SUITES)
FLIP_US = 4.0
ESP = 50

# A table is in one bank or in several, each with its rows.
BANK = r"(\.banks_\d+\.memory)?"
MATCH = r"rules\.words_memory\w*"
RESULT = r"(results|writer\.copies)"
TABLES = {
    "flows": r"inner\.paths\.encrypt\.flows\.ways_memory\w*",
    "rules": rf"inner\.paths\.encrypt\.rules\.{RESULT}",
    "match memories of rules": rf"inner\.paths\.encrypt\.rules\.{MATCH}",
    "inbound rules": rf"inner\.paths\.decrypt\.allowed\.table_0\.{RESULT}",
    "match memories of inbound rules": rf"inner\.paths\.decrypt\.allowed\.table_0\.{MATCH}",
    "windows": r"inner\.paths\.decrypt\.replay\.ring\.memory\.memory",
    "highest numbers": r"inner\.paths\.decrypt\.replay\.tops\.memory\.memory",
    "SAD": r"outer\.paths\.decrypt\.sad\.ways_memory\w*",
    "rules of black": rf"outer\.paths\.decrypt\.rules\.{RESULT}",
    "match memories of rules of black": rf"outer\.paths\.decrypt\.rules\.{MATCH}",
    "valid bits of rules": r"(inner|outer)\.paths\.\S+\.writer\.valid",
    "selectors": r"inner\.paths\.decrypt\.selectors\.memory",
    "tunnels": r"outer\.paths\.encrypt\.tunnels\.memory",
    "next hops": r"(inner\.paths\.decrypt\.nextHop|outer\.paths\.encrypt\.clearHop\.lookup)\.hops\.memory",
    "prefixes": r"inner\.paths\.prefixes\.tree\.levels_\d\.\w+\.memory",
    "groups of next hops": r"inner\.paths\.decrypt\.nextHop\.groups\.rows\.memory",
    "policies by prefix": r"inner\.paths\.encrypt\.prefixes\.table_0\.memory",
    "networks": r"inner\.paths\.encrypt\.networks\.memory",
    "roots of prefixes": r"(inner\.paths\.prefixes|outer\.paths\.encrypt\.clearHop)\.tree\.roots\.memory",
    "hosts": r"inner\.paths\.decrypt\.nextHop\.rows\.ways_memory\w*",
    "prefixes of black": r"outer\.paths\.encrypt\.clearHop\.tree\.levels_\d\.\w+\.memory",
    "groups of next hops of black": r"outer\.paths\.encrypt\.clearHop\.lookup\.groups\.rows\.memory",
    "hosts of black": r"outer\.paths\.encrypt\.clearHop\.lookup\.rows\.ways_memory\w*",
    "outbound keys": r"crypto\.engine\.encrypt\.fetch\.keys\.table_0\.memory",
    "outbound counters": r"crypto\.engine\.encrypt\.fetch\.authority\.counters\.memory",
    "inbound keys": r"crypto\.engine\.decrypt\.fetch\.keys\.table_0\.memory",
    "verified numbers": r"crypto\.engine\.decrypt\.fetch\.inference\.memory",
    "control registers": r"(inner|crypto|outer)\.\S+\.(plain|inverted|later)",
}
# One of each, or as many as are asked for.
UPSETS = int(os.environ.get("SALLYPORT_UPSETS", str(len(TABLES))))
# Bits of a row: the word of a counter or of a key with the check bits of SEC-DED, and a flow's row
# with its parity.
WIDTHS = {
    "crypto.engine.encrypt.fetch.authority.counters.memory.banks_0.memory": 74,
    "crypto.engine.encrypt.fetch.keys.table_0.memory.banks_0.memory": 1035,
    "crypto.engine.decrypt.fetch.keys.table_0.memory.banks_0.memory": 864,
    "inner.paths.encrypt.flows.ways_memory.banks_0.memory": 433,
}


def batch(box: int) -> list[str]:
    """Tunnels whose packets leave in clear if nothing else takes them. Half have flows, half rules
    or policies by prefix, and SAs of two inbound policies. A route leads those that come in to the
    tester."""
    lines = Tunnels(Setup({}, SUITES, sas=SAS, seed=SEED)).batch(box, 1500).splitlines()
    batch = []
    for line in lines:
        reqid = re.search(r"reqid (\d+)", line)
        if line.startswith("xfrm policy") and reqid and int(reqid[1]) > BY_FLOW:
            rest = " proto udp" if int(reqid[1]) % 2 else ""
            line = re.sub(r" proto udp sport \d+ dport \d+", rest, line)
            if " dir in " in line:
                batch.append(re.sub(r"src \S+/32", f"src 203.0.113.{reqid[1]}/32", line, count=1))
        batch.append(line)
    batch += [
        "route add default via 198.18.255.254 dev red",
        f"neigh add 198.18.255.254 lladdr {TESTER_MAC['red']} dev red",
    ]
    return [*batch, "xfrm policy add src 198.18.0.0/15 dst 198.18.0.0/15 dir out priority 9000 action allow"]


def streams() -> list[dict]:
    first = [Tunnels(Setup({}, SUITES, sas=SAS, seed=SEED)).flow(way, 0) for way in (0, 1)]
    return [
        {
            "id": way,
            "from": f"box{way}.red",
            "to": f"box{1 - way}.red",
            "load_pct": 15.0,
            "sizes": [{"size": 64, "weight": 3}, {"size": 300, "weight": 1}],
            "flows": {
                "count": SAS,
                "order": "random",
                "src_ip": str(first[way].src),
                "dst_ip": str(first[way].dst),
                "src_ip_step": 1,
                "dst_ip_step": 1,
                "src_port": first[way].src_port,
                "dst_port": first[way].dst_port,
                "src_port_step": 0,
            },
        }
        for way in (0, 1)
    ]


def moved(sim: Simulator, before: list[dict]) -> Counter[str]:
    """Counters that rose, of both boxes together."""
    rose: Counter[str] = Counter()
    for box, earlier in enumerate(before):
        later = sim.counters(box)
        for chip in ("inner", "crypto", "outer"):
            for name, count in later[chip].items():
                if count != earlier[chip][name]:
                    rose[name] += count - earlier[chip][name]
    return rose


def on_the_cable(capture: Path) -> None:
    """Asserts that all frames are ESP, and no SPI and number come twice."""
    numbers = Counter()
    for frame in read_frames(capture):
        assert frame[12:14] == b"\x08\x00" and frame[23] == ESP, f"in clear: {frame.hex()}"
        numbers[frame[34:42]] += 1
    assert max(numbers.values(), default=0) <= 1, "a number was sent twice"


def class_of(rose: Counter[str], lost: int) -> str:
    if lost:
        return "detected"
    return "corrected" if any(name.endswith("_repaired") for name in rose) else "harmless"


def upset(sim: Simulator, fault: dict, folder: Path) -> str:
    """Flips a bit under traffic with frames that come twice; its class, or an assertion fails."""
    ports = [folder / f"box{box}.pcapng" for box in (0, 1)]
    with sim.branch():
        before = [sim.counters(box) for box in (0, 1)]
        for box, port in enumerate(ports):
            sim.command("capture", port=f"box{box}.black", direction="out", file=str(port))
        for cable in sim.ready["cables"]:
            sim.command("fault", cable=cable, duplicate=0.05, seed=SEED)
        if fault:
            sim.command("fault", after_us=FLIP_US, **fault)
        answer = sim.trial(warmup_us=0, measure_us=12, seed=SEED, streams=streams())
        rose = moved(sim, before)
        twice = sum(cable["duplicated"] for cable in sim.command("status")["cables"])
    total = answer["total"]
    assert total["corrupted"] == total["duplicated"] == 0, (fault, total)
    for port in answer["ports"]:
        assert port["rx_foreign"] == port["rx_misdirected"] == port["rx_bad_fcs"] == 0, (fault, port)
    for port in ports:
        on_the_cable(port)
    assert twice >= 5
    # A packet without a next hop comes to the CPU.
    dropped = {name: count for name, count in rose.items() if name.startswith(("drop_", "punt_"))}
    assert sum(dropped.values()) == total["lost_total"] + twice, (fault, dropped, total["lost_total"], twice)
    return class_of(rose, total["lost_total"])


def test_flipped_bits_of_tables(tmp_path: Path) -> None:
    chosen = random.Random(SEED)
    seen: Counter[tuple[str, str]] = Counter()
    with Simulator(2, None, SEED, crypto="model") as sim:
        for box in (0, 1):
            next_hops(sim, box)
            sim.batch(box, batch(box))
        memories = sim.command("memories")["memories"]
        widths = {each["name"].removeprefix("box0.").removeprefix("box1."): each["bits"] for each in memories}
        assert {name: widths[name] for name in WIDTHS} == WIDTHS
        assert upset(sim, {}, tmp_path) == "harmless"
        for number in range(UPSETS):
            table = list(TABLES)[number % len(TABLES)]
            found = [each for each in memories if re.fullmatch(rf"box\d\.{TABLES[table]}{BANK}", each["name"])]
            assert found, table
            memory = chosen.choice(found)
            used = sim.command("memories", name=memory["name"])["used_rows"] or [0]
            fault = {"upset": memory["name"], "row": chosen.choice(used), "bit": chosen.randrange(memory["bits"])}
            seen[table, upset(sim, fault, tmp_path)] += 1
        sim.command("quit")
    print(f"seed {SEED}: {UPSETS} bits")
    for table in TABLES:
        print(table, {kind: seen[table, kind] for kind in ("corrected", "detected", "harmless")})
    for table in ("outbound counters", "highest numbers", "control registers"):
        assert seen[table, "detected"] == 0, f"{table}: one flipped bit is repaired"
    for kind in ("corrected", "detected"):
        assert sum(count for (_, each), count in seen.items() if each == kind), f"no bit was {kind}"
