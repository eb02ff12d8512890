# SPDX-License-Identifier: Apache-2.0
"""Two of Debian's charons, unmodified, in network namespaces of their own, with the plugin of
mgmt/strongswan and a simulated box, or with libipsec for ESP."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sallyport.simulator import Simulator
from tests.ike.box import IkeBox
from tests.support.namespaces import PREFIX, Host, hosts, ip, skip_without_taps
from tests.support.paths import ROOT

CHARON = Path("/usr/sbin/charon-systemd")
PLUGINS = Path("/usr/lib/ipsec/plugins")
PLUGIN = ROOT / "build" / "strongswan" / "libstrongswan-kernel-sallyport.so"
WAIT_S = 60

LOAD = "random nonce openssl pem pubkey x509 constraints gcm ccm ctr chapoly cmac hmac kdf aes sha1 sha2 curve25519"
CONF = """
charon-systemd {{
  load_modular = no
  load = {load} {kernel} kernel-netlink socket-default vici {more}
  install_routes = no
  delete_rekeyed_delay = 1
  retransmit_tries = 3
  retransmit_timeout = 2
  plugins {{
    vici {{ socket = unix://{folder}/vici }}
    kernel-sallyport {{ socket = {socket} }}
    kernel-libipsec {{ allow_peer_ts = yes }}
    kernel-netlink {{ {netlink} }}
    socket-default {{ {sockets} }}
    {settings}
  }}
  filelog {{ f {{ path = {folder}/log
      time_format = %T
      time_add_ms = yes
      default = 1
      knl = 2
      chd = 4
      flush_line = yes }} }}
  journal {{ default = -1 }}
}}
"""
SWANCTL = """
connections {{ t {{
  version = 2
  local_addrs = {me}
  remote_addrs = {other}
  proposals = aes256gcm16-prfsha256-curve25519
  mobike = no
  {options}
  local {{ auth = {auth}
    {certificate}
    id = {me} }}
  remote {{ auth = {auth}
    id = {other} }}
  children {{ {children} }}
}} }}
secrets {{ ike-1 {{ secret = "correct horse battery staple" }} }}
"""


NET = "local_ts = 10.{0}.0.0/16\n remote_ts = 10.{1}.0.0/16\n"


def child(name: str, left: int, right: int, words: str) -> str:
    return f"{name} {{ {NET.format(left, right)} {words} }}\n"


def skip_without_strongswan() -> None:
    """Skip where there is no charon of the version that the plugin is for, or no namespaces; else
    build the plugin."""
    skip_without_taps()
    if not CHARON.exists() or shutil.which("swanctl") is None:
        pytest.skip(
            "strongSwan is not installed: charon-systemd, strongswan-swanctl and libcharon-extra-plugins of Debian 12"
        )
    version = subprocess.run(["swanctl", "--help"], capture_output=True, text=True, check=False)
    version = (version.stdout + version.stderr).partition("\n")[0]
    if "5.9.8" not in version:
        pytest.skip(f"the plugin is for strongSwan 5.9.8, here is {version}")
    built = subprocess.run(["make", "-C", ROOT / "mgmt" / "strongswan"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


class Charon:
    """One charon. Its plugins are Debian's and ours, in a folder that is mounted over Debian's for
    this process alone. It asks the sallyportd at `control`, or has libipsec where there is none;
    `more` are other plugins with their sections of strongswan.conf."""

    box: IkeBox  # of one with the plugin, for a test

    def __init__(
        self,
        folder: Path,
        space: Host,
        addresses: tuple[str, str],
        control: Path | None,
        more: dict[str, str] | None = None,
    ) -> None:
        self.space, self._mark = space, 0
        self.me, self.other = addresses
        self.folder = folder / space.name
        self.folder.mkdir(parents=True)
        plugins = self.folder / "plugins"
        shutil.copytree(PLUGINS, plugins)
        shutil.copy(PLUGIN, plugins)
        conf = CONF.format(
            load=LOAD,
            folder=self.folder,
            kernel="kernel-sallyport!" if control else "kernel-libipsec",
            socket=control if control else "",
            netlink="" if control else "fwmark = !0x42",
            sockets="" if control else "fwmark = 0x42",
            more=" ".join(more or {}),
            settings="\n".join((more or {}).values()),
        )
        (self.folder / "conf").write_text(conf)
        script = 'mount --bind "$1" "$2" && exec env STRONGSWAN_CONF="$3" "$4"'
        self._out = (self.folder / "out").open("w")
        self.process = subprocess.Popen(
            space.command("sh", "-c", script, "sh", plugins, PLUGINS, self.folder / "conf", CHARON),
            stdout=self._out,
            stderr=subprocess.STDOUT,
        )
        self.wait_for(lambda: (self.folder / "vici").exists())

    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text() if path.exists() else (self.folder / "out").read_text()

    def wait_for(self, condition) -> None:
        end = time.monotonic() + WAIT_S
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end, self.log()[-4000:]
            time.sleep(0.05)

    def mark(self) -> None:
        """What `said` and `wait_for_log` look at begins now."""
        self._mark = len(self.log())

    def said(self) -> str:
        return self.log()[self._mark :]

    def wait_for_log(self, pattern: str) -> None:
        self.wait_for(lambda: re.search(pattern, self.said()))

    def swanctl(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["swanctl", *words, "--uri", f"unix://{self.folder}/vici"],
            env=os.environ | {"SWANCTL_DIR": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * WAIT_S,
        )
        assert not check or done.returncode == 0, f"{done.stdout}{done.stderr}\n{self.log()[-4000:]}"
        return done.stdout + done.stderr

    def load(self, children: str, options: str = "", auth: str = "psk", secrets: str = "") -> None:
        """Gives it one connection, `t`, with these children, and more secrets than that of `psk`.
        For `pubkey` there are certificates in its folder (certificates.py)."""
        path = self.folder / "swanctl.conf"
        certificate = "certs = own.pem" if auth == "pubkey" else ""
        words = {"me": self.me, "other": self.other, "children": children, "options": options}
        conf = SWANCTL.format(**words, auth=auth, certificate=certificate)
        path.write_text(f"{conf}secrets {{ {secrets} }}\n" if secrets else conf)
        self.swanctl("--load-all", "--clear", "--file", str(path))

    def initiate(self, child: str, check: bool = True) -> str:
        return self.swanctl("--initiate", "--child", child, "--timeout", str(WAIT_S), check=check)

    def terminate(self) -> None:
        self.swanctl("--terminate", "--ike", "t", "--timeout", "20", check=False)

    def children(self) -> list[dict[str, str]]:
        """What charon negotiated, from each CHILD_SA's first word to its last, as
        `swanctl --list-sas --raw` prints it."""
        raw = self.swanctl("--list-sas", "--raw")
        return [dict(re.findall(r"([\w-]+)=(\[[^]]*\]|\S*)", c)) for c in re.findall(r"\{name=[^{}]*", raw)]

    def kill(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._out.close()


ADDRESSES = ("10.9.0.1", "10.9.0.2")


@contextmanager
def cabled(tag: str = "") -> Iterator[list[Host]]:
    """Two namespaces at the ends of a veth cable: ADDRESSES, with 10.1.0.1 and 10.2.0.1 behind
    them. `tag` parts them from others'."""
    ends = [f"{PREFIX}v{n}{tag}" for n in "ab"]
    with hosts(f"ca{tag}", f"cb{tag}") as spaces:
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for n, space in enumerate(spaces):
            space.take(ends[n], f"{ADDRESSES[n]}/24", f"10.{n + 1}.0.1/32")
            ip("-n", space.name, "link", "set", "lo", "up")
        yield [*spaces]


@contextmanager
def two_charons(folder: Path, libipsec: bool = False, tag: str = "") -> Iterator[tuple[Charon, Charon]]:
    """Charons at 10.9.0.1 and 10.9.0.2 of a veth cable: the first with the plugin, the second with
    it too or with libipsec. Their boxes are those of one simulation, back to back."""
    skip_without_strongswan()
    made: list[Charon] = []
    boxes: list[IkeBox] = []
    with Simulator(boxes=2, threads=1, seed=1) as sim, cabled(tag) as spaces:
        try:
            for n, space in enumerate(spaces):
                plugged = not (libipsec and n)
                if plugged:
                    boxes.append(IkeBox(sim, n, folder))
                made.append(Charon(folder, space, (ADDRESSES[n], ADDRESSES[1 - n]), boxes[n].path if plugged else None))
                if plugged:
                    made[n].box = boxes[n]
            yield made[0], made[1]
        finally:
            for charon in made:
                charon.kill()
            for box in boxes:
                box.stop()


ALIKE = ("spi", "src", "dst", "mode", "suite", "keys", "encap")


def agree(a: IkeBox, b: IkeBox, alike: tuple[str, ...] = ALIKE) -> None:
    """What one sends under, the other receives under."""
    for one, other in ((a, b), (b, a)):
        received = {s.spi: s for s in other.states if s.dir == "in"}
        for sent in [s for s in one.states if s.dir == "out"]:
            for name in alike:
                assert getattr(sent, name) == getattr(received[sent.spi], name), name
            assert ("esn" in sent.flags) == ("esn" in received[sent.spi].flags)


def installed(fresh: tuple[Charon, Charon], words: str = "", options: str = "") -> tuple[IkeBox, IkeBox]:
    """One tunnel between them, with these words for the child of the first."""
    a, b = fresh
    a.load(child("net", 1, 2, f"esp_proposals = aes256gcm16-esn\n {words}"), options)
    b.load(child("net", 2, 1, "esp_proposals = aes256gcm16-esn"), options)
    a.initiate("net")
    b.box.wait(lambda: len(b.box.states) == 2 and len(b.box.policies) == 2)
    return a.box, b.box


def wait_until_replaced(old: set[int], *boxes: IkeBox) -> None:
    for box in boxes:
        box.wait(lambda box=box: len(box.spis()) == 2 and not box.spis() & old)
