# SPDX-License-Identifier: Apache-2.0
"""A live box whose daemon makes its ports devices of Linux, which has the box's addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.daemon import Daemon
from tests.support.live_box import BOX
from tests.support.namespaces import Host

DEVICES = ("sp-red", "sp-black")
TAPS = f'[taps]\nred = "{DEVICES[0]}"\nblack = "{DEVICES[1]}"\n'


@contextmanager
def managed(box: Host, folder: Path) -> Iterator[Daemon]:
    """The box's daemon in a namespace where Linux has the box's addresses; it ends well, and its
    devices with it."""
    box.run("ip", "link", "set", "lo", "up")
    daemon = Daemon(folder / "box0.sock", folder / "daemon", more=TAPS, inside=box)
    daemon.start()
    try:
        assert daemon.rights() == {"0" * 16}
        for port, device in enumerate(DEVICES):
            address, mac = BOX[port]
            assert f"link/ether {mac} " in box.run("ip", "link", "show", device)
            box.run("ip", "addr", "add", f"{address}/24", "dev", device)
        yield daemon
        assert daemon.stop() == 0, daemon.log()
        assert "sp-" not in box.run("ip", "link", "show")
    finally:
        daemon.kill()
