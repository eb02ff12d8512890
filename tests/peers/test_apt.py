# SPDX-License-Identifier: Apache-2.0
"""apt takes our packages from a repository that `make apt-repository` signed, upgrades them, and
takes nothing that the key does not vouch for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SCRIPT = ROOT / "mgmt/packaging/repository.sh"
PACKAGES = ROOT / "build/packages"
VERSION = (ROOT / "VERSION").read_text().strip()
NEXT = f"{VERSION}+test1"
INSTALLED = "dpkg-query -W -f '${Status} ${Version}' sallyport-mgmt"
SOURCE = "deb [signed-by=/keyring.gpg] file:/repository stable main"

# Everything that apt and dpkg change is in an overlay, which goes with its own mount namespace.
# Nothing of systemd's is there, so the package starts no service.
OVERLAY = """
set -e
mount -t tmpfs -o mode=755 none "$1"
cd "$1"
mkdir up work all
mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=work all
mount --rbind /dev all/dev
mkdir -p all/repository
mount --bind "$2" all/repository
rm -rf all/etc/apt/sources.list all/etc/apt/sources.list.d
mkdir all/etc/apt/sources.list.d
cp "$3" all/keyring.gpg
echo "$4" > all/etc/apt/sources.list.d/sallyport.list
chroot all sh -ec "$5" 2>&1
"""


@pytest.fixture(autouse=True)
def _keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of gpg with two keys, ours and a stranger's."""
    for program in ("apt-ftparchive", "gpg", "apt-get"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt-get install apt-utils gpg")
    if not list(PACKAGES.glob("*.deb")):
        pytest.skip("there are no packages: run 'make packages'")
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    for name in ("ours", "stranger"):
        words = ["gpg", "--batch", "--passphrase", "", "--quick-gen-key", f"{name}@sallyport.test", "ed25519", "sign"]
        subprocess.run(words, check=True, capture_output=True)


def made(repository: Path, key: str = "ours@sallyport.test") -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, key, repository], capture_output=True, text=True, check=False)


def in_overlay(tmp_path: Path, repository: Path, lines: str) -> subprocess.CompletedProcess[str]:
    """What shell lines say where apt knows the repository and ours is the only key."""
    if os.geteuid() != 0:
        pytest.skip("an overlay cannot be mounted here: run as root, with CAP_SYS_ADMIN")
    place = tmp_path / "overlay"
    place.mkdir(exist_ok=True)
    keyring = tmp_path / "keyring.gpg"
    words = ["gpg", "--batch", "--yes", "--output", keyring, "--export", "ours@sallyport.test"]
    subprocess.run(words, check=True, capture_output=True)
    return subprocess.run(
        ["unshare", "--mount", "bash", "-c", OVERLAY, "overlay", place, repository, keyring, SOURCE, lines],
        capture_output=True,
        text=True,
        check=False,
    )


def upgraded(repository: Path, tmp_path: Path) -> None:
    """The package of this machine once more with a higher version, and the repository anew."""
    arch = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
    tree, pool = tmp_path / "tree", repository / "pool"
    subprocess.run(["dpkg-deb", "-R", PACKAGES / f"sallyport-mgmt_{VERSION}_{arch}.deb", tree], check=True)
    (tree / "DEBIAN/conffiles").unlink()  # it has no name, which dpkg-deb takes for an empty one
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"Version: {VERSION}\n", f"Version: {NEXT}\n"))
    subprocess.run(
        ["dpkg-deb", "-b", "-Znone", tree, pool / f"sallyport-mgmt_{NEXT}_{arch}.deb"], check=True, capture_output=True
    )
    assert made(repository).returncode == 0


def test_apt_installs_and_upgrades_from_a_signed_repository(tmp_path: Path) -> None:
    repository = tmp_path / "apt"
    done = made(repository)
    assert done.returncode == 0, done.stderr
    seen = in_overlay(tmp_path, repository, f"apt-get update; apt-get install -y sallyport-mgmt; {INSTALLED}")
    assert seen.returncode == 0, seen.stdout
    assert seen.stdout.endswith(f"install ok installed {VERSION}")
    assert (repository / "sallyport.gpg").read_bytes() == (tmp_path / "keyring.gpg").read_bytes()
    upgraded(repository, tmp_path)
    lines = f"apt-get update; apt-get install -y sallyport-mgmt={VERSION}; apt-get upgrade -y; sallyctl --version; {INSTALLED}"
    seen = in_overlay(tmp_path, repository, lines)
    assert seen.returncode == 0 and seen.stdout.endswith(f"install ok installed {NEXT}"), seen.stdout
    assert f"sallyctl version {VERSION}" in seen.stdout  # the program in it is the same


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        ("package", "Hash Sum mismatch"),
        ("index", "Hash Sum mismatch"),
        ("stranger", "NO_PUBKEY"),
        ("unsigned", "is not signed"),
        ("release", "is not signed"),
    ],
)
def test_apt_takes_nothing_that_the_key_does_not_vouch_for(tmp_path: Path, harm: str, sentence: str) -> None:
    repository = tmp_path / "apt"
    assert made(repository, "stranger@sallyport.test" if harm == "stranger" else "ours@sallyport.test").returncode == 0
    suite = repository / "dists/stable"
    if harm == "package":
        for package in (repository / "pool").iterdir():
            package.write_bytes(package.read_bytes()[:-1] + b"x")
    elif harm == "index":
        for index in suite.glob("main/*/Packages"):
            index.write_text(index.read_text().replace("Maintainer: ", "Maintainer: A. N. Other "))
            index.with_suffix(".gz").unlink()
    elif harm == "release":
        (suite / "InRelease").write_text(
            (suite / "InRelease").read_text().replace("Origin: Sallyport", "Origin: Nobody")
        )
        (suite / "Release").unlink()
    elif harm == "unsigned":
        (suite / "InRelease").unlink()
    seen = in_overlay(tmp_path, repository, f"apt-get update; apt-get install -y sallyport-mgmt; {INSTALLED}")
    assert seen.returncode != 0 and "install ok installed" not in seen.stdout
    assert sentence in seen.stdout, seen.stdout


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("", "repository.sh: no key was named"),
        ("nobody@sallyport.test", "repository.sh: gpg has no secret key nobody@sallyport.test"),
    ],
)
def test_a_key_that_is_not_there_is_one_sentence(tmp_path: Path, key: str, sentence: str) -> None:
    done = made(tmp_path / "apt", key)
    assert done.returncode == 2 and done.stderr.startswith(sentence) and done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("apt*"))


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "home.new").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").write_text("dear")
    done = made(tmp_path / "home")
    assert done.returncode == 2 and "is there and is no repository" in done.stderr
    assert (tmp_path / "home" / "letter").read_text() == "dear"
    assert made(tmp_path / "home" / "apt").returncode == 0
    assert sorted(path.name for path in tmp_path.glob("home*")) == ["home", "home.new"]
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["apt", "letter"]
