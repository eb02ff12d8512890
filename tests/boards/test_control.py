# SPDX-License-Identifier: Apache-2.0
"""The control side of the boards' shells, part by part: what the host does reaches the registers,
once, and nothing hangs."""

from __future__ import annotations

import pytest

from tests.boards.simulation import run_part

# MHz: from the PCIe block's clock to the core's, from the core's to the control clock and back;
# and others.
OURS = [(250, 300), (300, 125), (125, 300)]
OTHERS = [(300, 250), (300, 300), (20, 300), (300, 20)]


@pytest.mark.parametrize(
    "manager, target, stalls",
    [
        *((*ratio, stalls) for ratio in OURS for stalls in ("no", "yes")),
        *(pytest.param(*ratio, "yes", marks=pytest.mark.long) for ratio in OTHERS),
    ],
)
def test_crossing(manager: int, target: int, stalls: str) -> None:
    periods = {"manager": 1_000_000 // manager, "target": 1_000_000 // target}
    run_part("AxiLiteCrossing", "crossing", **periods, stalls=stalls)


def test_pcie_bridge() -> None:
    run_part("PcieBridge", "pcie_bridge")


@pytest.mark.parametrize("loss", [0, 10, pytest.param(50, marks=pytest.mark.long)])
def test_register_tunnel(loss: int) -> None:
    run_part("RegisterTunnel", "register_tunnel", seed=loss + 1, loss=loss)


def test_frame_mailbox() -> None:
    run_part("FrameMailbox", "frame_mailbox")


def test_control_plane_of_an_interface_card() -> None:
    run_part("ControlPlaneInner", "control_plane_inner")


def test_control_plane_of_the_crypto_card() -> None:
    run_part("ControlPlaneCrypto", "control_plane_crypto")
