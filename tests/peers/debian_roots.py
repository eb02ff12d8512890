# SPDX-License-Identifier: Apache-2.0
"""Other releases of Debian in folders of their own, made by mmdebstrap from this machine's own
repositories; kept in build/peers/roots."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.peers.programs import need
from tests.support.paths import ROOT

RELEASES = ("trixie", "forky")  # Debian 13, and testing
CACHE = ROOT / "build/peers/roots"
PACKAGES = (
    "charon-systemd", "strongswan-swanctl", "libcharon-extra-plugins",
    "netbase", "gcc", "libc6-dev", "make", "pkg-config", "libjson-c-dev", "bzip2", "xz-utils",
)  # fmt: skip
MAKE_S = 900  # for a slow network
# $1 is the root, and $2 a folder that is at its own place inside too. The mounts are this
# process's alone.
INSIDE = """
set -e
mkdir -p "$1$2"
mount -t proc none "$1/proc"
mount -t tmpfs none "$1/run"
mount --bind "$2" "$1$2"
root=$1
shift 2
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"
"""


def inside(root: Path, folder: Path, *words: object) -> list[str]:
    """The command line that runs a program of a root, which sees `folder` of this machine."""
    return ["unshare", "--mount", "sh", "-c", INSIDE, "sh", str(root), str(folder), *map(str, words)]


def bare_root(release: str) -> Path:
    """The root of a release, with strongSwan and nothing of ours; a skip that says why where it
    cannot be had."""
    root = CACHE / f"{release}-bare"
    if not root.exists():
        make(release, root, (*PACKAGES[:3], "libjson-c5"))
    return root


def debian_root(release: str) -> Path:
    """The root of a release, with strongSwan and the newest plugin of mgmt/strongswan; a skip that
    says why where it cannot be had."""
    root = CACHE / release
    if not root.exists():
        make(release, root, PACKAGES)
    version = _run(*inside(root, ROOT, "dpkg-query", "-W", "-f", "${source:Upstream-Version}", "strongswan-libcharon"))
    _install(root, version.stdout)
    return root


def _run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=MAKE_S)


def valid_until() -> str:
    """The line of apt's configuration on whether a mirror's lists may be old."""
    return _run("apt-config", "dump", "Acquire::Check-Valid-Until").stdout


def sources(release: str) -> list[str]:
    """This machine's repositories of Debian, with the other release for its own; a skip where it
    has none."""
    listed = _run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(ORIGIN)", "Created-By: Packages")
    rows = [line.split() for line in listed.stdout.splitlines() if line.endswith(" Debian")]
    own = platform.freedesktop_os_release()["VERSION_CODENAME"]
    if not rows:
        pytest.skip("apt-get knows no repository of Debian here: run apt-get update")
    return sorted({f"deb {row[0]} {row[1].replace(own, release)} main" for row in rows})


def make(release: str, root: Path, packages: Sequence[str]) -> None:
    """Puts a release with these packages into the folder; a skip that says why where it cannot."""
    (mmdebstrap,) = need("mmdebstrap")
    if os.geteuid() != 0:
        pytest.skip("a root of another Debian needs root")
    root.parent.mkdir(parents=True, exist_ok=True)
    part = root.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    # A mirror with old lists is one inside too, where make has apt-get fetch a source package.
    words = [
        "--variant=apt",
        "--skip=cleanup/apt/lists",
        f"--include={','.join(packages)}",
        f"--aptopt={valid_until()}",
    ]
    done = _run(mmdebstrap, *words, release, part, *sources(release))
    if done.returncode:
        shutil.rmtree(part, ignore_errors=True)
        pytest.skip(f"Debian {release} cannot be had: {done.stderr.strip().splitlines()[-1]}")
    part.rename(root)


def _install(root: Path, version: str) -> None:
    """Builds the plugin inside, as on a machine of that release. Its archive is kept there."""
    build = ["make", "-s", "-C", ROOT / "mgmt/strongswan", "BUILD=/var/tmp/sallyport/plugin", "install"]
    done = _run(*inside(root, ROOT, *build))
    if "is none of those" in done.stderr:
        pytest.skip(f"the plugin is not for strongSwan {version}, which Debian {root.name} has")
    assert done.returncode == 0, done.stderr
