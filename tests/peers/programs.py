# SPDX-License-Identifier: Apache-2.0
"""Programs that `make peers` installs."""

from __future__ import annotations

import shutil

import pytest

SBIN = "/usr/sbin:/sbin"


def need(*names: str) -> list[str]:
    """Where these programs are, or a skip that names the one that is not there."""
    found = []
    for name in names:
        path = shutil.which(name) or shutil.which(name, path=SBIN)
        if path is None:
            pytest.skip(f"{name} is not installed: run make peers")
        found.append(path)
    return found
