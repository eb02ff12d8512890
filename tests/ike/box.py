# SPDX-License-Identifier: Apache-2.0
"""A simulated box for IKE: its sallyportd, charon's requests, and the box's SAs and policies."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sallyport.simulator import TESTER_MAC, Simulator
from tests.ike.control_relay import Relay
from tests.ike.words import Policy, State, name, policy, state
from tests.support.daemon import Client, Daemon
from tests.support.registers import CHIPS, Registers

WAIT_S = 60


class IkeBox:
    """Box `number` of a simulation, whose daemon is asked at `path`; `more` are lines of the
    daemon's file."""

    def __init__(self, sim: Simulator, number: int, folder: Path, more: str = "") -> None:
        self.sim, self.number = sim, number
        self.daemon = Daemon(sim.socket(number), folder / f"box{number}", None, more)
        self.relay = Relay(folder / f"{number}.sock", self.daemon.control)
        self.path = self.relay.path
        self.start()

    def start(self) -> None:
        self.daemon.start()
        self.relay.start()

    def stop(self) -> None:
        """The daemon is killed; charon finds no daemon there."""
        self.relay.stop()
        self.daemon.kill()

    def reset(self) -> None:
        """As after a reset of the chips: none of them says that it holds a configuration."""
        with Registers(self.sim.socket(self.number)) as registers:
            for chip in CHIPS:
                registers.write(chip, "scratch", 0)

    def forward(self) -> None:
        """Gives it the neighbours of the simulation's wires, who send to any address."""
        for device, mac in TESTER_MAC.items():
            self.ask("command", words=["next-hop", "default", "dev", device, "lladdr", mac])
            self.ask("command", words=["link", "set", "dev", device, "promisc", "on"])

    def ask(self, do: str, **fields: object) -> dict:
        """Past charon."""
        client = Client(self.daemon.control)
        try:
            return client.get(do, **fields)
        finally:
            client.close()

    @property
    def lines(self) -> list[str]:
        """Of batches that were carried out."""
        return self.relay.lines

    @property
    def states(self) -> list[State]:
        """The SAs in the box, oldest first, with the keys that they were given."""
        held = [name(item) for item in self.ask("list", what="state")["items"]]
        with self.relay.lock:  # what the daemon has done is noted
            added = {name(line): state(line) for line in self.lines if line.startswith("xfrm state add ")}
        return [added[one] for one in held]

    @property
    def policies(self) -> set[Policy]:
        return {policy(item) for item in self.ask("list", what="policy")["items"]}

    def only(self, direction: str) -> State:
        """The one SA of a direction."""
        (found,) = [s for s in self.states if s.dir == direction]
        return found

    def policy(self, direction: str) -> Policy:
        """The one policy of a direction."""
        (found,) = [p for p in self.policies if p.dir == direction]
        return found

    def spis(self) -> set[int]:
        return {s.spi for s in self.states}

    def wait(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < end, f"never came: {self.states}\n{self.policies}\n{self.lines[-5:]}"
            time.sleep(0.05)

    def wait_until_empty(self) -> None:
        self.wait(lambda: not self.states and not self.policies)

    def emit(self, **event: object) -> None:
        """Tells charon of something that did not happen to the chips."""
        self.wait(lambda: self.relay.emit(**event))
