# SPDX-License-Identifier: Apache-2.0
"""Rekeying under load: what IKE daemons do to two boxes while traffic crosses them (RFC 7296 2.8,
RFC 4301 4.4.2.1)."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from sallyport.backend import Setup
from sallyport.errors import CheckFailed
from sallyport.simulator import Simulator
from sallyport.suites import Suite
from sallyport.tunnels import FIRST_SPI, Tunnels

# Tunnels that are rekeyed at once, if there are so many.
AT_ONCE = 8
# Simulated µs between two turns of software. Old SAs go in the second half of the next turn, at
# least 10 µs later. Through two boxes 9000 B take 13.6 µs, and 145 µs under SM3.
GRACE_US, GRACE_HASHED_US = 5, 150
# What sallyctl's register accesses take in a turn, and for each tunnel that it rekeys.
TURN_US, TUNNEL_US = 19, 12


def measure_us(rekeys: int, sas: int, suites: Iterable[Suite]) -> int:
    """Simulated µs that a trial has to measure for so many rekeys."""
    return _turns(rekeys, sas) * (TURN_US + min(AT_ONCE, sas) * TUNNEL_US + _grace_us(suites))


def _turns(rekeys: int, sas: int) -> int:
    """How many turns of software so many rekeys take, begun ones included."""
    return -(-rekeys // min(AT_ONCE, sas))


def _grace_us(suites: Iterable[Suite]) -> int:
    return GRACE_US if all(suite.fast for suite in suites) else GRACE_HASHED_US


class Rekeys:
    """New SAs for the tunnels of a trial in turn, both directions at a time, by `sallyctl` as a
    daemon would run it.

    Both boxes get the SAs that they receive with before either gets those that it sends with, which
    its policies take from then on. The old SAs go with the next turn, when what they had under way
    is out.
    """

    def __init__(self, sim: Simulator, setup: Setup, tunnels: Tunnels) -> None:
        self._sim = sim
        self._setup = setup
        self._tunnels = tunnels
        self._old = range(0)
        self.done = 0

    def turns(self) -> dict[str, Any]:
        """What a trial is told so that software has its turns, evenly over the measured
        interval."""
        if not self._setup.rekeys:
            return {}
        return {"on_turn": self._turn, "software_after_us": self._due_us()}

    def finish(self, answer: dict) -> None:
        """After the trial: remove what the last rekeys replaced. [CheckFailed] if not all were done
        while it measured."""
        if not self._setup.rekeys:
            return
        used, end_us = answer["software"]["until_us"], (self._setup.warmup_ns + self._setup.measure_ns) / 1000
        if self.done < self._setup.rekeys or used > end_us:
            raise CheckFailed(
                f"{self.done} of {self._setup.rekeys} rekeys were done, the last {used:.0f} µs after the trial began, and it sends for "
                f"{end_us:.0f} µs: choose a longer --measure-us"
            )
        for box in (0, 1):
            self._sim.batch(box, self._removal())
            count = self._sim.sallyctl(box, "xfrm", "state", "count").split()[-1]
            if count != str(2 * self._setup.sas):
                raise CheckFailed(f"box {box} has {count} SAs after the rekeys, not {2 * self._setup.sas}")

    def _due_us(self) -> float:
        """When the next turn is due, from the beginning of the trial."""
        turn, turns = _turns(self.done, self._setup.sas), _turns(self._setup.rekeys, self._setup.sas)
        return (self._setup.warmup_ns + self._setup.measure_ns * turn / turns) / 1000

    def _turn(self) -> dict[str, float]:
        """Rekey the next tunnels; says when software's next turn is."""
        new = range(self.done, min(self.done + AT_ONCE, self.done + self._setup.sas, self._setup.rekeys))
        for box in (0, 1):
            self._sim.batch(box, self._additions(1 - box, new))
        for box in (0, 1):
            self._sim.batch(box, [*self._additions(box, new), *self._removal()])
        self._old, self.done = new, new.stop
        if self.done == self._setup.rekeys:
            return {}
        return {"at_us": self._due_us(), "after_us": _grace_us(self._setup.suites)}

    def _additions(self, way: int, rekeys: range) -> list[str]:
        """The lines that add the new SAs of a direction. Rekey n renews the tunnel with number n
        modulo the number of tunnels. The new SPIs follow those of the tunnels."""
        first = FIRST_SPI + self._setup.sas
        return [
            self._tunnels.state(
                way, rekey % self._setup.sas, first + rekey, random.Random(f"{self._setup.seed} rekey {rekey} {way}")
            )
            for rekey in rekeys
        ]

    def _removal(self) -> list[str]:
        """The lines that delete the SAs of both directions that the last turn replaced."""
        return [
            f"xfrm state delete {self._tunnels.ends(way, rekey % self._setup.sas)} spi {FIRST_SPI + rekey:#x}"
            for rekey in self._old
            for way in (0, 1)
        ]
