"""Frames to the red port: packets that policies name, and all that else may come from a LAN."""

from __future__ import annotations

import random

from . import damage, ethernet, ip_packets
from .configuration import Configuration
from .ethernet import Frame

DAMAGED = 0.10


def make(dice: random.Random, configuration: Configuration, count: int) -> list[Frame]:
    selectors = [policy.selector for policy in configuration.out()]
    frames = []
    for _ in range(count):
        if dice.random() < 0.04:
            frames.append(ethernet.other(dice))
            continue
        packet = ip_packets.make(dice, "red", selectors)
        if dice.random() < DAMAGED:
            packet = damage.packet(dice, packet)
        frames.append(ethernet.around(dice, packet))
    return frames
