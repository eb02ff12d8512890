# SPDX-License-Identifier: Apache-2.0
"""A signed repository of our packages, with a key made for the test."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

VERSION = (ROOT / "VERSION").read_text().strip()
PACKAGES = ROOT / "build/packages"
SCRIPT = ROOT / "mgmt/packaging/repository.sh"
KEY = "ours@sallyport.test"


def next_version(version: str) -> str:
    """A higher one, for the same Debian."""
    number, plus, release = version.partition("+")
    return f"{number}.1{plus}{release}"


class Repository:
    """In `folder`/apt, which a web server may show."""

    def __init__(self, folder: Path, *packages: str) -> None:
        for program in ("apt-ftparchive", "gpg", "dpkg-deb"):
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed: apt-get install apt-utils gpg")
        for name in packages:
            if not (PACKAGES / name).is_file():
                pytest.skip(f"{name} is not there: run 'make packages ike-packages'")
        self.apt, self._folder = folder / "apt", folder
        home = folder / "gnupg"
        home.mkdir(mode=0o700)
        self._environment = os.environ | {"GNUPGHOME": str(home)}
        self._run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", KEY, "ed25519", "sign")
        self.sign()

    @property
    def key(self) -> bytes:
        return (self.apt / "sallyport.gpg").read_bytes()

    def sign(self) -> None:
        """The repository anew."""
        self._run(SCRIPT, KEY, self.apt)

    def add_next(self, name: str) -> str:
        """A package once more, with a higher version, which is given."""
        package, version, rest = name.split("_")
        newer = next_version(version)
        tree = self._folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        self._run("dpkg-deb", "-R", PACKAGES / name, tree)
        control, names = tree / "DEBIAN/control", tree / "DEBIAN/conffiles"
        if names.exists() and not names.read_text().strip():
            names.unlink()  # it has no name, which dpkg-deb takes for an empty one
        control.write_text(control.read_text().replace(f"Version: {version}\n", f"Version: {newer}\n"))
        self._run("dpkg-deb", "-b", "-Znone", tree, self.apt / f"pool/{package}_{newer}_{rest}")
        self.sign()
        return newer

    def _run(self, *words: object) -> None:
        done = subprocess.run(
            [*map(str, words)], env=self._environment, capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
