# SPDX-License-Identifier: Apache-2.0
"""The daemon's tests of VRFs, on a kernel that surely has VRFs and VLANs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.peers.guest import TAP, guest
from tests.peers.guest_image import image
from tests.peers.programs import need
from tests.support.live_box import PEER_MAC
from tests.support.namespaces import hosts, skip_without_taps
from tests.support.paths import ROOT

TESTS = ("TestTablesOfVRFs", "TestVLANsOfVRFs", "TestWaitingInVRFs")


def test_vrfs_of_linux_steer_a_box(tmp_path: Path) -> None:
    """`ip` makes VRFs, VLANs and routes there, and a stand-in of the chips has the rows."""
    skip_without_taps()
    program = tmp_path / "daemon.test"
    subprocess.run(
        [*need("go"), "test", "-c", "-o", program, "./internal/daemon"],
        cwd=ROOT / "mgmt", env={**os.environ, "CGO_ENABLED": "0"}, check=True,
    )  # fmt: skip
    system = image(program)
    with hosts("linux") as (space,):
        space.run("ip", "tuntap", "add", "dev", TAP, "mode", "tap")
        with guest(system, space, PEER_MAC, tmp_path) as linux:
            for name in TESTS:
                said = linux.run(
                    f"cd /tmp; SALLYPORT_TEST_ALONE=1 unshare -n daemon.test -test.v -test.run '^{name}$' 2>&1 || true",
                    300,
                )
                assert f"--- PASS: {name}" in said and "Linux has no" not in said, said[-3000:]
