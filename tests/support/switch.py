# SPDX-License-Identifier: Apache-2.0
"""A switch in a namespace, with ports of boxes, a host's place at it, and a record of what came
from which box."""

from __future__ import annotations

import ctypes
import os
import select
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.namespaces import Host, ip

ETH_P_ALL = 3
CLONE_NEWNET = 0x40000000
BRIDGE = "br0"
PACKET_OUTGOING = 4


def socket_in(space: Host, device: str) -> socket.socket:
    """A packet socket at a device of a namespace. A thread goes there for it, and ends."""

    def make() -> socket.socket:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/var/run/netns/{space.name}").open() as handle:
            if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        made.bind((device, 0))
        return made

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(make).result()


class Switch:
    """Linux's bridge, which learns where addresses are, with the devices as ports. `send` is a host
    at it; `seen` has what came in at each port."""

    def __init__(self, space: Host, devices: list[str]) -> None:
        self.space = space
        space.run("ip", "link", "add", BRIDGE, "type", "bridge")
        space.run("ip", "link", "set", BRIDGE, "up")
        for device in devices:
            ip("link", "set", device, "netns", space.name)
            space.run("ip", "link", "set", device, "master", BRIDGE)
            space.run("ip", "link", "set", device, "up")
        self.seen: list[tuple[int, bytes]] = []
        self._host = socket_in(space, BRIDGE)
        self._ports = [socket_in(space, device) for device in devices]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        left = dict(zip(self._ports, range(len(self._ports)), strict=True))
        while not self._ended.is_set():
            for ready in select.select(list(left), [], [], 0.2)[0]:
                try:
                    frame, where = ready.recvfrom(20000)
                except OSError:  # the device went with its box
                    del left[ready]
                    continue
                if where[2] != PACKET_OUTGOING:
                    self.seen.append((left[ready], frame))

    def send(self, frame: bytes) -> None:
        self._host.send(frame)

    def wait_for(self, condition, seconds: float) -> None:
        """Until a condition on the seen frames is true."""
        end = time.monotonic() + seconds
        while not condition(list(self.seen)):
            assert time.monotonic() < end, f"{len(self.seen)} frames were seen"
            time.sleep(0.05)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        for each in (self._host, *self._ports):
            each.close()
