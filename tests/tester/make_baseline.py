# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.tester.make_baseline`: measures tests/tester/baseline/throughput.json anew
(docs/reference/report.md).

Simulated figures are exact, so the same commit gives the same file on every machine. It leaves out
figures that depend on the machine, and histograms, which no test compares.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from tests.support.paths import ROOT

BASELINE = ROOT / "tests" / "tester" / "baseline" / "throughput.json"
SUITES, TESTS = ("aes256gcm16", "sm4-sm3"), ("throughput", "latency")
TRIAL = ["--no-cache", "--frame-size", "64,1400", "--warmup-us", "20", "--measure-us", "40"]
LEFT_OUT = ("wall_s", "cycles_per_s", "histogram")


def measured(crypto: str = "rtl") -> list[dict]:
    """The rows of the baseline, from the boxes as they are built now. Lanes in RTL and modelled
    ones have the same rows, but for the column that says so."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        for suite in SUITES:
            command = [str(ROOT / "sallyport"), "rfc2544", "--suite", suite, "--test", ",".join(TESTS), *TRIAL]
            command += ["--crypto", crypto]
            subprocess.run([*command, "--json", str(path)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            rows += sorted(json.loads(path.read_text()), key=lambda row: TESTS.index(row["test"]))
    assert {row["crypto"] for row in rows} == {crypto}
    return [{name: value for name, value in row.items() if name not in LEFT_OUT} | {"crypto": "rtl"} for row in rows]


if __name__ == "__main__":
    BASELINE.parent.mkdir(exist_ok=True)
    BASELINE.write_text(json.dumps(measured(), indent=2) + "\n")
    print(BASELINE.relative_to(ROOT))
