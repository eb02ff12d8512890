# SPDX-License-Identifier: Apache-2.0
"""Frames to the red port: packets that policies name, and all that else may come from a LAN."""

from __future__ import annotations

import random

from . import damage, error_packets, ethernet, ip_packets
from .configuration import Configuration
from .ethernet import Frame
from .icmp_errors import outgoing
from .mtu import CUT_FIRST
from .policy import Policy
from .reading import read
from .sa import Sa
from .trains import CUT, Trains

DAMAGED = 0.10
LONG = 0.02


def make(dice: random.Random, configuration: Configuration, count: int) -> list[Frame]:
    selectors = configuration.aims()
    clear = [policy.selector for policy in configuration.out() if policy.action == "allow"]
    frames = []
    trains = Trains(dice, "red")
    while len(frames) < count:
        frame = trains.next()
        if frame:
            frames.append(frame)
            continue
        if dice.random() < 0.04:
            frames.append(ethernet.other(dice, "red", configuration.bump))
            continue
        if dice.random() < LONG:
            aims = clear if dice.random() < 0.3 else selectors
            packet = ip_packets.make(dice, "red", aims, ip_packets.long_size(dice))
            if not limited(configuration.out(), packet):
                frames.append(ethernet.around(dice, "red", packet))
            continue
        packet = error_packets.some(dice, "red", selectors)
        if dice.random() < DAMAGED:
            packet = damage.packet(dice, packet)
        if limited(configuration.out(), packet):
            continue
        if dice.random() < CUT and trains.begin(packet):
            continue
        frames.append(ethernet.around(dice, "red", packet))
    return [*frames, *trains.rest()]


def limited(policies: list[Policy], packet: bytes) -> bool:
    """Cut before ESP, by an SA with a hard limit: how many numbers are left for how many packets
    then depends on the order in which they pass."""
    if len(packet) <= CUT_FIRST:
        return False
    policy, _ = outgoing(policies, read(packet, packet[0] >> 4))
    return policy is not None and isinstance(policy.action, Sa) and policy.action.hard_limit > 0
