"""Same inputs, same bytes: captures and counters do not depend on the number of worker threads."""

from __future__ import annotations

import hashlib
from pathlib import Path

from reference import Tunnel


def digest(folder: Path) -> str:
    """One hash over every file of a run, names and bytes."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def test_threads_do_not_change_a_byte(make_box, office_lan: Path) -> None:
    box = make_box(Tunnel().batch())
    runs = [box.red(office_lan, "--threads", threads, "--seed", 7) for threads in (1, 2, 2)]
    assert len({digest(run.folder) for run in runs}) == 1
