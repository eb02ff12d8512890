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
TUNNEL = 'dir="out",src="192.0.2.1",dst="192.0.2.2",reqid="1"'
# The series of a box that works, by name, with the values for which one alert each waits, a minute
# each. Time begins at 0 and is 600 s where they are looked at.
SERIES = {
    f"sallyport_configured{{{BOX}}}": ("1x20", "0x20", "SallyportNotConfigured"),
    f'sallyport_tamper{{{BOX},chip="crypto"}}': ("0x20", "0x9 1x10", "SallyportTampered"),
    f'sallyport_lane_in_service{{{BOX},path="encrypt",lane="2"}}': ("1x20", "1x9 0x10", "SallyportLaneFailed"),
    f"sallyport_selftest_runs_total{{{BOX}}}": ("0+1x20", "7x20", "SallyportSelfTestStands"),
    f'sallyport_table_upset{{{BOX},chip="inner",table="flow"}}': ("0x4 1x1 0x14", "1x20", "SallyportUpsetStays"),
    f'sallyport_link_up{{{BOX},link="inner"}}': ("1x20", "0x20", "SallyportLinkDown"),
    f'sallyport_port_signal{{{BOX},port="red"}}': ("1x20", "0x20", "SallyportPortDark"),
    f'sallyport_card_temperature_celsius{{{BOX},chip="inner"}}': ("90x20", "90.5x20", "SallyportHot"),
    f"sallyport_noise_good{{{BOX}}}": ("1x20", "0x20", "SallyportNoiseFails"),
    f'sallyport_sa_end_timestamp_seconds{{{BOX},{TUNNEL},spi="0x2"}}': ("7200x20", "630x20", "SallyportTunnelEnds"),
    f'sallyport_pair_other_answers{{{BOX},side="a"}}': ("1x20", "0x20", "SallyportOtherBoxSilent"),
    f'sallyport_pair_active{{{BOX},side="a"}}': ("1x20", "1x7 0x12", "SallyportPlaceMoved"),
    f'sallyport_pair_problems{{{BOX},side="a"}}': ("0x20", "2x20", "SallyportBoxHasProblems"),
    f'sallyport_pair_certificate_expiry_timestamp_seconds{{{BOX},side="a"}}': (
        f"{100 * 86400}x20",
        f"{29 * 86400}x20",
        "SallyportCertificateEnds",
    ),
    f'sallyport_event_queue_left_total{{{BOX},queue="inner_audit"}}': ("7x20", "7+1x20", "SallyportEventFlood"),
}
# The SA that the one of SERIES has replaced: its end is no alert.
REPLACED = f'sallyport_sa_end_timestamp_seconds{{{BOX},{TUNNEL},spi="0x1"}}'


def test_alerts_fire(tmp_path: Path) -> None:
    """Each alert fires for its own cause and for no other; of a box that works none does."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    alerts = [alert for *_, alert in SERIES.values()]
    assert len(alerts) == RULES.read_text().count("- alert:")
    tests = []
    for cause in (None, *SERIES):
        values = {name: bad if name == cause else good for name, (good, bad, _) in SERIES.items()}
        values[REPLACED] = "610x20"
        tests.append(
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": text} for name, text in values.items()],
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                        "eval_time": f"{minute}m",
                        "exp_samples": [
                            {"labels": "{}", "value": int(cause is not None and SERIES[cause][2] == alert)}
                        ],
                    }
                    for alert in alerts
                    for minute in ((10,) if cause else (0, 1, 10))
                ],
            }
        )
    document = tmp_path / "tests.json"  # which is YAML, too
    document.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    for command in (("check", "rules", RULES), ("test", "rules", document)):
        done = subprocess.run([promtool, *map(str, command)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
