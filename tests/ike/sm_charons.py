# SPDX-License-Identifier: Apache-2.0
"""Two charons of mgmt/strongswan-sm, where it has been built, each with the plugins of its package
and a simulated box."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sallyport.simulator import Simulator
from tests.ike.box import IkeBox
from tests.ike.charons import ADDRESSES, Charon, cabled
from tests.support.namespaces import Host, skip_without_taps
from tests.support.paths import ROOT

PACKAGE = ROOT / "mgmt" / "strongswan-sm"
BUILD = ROOT / "build" / "strongswan-sm"
HOME = Path("/opt/sallyport-strongswan-sm")

# On top of the package's own.
CONF = """
include {package}/packaging/strongswan.conf
charon {{
  install_routes = no
  delete_rekeyed_delay = 1
  retransmit_tries = 3
  retransmit_timeout = 2
  {settings}
  plugins {{
    vici {{ socket = unix://{folder}/vici }}
    kernel-sallyport {{ socket = {socket} }}
  }}
  filelog {{ f {{ path = {folder}/log
      default = 1
      flush_line = yes }} }}
}}
"""
SWANCTL = """
connections {{ t {{
  version = 2
  local_addrs = {me}
  remote_addrs = {other}
  proposals = {ike}
  mobike = no
  local {{ {auth}
    {cert}
    id = {me} }}
  remote {{ {auth}
    id = {other} }}
  children {{ net {{
    esp_proposals = {esp}
    local_ts = 10.{near}.0.0/16
    remote_ts = 10.{far}.0.0/16 }} }}
}} }}
secrets {{ ike-1 {{ secret = "correct horse battery staple" }} }}
"""


# Other identifiers than the default ones.
NUMBERS = "transform_ids { sm4 = 2001\n sm4gcm16 = 2002\n sm3 = 2003\n prfsm3 = 2004\n curvesm2 = 2005\n signature_sm3 = 2006 }"


def skip_unless_built() -> None:
    """Skip where `make strongswan-sm` has not been run, or there are no namespaces; else bring the
    plugins up to date."""
    if not (BUILD / ".built").exists():
        pytest.skip("strongSwan with the ShangMi algorithms is not built: make strongswan-sm, which takes a minute")
    skip_without_taps()
    built = subprocess.run(["make", "-C", PACKAGE], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


class SmCharon(Charon):
    """One charon at its home, which exists for this process alone."""

    def __init__(self, folder: Path, space: Host, number: int, box: IkeBox, settings: str) -> None:
        self.space, self.box, self.number, self._mark = space, box, number, 0
        self.me, self.other = ADDRESSES[number], ADDRESSES[1 - number]
        self.folder = folder / space.name
        self.folder.mkdir(parents=True)
        (self.folder / "conf").write_text(
            CONF.format(package=PACKAGE, folder=self.folder, socket=box.path, settings=settings)
        )
        script = (
            'mount -t tmpfs none /opt && mkdir "$2" && mount --bind "$1" "$2" && mount -t tmpfs none /run && mkdir "$3" && '
            'exec env STRONGSWAN_CONF="$4" "$2/libexec/ipsec/charon"'
        )
        self._out = (self.folder / "out").open("w")
        root = BUILD / "root" / HOME.relative_to("/")
        self.process = subprocess.Popen(
            space.command("sh", "-c", script, "sh", root, HOME, Path("/run") / HOME.name, self.folder / "conf"),
            stdout=self._out,
            stderr=subprocess.STDOUT,
        )
        self.wait_for(lambda: (self.folder / "vici").exists())

    def configure(self, ike: str, esp: str, auth: str = "psk", certificates: Path | None = None) -> None:
        """Gives it one connection, `t`, with one child, `net`, and the certificate of
        its number."""
        home = self.folder / "swanctl"
        shutil.rmtree(home, ignore_errors=True)
        for folder in ("x509", "x509ca", "private"):
            (home / folder).mkdir(parents=True)
        if certificates:
            shutil.copy(certificates / "ca.pem", home / "x509ca")
            shutil.copy(certificates / f"{self.number}.pem", home / "x509")
            shutil.copy(certificates / f"{self.number}.key", home / "private")
        (home / "swanctl.conf").write_text(
            SWANCTL.format(
                me=self.me,
                other=self.other,
                ike=ike,
                esp=esp,
                auth=f"auth = {auth}",
                near=1 + self.number,
                far=2 - self.number,
                cert=f"certs = {self.number}.pem" if certificates else "",
            )
        )
        self.swanctl("--load-all", "--clear", "--file", str(home / "swanctl.conf"))

    def swanctl(self, *words: str, check: bool = True) -> str:
        """The package's own, whose folder of certificates is beside its configuration."""
        script = 'mount -t tmpfs none /opt && mkdir "$2" && mount --bind "$1" "$2" && cd / && shift 2 && exec "$@"'
        place = ["unshare", "--mount", "sh", "-c", script, "sh", BUILD / "root" / HOME.relative_to("/"), HOME]
        done = subprocess.run(
            [*place, HOME / "sbin/swanctl", *words, "--uri", f"unix://{self.folder}/vici"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=os.environ
            | {"SWANCTL_DIR": str(self.folder / "swanctl"), "STRONGSWAN_CONF": str(self.folder / "conf")},
        )
        assert not check or done.returncode == 0, f"{done.stdout}{done.stderr}\n{self.log()[-4000:]}"
        return done.stdout + done.stderr


def openssl_certificates(folder: Path, kind: list[str]) -> Path:
    """The same of another kind of keys, by openssl alone."""
    for name, subject, extension in [("ca", "CA", "basicConstraints=critical,CA:TRUE")] + [
        (str(n), f"box {n}", f"subjectAltName=IP:{address}") for n, address in enumerate(ADDRESSES)
    ]:
        signer = [] if name == "ca" else ["-CA", folder / "ca.pem", "-CAkey", folder / "ca.key"]
        key = ["openssl", "genpkey", *kind, "-out", folder / f"{name}.key"]
        subprocess.run(key, check=True, capture_output=True)
        request = ["openssl", "req", "-new", "-x509", "-key", folder / f"{name}.key", "-subj", f"/CN={subject}"]
        subprocess.run(
            [*request, *signer, "-addext", extension, "-out", folder / f"{name}.pem"], check=True, capture_output=True
        )
    return folder


@contextmanager
def two_sm_charons(folder: Path, *settings: str) -> Iterator[tuple[SmCharon, SmCharon]]:
    """Charons at 10.9.0.1 and 10.9.0.2 of a veth cable, with these lines in their strongswan.conf;
    two pairs at once if one has none. Their boxes are those of one simulation, back to back."""
    folder.mkdir(exist_ok=True)
    made: list[SmCharon] = []
    boxes: list[IkeBox] = []
    with Simulator(boxes=2, threads=1, seed=1) as sim, cabled("s" if settings else "m") as spaces:
        try:
            for n, space in enumerate(spaces):
                boxes.append(IkeBox(sim, n, folder))
                made.append(SmCharon(folder, space, n, boxes[n], settings[n] if settings else ""))
            yield made[0], made[1]
        finally:
            for charon in made:
                charon.kill()
            for box in boxes:
                box.stop()
