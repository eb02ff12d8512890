# SPDX-License-Identifier: Apache-2.0
"""A box is reset while traffic crosses it (RFC 6201), and software makes it a gateway again.

hardware: the chips' reset. software: the management program starts from nothing; it removes all SAs
and policies and adds them anew. After both, the two boxes have new SAs with new keys, as IKE would
agree on them. After a reset no old key may be used, because its sequence numbers begin again.
Meanwhile simulated time passes with the register accesses alone.
"""

from __future__ import annotations

from typing import Any

from sallyport.backend import Trial
from sallyport.errors import InputError
from sallyport.simulator import Simulator
from sallyport.tunnels import Tunnels

RESETS = ("software", "hardware")
# The box that is reset; the other one sees its peer's SAs replaced.
BOX = 0


class Reset:
    """What software does in one turn of a trial, at the beginning of the measured interval."""

    def __init__(self, sim: Simulator, trial: Trial, tunnels: Tunnels, mtu: int) -> None:
        if trial.setup.boxes == 1:
            raise InputError("--test reset with --boxes 1: its peer has to agree on new SAs; choose two boxes")
        self._sim = sim
        self._trial = trial
        self._mtu = mtu
        self._tunnels = tunnels
        self.done = 0  # rekeys; a reset makes none

    def turns(self) -> dict[str, Any]:
        return {"on_turn": self._turn, "software_after_us": self._trial.setup.warmup_ns / 1000}

    def finish(self, answer: dict) -> None:
        """There is nothing left to do."""

    def _turn(self) -> dict[str, float]:
        if self._trial.reset == "hardware":
            self._sim.command("reset", box=BOX)
            self._sim.face_tester(BOX)
            lines = self._tunnels.network(BOX, self._mtu)
        else:
            lines = ["xfrm policy flush", "xfrm state flush"]
        # The peer first: its inbound SAs must be there before a packet of the new SAs comes.
        self._sim.batch(1 - BOX, [state for way in (0, 1) for state in self._tunnels.states(way, generation=1)])
        self._sim.batch(BOX, [*lines, *self._tunnels.associations(BOX, generation=1)])
        return {}
