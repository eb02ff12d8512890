# SPDX-License-Identifier: Apache-2.0
"""The alerts for Prometheus, judged by its own promtool."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

RULES = Path(__file__).resolve().parents[2] / "mgmt/packaging/sallyport.rules.yml"
BOX = 'instance="box-a:9774",job="sallyport"'
# The series of a box that works, by name, with the value that one alert each waits for.
SERIES = {
    f"sallyport_configured{{{BOX}}}": (1, 0, "SallyportNotConfigured"),
    f'sallyport_pair_other_answers{{{BOX},side="a"}}': (1, 0, "SallyportOtherBoxSilent"),
    f'sallyport_pair_problems{{{BOX},side="a"}}': (0, 2, "SallyportBoxHasProblems"),
    f'sallyport_pair_certificate_expiry_timestamp_seconds{{{BOX},side="a"}}': (
        100 * 86400,
        29 * 86400,
        "SallyportCertificateEnds",
    ),
}


def test_alerts_fire(tmp_path: Path) -> None:
    """Each alert fires for its own cause and for no other; of a box that works none does."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    alerts = [alert for *_, alert in SERIES.values()]
    tests = []
    for cause in (None, *SERIES):
        values = {name: bad if name == cause else good for name, (good, bad, _) in SERIES.items()}
        tests.append(
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": f"{value}x20"} for name, value in values.items()],
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                        "eval_time": "10m",
                        "exp_samples": [
                            {"labels": "{}", "value": int(cause is not None and SERIES[cause][2] == alert)}
                        ],
                    }
                    for alert in alerts
                ],
            }
        )
    document = tmp_path / "tests.json"  # which is YAML, too
    document.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    for command in (("check", "rules", RULES), ("test", "rules", document)):
        done = subprocess.run([promtool, *map(str, command)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
