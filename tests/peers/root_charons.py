# SPDX-License-Identifier: Apache-2.0
"""Charons of other releases of Debian, each with the plugin and a simulated box."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sallyport.simulator import Simulator
from tests.ike.box import IkeBox
from tests.ike.charons import ADDRESSES, CHARON, CONF, LOAD, WAIT_S, Charon, cabled, skip_without_strongswan
from tests.peers.debian_roots import inside
from tests.support.namespaces import Host, skip_without_taps


class RootCharon(Charon):
    """One charon of the Debian in `root`, and that Debian's swanctl."""

    def __init__(
        self, folder: Path, space: Host, addresses: tuple[str, str], box: IkeBox, root: Path, settings: str, tries: int
    ) -> None:
        self.space, self._mark, self._root = space, 0, root
        self.me, self.other = addresses
        self.top, self.folder = folder, folder / space.name
        self.folder.mkdir(parents=True)
        conf = CONF.format(
            load=f"{LOAD} ml",
            folder=self.folder,
            kernel="kernel-sallyport!",
            socket=box.path,
            netlink="",
            sockets="",
            more="",
            settings=settings,
        )
        (self.folder / "conf").write_text(conf.replace("retransmit_tries = 3", f"retransmit_tries = {tries}"))
        self._out = (self.folder / "out").open("w")
        words = ("env", f"STRONGSWAN_CONF={self.folder}/conf", CHARON)
        self.process = subprocess.Popen(
            space.command(*inside(root, folder, *words)), stdout=self._out, stderr=subprocess.STDOUT
        )
        self.wait_for(lambda: (self.folder / "vici").exists())

    def swanctl(self, *words: str, check: bool = True) -> str:
        program = ("env", f"SWANCTL_DIR={self.folder}", "swanctl", *words, "--uri", f"unix://{self.folder}/vici")
        done = subprocess.run(
            inside(self._root, self.top, *program), capture_output=True, text=True, check=False, timeout=2 * WAIT_S
        )
        assert not check or done.returncode == 0, f"{done.stdout}{done.stderr}\n{self.log()[-4000:]}"
        return done.stdout + done.stderr


@contextmanager
def rooted_charons(
    folder: Path,
    *roots: Path | None,
    tag: str = "r",
    more: str = "",
    settings: str = "",
    tries: int = 3,
    threads: int = 1,
) -> Iterator[tuple[Charon, Charon]]:
    """Charons at 10.9.0.1 and 10.9.0.2 of a veth cable: each of the Debian in its root, or of this
    machine. Their boxes are of one simulation of so many threads, back to back. `tag` parts them
    from others'; `more` are lines of the daemons' files. Charons of a root have `settings` for
    their plugins, and repeat a request `tries` times."""
    skip_without_taps()
    if None in roots:
        skip_without_strongswan()
    made: list[Charon] = []
    boxes: list[IkeBox] = []
    with Simulator(boxes=2, threads=threads, seed=1) as sim, cabled(tag) as spaces:
        try:
            for n, (space, root) in enumerate(zip(spaces, roots, strict=True)):
                ends = (ADDRESSES[n], ADDRESSES[1 - n])
                box = IkeBox(sim, n, folder, more)
                boxes.append(box)
                made.append(
                    RootCharon(folder, space, ends, box, root, settings, tries)
                    if root
                    else Charon(folder, space, ends, box.path)
                )
                made[n].box = box
            yield made[0], made[1]
        finally:
            for charon in made:
                charon.kill()
            for box in boxes:
                box.stop()
