# SPDX-License-Identifier: Apache-2.0
"""`.venv/bin/python -m tests.box.many_sas [--sas N] [--tables standard|full]`

Measures how long `sallyctl -batch` takes to load N SAs into each of two simulated boxes. The boxes
then stand back to back, and every SA carries packets both ways, so that each is known to be there:
in `sallyctl`'s list, and in the chips' own counts. Exit status 1 if one is missing. The times are
of this machine and hold nothing up.
"""

from __future__ import annotations

import argparse
import re
import sys
import time

from sallyport import suites
from sallyport.backend import Setup
from sallyport.errors import CheckFailed, InputError
from sallyport.simulator import Simulator
from sallyport.tunnels import FIRST_SPI, Tunnels

LOAD_PCT, FRAME = 40, 64
FRAMES_PER_US = 148.8 * LOAD_PCT / 100
# Of an SA in `sallyctl -s xfrm state list`.
LISTED = re.compile(
    r"spi 0x([0-9a-f]+) reqid.*?lifetime current:\n\s+\d+\(bytes\), (\d+)\(packets\)\n\tdir (in|out)", re.S
)


def load(sim: Simulator, tunnels: Tunnels, box: int, sas: int) -> None:
    """Configure a box, and print the time that it took."""
    began = time.monotonic()
    sim.batch(box, tunnels.batch(box, mtu=9582).splitlines())
    took = time.monotonic() - began
    print(f"box {box}: {sas} SAs and as many policies in {took:.1f} s, {1000 * took / sas:.2f} ms an SA", flush=True)
    sim.face_tester(box)


def carry(sim: Simulator, tunnels: Tunnels, each: int) -> list[int]:
    """Frames both ways, of the flows in turn, at least one of each; how many each way had."""
    streams = []
    for way in (0, 1):
        flow = tunnels.flow(way, 0)
        flows = {"count": each, "src_ip": str(flow.src), "dst_ip": str(flow.dst), "src_ip_step": 1, "dst_ip_step": 1}
        ports = {"src_port": flow.src_port, "dst_port": flow.dst_port, "src_port_step": 0}
        ends = {"from": f"box{way}.red", "to": f"box{1 - way}.red"}
        streams.append({"id": way, **ends, "load_pct": LOAD_PCT, "frame_size": FRAME, "flows": {**flows, **ports}})
    answer = sim.trial(warmup_us=10, measure_us=int(1.1 * each / FRAMES_PER_US) + 10, seed=1, streams=streams)
    if not answer["passed"]:
        raise CheckFailed(
            f"packets were lost: {[row['lost_total'] for row in answer['streams']]} in the two directions"
        )
    return [row["tx_frames_total"] for row in answer["streams"]]


def missing(sim: Simulator, box: int, each: int, sent: list[int]) -> list[str]:
    """The errors in the SAs of a box, a sentence each."""
    counted = sim.sallyctl(box, "xfrm", "state", "count").split()[-1]
    wrong = [] if int(counted) == 2 * each else [f"box {box} counts {counted} SAs"]
    found: dict[str, dict[int, int]] = {"in": {}, "out": {}}
    for spi, packets, way in LISTED.findall(sim.sallyctl(box, "-s", "xfrm", "state", "list")):
        found[way][int(spi, 16)] = int(packets)
    for way, frames in (("out", sent[box]), ("in", sent[1 - box])):
        # In turn: each SA has as many as the others, or one more.
        want = {FIRST_SPI + n: frames // each + (n < frames % each) for n in range(each)}
        wrong += [
            f"box {box}, {way} 0x{spi:x}: {found[way].get(spi)} packets, want {want[spi]}"
            for spi in want
            if found[way].get(spi) != want[spi]
        ]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sas", type=int, default=10_000, help="in each box, half of them inbound (default 10000)")
    parser.add_argument("--tables", choices=("standard", "full"), default="full", help="standard ones hold 2048")
    options = parser.parse_args()
    if options.sas < 2 or options.sas % 2:
        parser.error("--sas must be even, and at least 2")
    each = options.sas // 2
    tunnels = Tunnels(Setup({}, suites.parse("aes256gcm16"), sas=each))
    try:
        with Simulator(boxes=2, threads=None, seed=1, tables=options.tables) as sim:
            for box in (0, 1):
                load(sim, tunnels, box, options.sas)
            sent = carry(sim, tunnels, each)
            wrong = [line for box in (0, 1) for line in missing(sim, box, each, sent)]
    except InputError as error:
        parser.error(str(error))
    except CheckFailed as error:
        print(error, file=sys.stderr)
        return 1
    for line in wrong[:20]:
        print(line)
    print(f"{sum(sent)} packets, {len(wrong)} things wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
