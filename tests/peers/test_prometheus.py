# SPDX-License-Identifier: Apache-2.0
"""Prometheus scrapes two daemons: it has every figure that they have, and takes the
packaged alerts."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sallyport.simulator import Simulator
from tests.daemon.test_daemon import configure, daemons, trial
from tests.peers.programs import need
from tests.support.daemon import METRICS_PORT, Daemon
from tests.support.namespaces import WAIT_S
from tests.support.paths import ROOT

ADDRESS = f"127.0.0.1:{20000 + os.getpid() * 8 % 12000 + 7}"
RULES = ROOT / "mgmt/packaging/sallyport.rules.yml"
CONFIG = """global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: sallyport
    static_configs: [{{targets: [{targets}]}}]
"""


def ask(path: str, **query: str) -> dict:
    """The data of an answer of Prometheus's API."""
    with urllib.request.urlopen(f"http://{ADDRESS}/api/v1/{path}?{urllib.parse.urlencode(query)}") as answer:
        return json.loads(answer.read())["data"]


@contextmanager
def prometheus(folder: Path, targets: list[str]) -> Iterator[None]:
    """Prometheus under way, from when it answers."""
    (program,) = need("prometheus")
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(rules=RULES, targets=", ".join(f'"{target}"' for target in targets)))
    words = [f"--config.file={config}", f"--storage.tsdb.path={folder}/data", f"--web.listen-address={ADDRESS}"]
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen([program, *words], stdout=log, stderr=log)
    try:
        wait_until(lambda: process.poll() is not None or answers(), lambda: (folder / "prometheus.log").read_text())
        assert process.poll() is None, (folder / "prometheus.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(WAIT_S)


def answers() -> bool:
    try:
        ask("status/buildinfo")
    except OSError:
        return False
    return True


def wait_until(condition, what) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.2)


def scraped(target: str) -> dict[str, float]:
    """What Prometheus has of a target, by name with labels, as a daemon writes it."""
    found = {}
    for row in ask("query", query=f'{{instance="{target}",__name__=~"sallyport_.*"}}')["result"]:
        labels = {name: value for name, value in row["metric"].items() if name not in ("__name__", "instance", "job")}
        text = ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()))
        found[row["metric"]["__name__"] + (f"{{{text}}}" if text else "")] = float(row["value"][1])
    return found


def told(daemon: Daemon) -> dict[str, float]:
    """The figures of the box, without those of the process."""
    return {name: value for name, value in daemon.metrics().items() if name.startswith("sallyport_")}


def test_prometheus_has_what_the_daemons_have(tmp_path: Path) -> None:
    need("prometheus")
    with Simulator(boxes=2, threads=None, seed=1) as sim, daemons(sim, tmp_path, 2) as each:
        for box, daemon in enumerate(each):
            configure(daemon, box)
        targets = [f"127.0.0.1:{METRICS_PORT + box}" for box in (0, 1)]
        with prometheus(tmp_path, targets):
            sent = trial(sim)
            for box, (target, daemon) in enumerate(zip(targets, each, strict=True)):
                frames = [value for name, value in told(daemon).items() if name.startswith("sallyport_rx_frames_total")]
                assert sent[box] in frames
                wait_until(
                    lambda target=target, daemon=daemon: scraped(target) == told(daemon),
                    lambda target=target, daemon=daemon: f"{scraped(target)} is not {told(daemon)}",
                )
            rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
            assert len(rules) == RULES.read_text().count("- alert:")
            wait_until(
                lambda: {rule["health"] for group in ask("rules")["groups"] for rule in group["rules"]} == {"ok"},
                lambda: ask("rules"),
            )
            assert ask("alerts")["alerts"] == []
