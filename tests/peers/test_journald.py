# SPDX-License-Identifier: Apache-2.0
"""journald takes the daemon's log with its priorities, and rotates it. The daemon writes no file of
a log, so logrotate has nothing to do."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sallyport.simulator import Simulator
from tests.peers.journal import JOURNALD, Journal, journal
from tests.peers.programs import need
from tests.support.daemon import Client, Daemon
from tests.support.paths import ROOT

KEY = "0f" * 36
SAS = 40
# As systemd tells a service that its standard error is the journal's: its device and inode.
TOLD = 'JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec "$@"'
PRIORITIES = {"ERROR": "3", "WARN": "4", "INFO": "6", "DEBUG": "7"}
NAME = "sallyportd"


def state(spi: int) -> str:
    ends = f"src 192.0.2.1 dst 192.0.2.2 proto esp spi {spi:#x} reqid {spi}"
    return f"xfrm state add {ends} mode tunnel replay-window 64 aead rfc4106(gcm(aes)) 0x{KEY} 128"


class Logged(Daemon):
    """A daemon whose standard error is the journal's."""

    sim: Simulator

    def in_journal(self, held: Journal) -> Logged:
        self._command = held.inside("systemd-cat", "-t", NAME, "sh", "-c", TOLD, "sh", *self._command)
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Journal, Logged]]:
    """A journal, and a daemon that logs to it."""
    if os.geteuid() != 0 or not JOURNALD.exists():
        pytest.skip(f"a journal of one's own needs root and {JOURNALD}")
    with journal() as held, Simulator(boxes=1, threads=1, seed=1) as sim:
        daemon = Logged(sim.socket(0), tmp_path / "box", None).in_journal(held)
        daemon.sim = sim
        daemon.start()
        try:
            yield held, daemon
        finally:
            daemon.kill()


def ask(daemon: Daemon, lines: list[str]) -> dict:
    client = Client(daemon.control)
    try:
        return client.ask("batch", lines=lines)
    finally:
        client.close()


def test_priorities_and_fields(both: tuple[Journal, Logged]) -> None:
    """Each line is an entry with its priority and its process, without a time or a level in its
    text. `-g` finds the audit trail: each change once, and no key."""
    held, daemon = both
    assert ask(daemon, [state(0x1000 + n) for n in range(SAS)])["ok"]
    assert not ask(daemon, [state(0x1000)])["ok"]
    entries = held.entries(NAME)
    for entry in entries:
        assert (entry["_PID"], entry["_COMM"], entry["_TRANSPORT"], entry["_UID"]) == (
            str(daemon.pid), NAME, "stdout", "0",
        )  # fmt: skip
        assert not re.search(r"^<\d>|\btime=|\blevel=", entry["MESSAGE"]), entry["MESSAGE"]
    found = {entry["MESSAGE"]: entry["PRIORITY"] for entry in entries}
    (ready,) = [level for message, level in found.items() if message.startswith("msg=ready")]
    assert ready == PRIORITIES["INFO"]
    assert found['msg="request done" do=batch'] == PRIORITIES["DEBUG"]
    assert not any(KEY in message for message in found)
    changes = [entry["MESSAGE"] for entry in held.entries(NAME, "-g", "event=change")]
    spis = re.findall(r"object=\"xfrm state [^\"]*spi (0x[0-9a-f]+)\"", "\n".join(changes))
    assert [int(spi, 16) for spi in spis] == [0x1000 + n for n in range(SAS)]
    refused = held.entries(NAME, "-g", "event=request .*done=false")
    assert len(refused) == 1


def test_an_error_is_one(both: tuple[Journal, Logged]) -> None:
    """Chips that are gone: the journal's own filter by priority finds what the daemon calls an
    error."""
    held, daemon = both
    assert held.entries(NAME, "-p", "err") == []
    daemon.sim.command("quit")
    assert not ask(daemon, [state(0x1000)])["ok"]
    errors = held.entries(NAME, "-p", "err")
    assert errors and {entry["PRIORITY"] for entry in errors} == {PRIORITIES["ERROR"]}
    assert any("the simulator closed the connection" in entry["MESSAGE"] for entry in errors)


def test_the_journal_rotates(both: tuple[Journal, Logged]) -> None:
    """Lines before and behind a rotation are all there, and the daemon does nothing for it."""
    held, daemon = both
    assert ask(daemon, [state(0x1000)])["ok"]
    held.run("journalctl", "--sync")
    held.run("journalctl", "--rotate")
    assert ask(daemon, [state(0x1001)])["ok"]
    assert len(held.entries(NAME, "-g", "event=change")) == 2
    assert len(held.run("find", "/run/log/journal", "-name", "system*.journal").split()) == 2


def test_logrotate_finds_nothing(both: tuple[Journal, Logged], tmp_path: Path) -> None:
    """No file in /var/log, none beside the state that has the log's words, none that the daemon
    holds open to write; and the package has no rule for logrotate."""
    (logrotate,) = need("logrotate")
    held, daemon = both
    assert ask(daemon, [state(0x1000)])["ok"]
    assert held.run("find", "/var/log", "-type", "f") == ""
    rules, done = tmp_path / "rules", tmp_path / "status"
    rules.write_text(
        f"/var/log/*.log /var/log/*/*.log {tmp_path}/box/*.log {{\n  size 1\n  rotate 1\n  missingok\n}}\n"
    )
    words = held.inside(logrotate, "--verbose", "--force", "--state", done, rules)
    said = subprocess.run(words, capture_output=True, text=True, check=False).stderr
    assert "rotating pattern" in said and "rotating log " not in said and "renaming" not in said, said
    written = [path for path in (tmp_path / "box").rglob("*") if path.is_file() and path.stat().st_size]
    assert not [path for path in written if b"event=" in path.read_bytes()]
    held_open = [each.readlink() for each in Path(f"/proc/{daemon.pid}/fd").iterdir()]
    assert not [path for path in held_open if path.suffix == ".log" or path.is_relative_to("/var/log")]
    assert "logrotate" not in (ROOT / "mgmt/packaging/nfpm.yaml").read_text()
