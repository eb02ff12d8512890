# SPDX-License-Identifier: Apache-2.0
"""Debian's charon with the plugin of mgmt/strongswan, in a namespace, in front of a sallyportd."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from sallyport.errors import CheckFailed, InputError
from sallyport.ike.spaces import Space
from sallyport.simulator import ROOT

CHARON = Path("/usr/sbin/charon-systemd")
PLUGINS = Path("/usr/lib/ipsec/plugins")
PLUGIN = ROOT / "build" / "strongswan" / "libstrongswan-kernel-sallyport.so"
VERSION = "5.9.8"
START_S = 30  # in which charon listens
SWANCTL_S = 300  # for one command

# charon allows a peer five set-ups at once, and from the third on asks it for cookies; here one
# peer has all. `cookie_threshold` is of all peers together.
_CONF = """charon-systemd {{
  load_modular = no
  load = random nonce openssl pem pubkey x509 constraints gcm ccm ctr chapoly cmac hmac kdf aes sha1 sha2 curve25519 \
kernel-sallyport! kernel-netlink socket-default vici
  install_routes = no
  reuse_ikesa = no
  block_threshold = 100000
  cookie_threshold_ip = 100000
  cookie_threshold = {cookies}
  delete_rekeyed_delay = 1
  {timers}
  plugins {{
    vici {{ socket = unix://{folder}/vici }}
    kernel-sallyport {{ socket = {control} }}
  }}
  filelog {{ f {{ path = {folder}/log
      time_format = %s
      time_add_ms = yes
      default = 1
      flush_line = yes }} }}
  journal {{ default = -1 }}
}}
"""
# Half-open IKE_SAs from which on charon asks for cookies (RFC 7296 2.6): its default, and never.
# Where a request is repeated before its answer comes, a second cookie makes AUTH fail: it covers
# the request with the first one (2.15).
COOKIES, NO_COOKIES = 10, 0
REPEATED = r"retransmit \d+ of request"  # as charon says it


def check_charon() -> None:
    """[InputError] where charon, swanctl or the plugin is missing, or of another version."""
    if not CHARON.exists() or shutil.which("swanctl") is None:
        raise InputError(
            f"{CHARON} or swanctl is missing: install charon-systemd, strongswan-swanctl and libcharon-extra-plugins of Debian 12"
        )
    said = subprocess.run(["swanctl", "--help"], capture_output=True, text=True, check=False)
    version = (said.stdout + said.stderr).partition("\n")[0]
    if VERSION not in version:
        raise InputError(f"the plugin is for strongSwan {VERSION}, and here is {version}: install that version")
    if not PLUGIN.exists():
        raise InputError(f"{PLUGIN.relative_to(ROOT)} is not built; run 'make ike' first")


class Charon:
    """One charon. Its plugins are Debian's and ours, in a folder that is mounted over Debian's for
    this process alone."""

    def __init__(self, folder: Path, space: Space, control: Path, timers: str, cookies: int) -> None:
        """It asks the sallyportd at `control`. `timers` are lines of strongswan.conf, `cookies`
        its threshold. Return when it listens."""
        self.folder = folder
        folder.mkdir()
        plugins = folder / "plugins"
        shutil.copytree(PLUGINS, plugins)
        shutil.copy(PLUGIN, plugins)
        conf = folder / "conf"
        conf.write_text(_CONF.format(folder=folder, control=control, timers=timers, cookies=cookies))
        script = 'mount --bind "$1" "$2" && exec env STRONGSWAN_CONF="$3" "$4"'
        with (folder / "out").open("w") as out:
            self._process = subprocess.Popen(
                space.command("sh", "-c", script, "sh", plugins, PLUGINS, conf, CHARON),
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + START_S
        while not (folder / "vici").exists():
            if self._process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise CheckFailed(f"charon did not start: {self.log().strip()[-500:]}")
            time.sleep(0.02)

    def log(self) -> str:
        """What it has said; a line begins with the seconds since the epoch and the milliseconds."""
        path = self.folder / "log"
        return path.read_text() if path.exists() else (self.folder / "out").read_text()

    def said_at(self, pattern: str, after: float = 0.0) -> float | None:
        """When it first said that since `after`, in seconds since the epoch; None: it did not."""
        for line in self.log().splitlines():
            found = re.match(r"(\d+)\.(\d{3}) ", line)
            if found and re.search(pattern, line):
                at = int(found[1]) + int(found[2]) / 1000
                if at >= after:
                    return at
        return None

    def repeats(self) -> int:
        """How many requests it has sent again."""
        return len(re.findall(REPEATED, self.log()))

    def swanctl(self, *words: str, check: bool = True) -> str:
        """The output of a command of swanctl."""
        done = subprocess.run(
            ["swanctl", *words, "--uri", f"unix://{self.folder}/vici"],
            env=os.environ | {"SWANCTL_DIR": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=SWANCTL_S,
        )
        said = done.stdout + done.stderr
        if check and done.returncode != 0:
            raise CheckFailed(f"swanctl {' '.join(words)} failed: {said.strip()[-500:]}")
        return said

    def load(self, text: str) -> None:
        """Give it these connections and secrets, in place of all that it had."""
        path = self.folder / "swanctl.conf"
        path.write_text(text)
        self.swanctl("--load-all", "--clear", "--file", str(path))

    def packets(self) -> dict[str, tuple[int, int]]:
        """By each CHILD_SA's name, packets in and out, as the box counted them for charon."""
        return packets_of(self.swanctl("--list-sas", "--raw"))

    def half_open(self) -> int:
        """IKE_SAs that are not yet authenticated."""
        found = re.search(r"(\d+) half-open", self.swanctl("--stats"))
        return int(found[1]) if found else 0

    def kill(self) -> None:
        """As a crash ends it; a second call does nothing."""
        self._process.kill()
        self._process.wait()


def packets_of(raw: str) -> dict[str, tuple[int, int]]:
    """By each CHILD_SA's name, packets in and out, as `swanctl --list-sas --raw` has them."""
    found = [dict(re.findall(r"([\w-]+)=(\S*)", each)) for each in re.findall(r"\{name=[^{}]*", raw)]
    return {each["name"]: (int(each["packets-in"]), int(each["packets-out"])) for each in found}
