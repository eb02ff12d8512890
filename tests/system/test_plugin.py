# SPDX-License-Identifier: Apache-2.0
"""The packages of charon's plugin (`make ike-packages`): in a root of each Debian apt installs the
one for its strongSwan from the signed repository, and charon loads it. apt refuses the others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.peers.debian_roots import bare_root
from tests.system.repository import PACKAGES, VERSION, Repository

# strongSwan's version, and the number of the release.
RELEASES = {"bookworm": ("5.9.8", 12), "trixie": ("6.0.1", 13), "forky": ("6.1.0", 14)}
NAME = "sallyport-charon-plugin"
BELOW = {"5.9.8": "5.9.9~", "6.0.1": "6.0.2~", "6.1.0": "6.1.1~"}
# Lines of $4 in an overlay over the root $1, where apt knows the suite $3 of the repository $2 and
# no other. The network has the loopback alone.
OVERLAY = """
set -e
mount -t tmpfs -o mode=755 none "$5"
cd "$5"
mkdir up work all
mount -t overlay overlay -o "lowerdir=$1,upperdir=up,workdir=work" all
mount --rbind /dev all/dev
mount -t proc none all/proc
mount -t tmpfs none all/run
mkdir -p all/repository
mount --bind "$2" all/repository
rm -rf all/etc/apt/sources.list all/etc/apt/sources.list.d
mkdir all/etc/apt/sources.list.d
echo "deb [signed-by=/repository/sallyport.gpg] file:/repository $3 main" > all/etc/apt/sources.list.d/sallyport.list
ip link set lo up
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot all sh -ec "$4" 2>&1
"""
INSTALL = f"apt-get -q update; apt-get -qy install {NAME}"
# charon's own configuration has it in a log, and everything else as the packages left it.
START = """
echo 'charon-systemd { filelog { f { path = /tmp/log
 flush_line = yes } } }' > /etc/strongswan.d/log.conf
timeout 60 charon-systemd >/dev/null 2>&1 &
until grep -q 'spawning [0-9]* worker threads' /tmp/log 2>/dev/null; do kill -0 $!; sleep 0.1; done
kill $!
cat /tmp/log
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arch = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
    files = [f"{NAME}_{VERSION}+deb{number}_{arch}.deb" for _, number in RELEASES.values()]
    return Repository(tmp_path_factory.mktemp("repository"), *files).apt


def said(root: Path, repository: Path, suite: str, lines: str, place: Path) -> tuple[int, str]:
    """Exit status and output of shell lines in the root, whose files stay as they are."""
    words = ["unshare", "--mount", "--net", "bash", "-c", OVERLAY, "overlay", root, repository, suite, lines, place]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=600)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("release", RELEASES)
def test_apt_installs_it_and_charon_loads_it(release: str, repository: Path, tmp_path: Path) -> None:
    strongswan, number = RELEASES[release]
    shown = f"dpkg-query -W -f '${{Status}} ${{Version}}\\n' {NAME}"
    other = "dpkg-query -W -f 'strongSwan ${source:Upstream-Version}\\n' strongswan-libcharon"
    lines = "\n".join((INSTALL, shown, other, START))
    status, text = said(bare_root(release), repository, release, lines, tmp_path)
    assert status == 0, text
    assert f"\ninstall ok installed {VERSION}+deb{number}\n" in text
    (loaded,) = [line for line in text.splitlines() if "loaded plugins:" in line]
    assert "kernel-sallyport" in loaded.split() and f"\nstrongSwan {strongswan}\n" in text
    assert ("ml" in loaded.split()) == (strongswan == "6.0.1")  # 6.1.0 has ML-KEM of OpenSSL


@pytest.mark.parametrize(("release", "suite"), [("trixie", "forky"), ("forky", "trixie"), ("bookworm", "trixie")])
def test_apt_refuses_the_plugin_for_another_strongswan(
    release: str, suite: str, repository: Path, tmp_path: Path
) -> None:
    status, text = said(bare_root(release), repository, suite, INSTALL, tmp_path)
    assert status != 0 and "unmet dependencies" in text, text
    assert "strongswan-libcharon" in text


@pytest.mark.parametrize("release", RELEASES)
def test_a_newer_strongswan_waits_for_its_plugin(release: str) -> None:
    """An upgrade of strongSwan alone would leave charon without it, so the package bars that."""
    strongswan, number = RELEASES[release]
    for package in PACKAGES.glob(f"{NAME}_{VERSION}+deb{number}_*.deb"):
        done = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, capture_output=True, text=True)
        bounds = [word.strip() for word in done.stdout.split(",") if "strongswan-libcharon" in word]
        assert bounds == [
            f"strongswan-libcharon (>= {strongswan})",
            f"strongswan-libcharon (<< {BELOW[strongswan]})",
        ]
