# SPDX-License-Identifier: Apache-2.0
"""Frames to the red port of a box with VRFs: of each customer's VLANs, of VLANs that are no one's,
and with tags of others in and behind the outer one."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from . import damage, error_packets, ethernet, ip_packets
from .configuration import Configuration
from .ethernet import TAGS, Frame, vlan
from .policy import Selector
from .red_frames import DAMAGED, LONG, limited
from .trains import CUT, MOST_AT_ONCE, Trains
from .vrf import Vrf

NO_ID, RESERVED_ID = 0, 4095  # a priority tag, and an ID that no VLAN has (IEEE 802.1Q 9.6)

Dress = Callable[[Frame], Frame]


def make(dice: random.Random, configuration: Configuration, wanted: int) -> list[Frame]:
    """Frames, most of them in a network that has policies for their packets."""
    frames: list[Frame] = []
    trains = TaggedTrains(dice, "red")
    places = [None, *configuration.vrfs, *configuration.vrfs]
    while len(frames) < wanted:
        frame = trains.next()
        if frame:
            frames.append(frame)
            continue
        vrf = dice.choice(places)
        dress = dresser(dice, configuration, vrf)
        if dice.random() < 0.04:
            frames.append(dress(ethernet.other(dice, "red")))
            continue
        aims = _aims(configuration, vrf)
        if dice.random() < LONG:
            packet = ip_packets.make(dice, "red", aims, ip_packets.long_size(dice))
        else:
            packet = error_packets.some(dice, "red", aims)
            packet = damage.packet(dice, packet) if dice.random() < DAMAGED else packet
        if any(limited(configuration.out(where), packet) for where in (None, *configuration.vrfs)):
            continue
        if dice.random() < CUT:
            others = [dresser(dice, configuration, other) for other in (vrf, dice.choice(places))]
            if trains.begin_in(packet, others):
                continue
        frames.append(dress(ethernet.around(dice, "red", packet)))
    return [*frames, *trains.rest()]


def _aims(configuration: Configuration, vrf: Vrf | None) -> list[Selector]:
    """The policies of a network, and packets of theirs to its hosts and the box's addresses."""
    selectors = [policy.selector for policy in configuration.out(vrf)]
    hosts = [aim for selector in selectors for aim in vrf.aims(selector)] if vrf else []
    return [*selectors, *hosts[:: max(1, 3 * len(hosts) // len(selectors))]]


def dresser(dice: random.Random, configuration: Configuration, vrf: Vrf | None) -> Dress:
    """Puts the tag of a VRF around frames, or of none; one frame in ten has another."""
    if dice.random() < 0.1:
        vrf = dice.choice([None, *configuration.vrfs])
    everyones = [vlan for each in configuration.vrfs for vlan in each.addresses]
    stranger = dice.choice([NO_ID, RESERVED_ID, dice.choice(everyones) ^ 0x800, dice.randrange(4096)])
    outer = dice.choice(list(vrf.addresses)) if vrf else stranger if dice.random() < 0.3 else None
    if outer is None:
        return lambda frame: frame
    inner = dice.choice(everyones) if dice.random() < 0.05 else None
    bits = dice.randrange(16) << 12

    def dress(frame: Frame) -> Frame:
        return frame_in(dice, frame_in(dice, frame, inner, bits), outer, bits)

    return dress


def frame_in(dice: random.Random, frame: Frame, number: int | None, bits: int) -> Frame:
    """A frame with one more tag in front of others: priority and DEI, and the ID."""
    if number is None or len(frame.data) < 14:
        return frame
    tag = dice.choice(TAGS).to_bytes(2, "big") + (bits | number).to_bytes(2, "big")
    return replace(frame, data=frame.data[:12] + tag + frame.data[12:])


class TaggedTrains(Trains):
    """Fragments in VLANs, sometimes those of two datagrams with the same addresses and number at
    once, in two VLANs."""

    def begin_in(self, packet: bytes, dresses: list[Dress]) -> bool:
        """Begins one in the first of two, and maybe another one of its like in the second."""
        number = next(self.numbers)
        self.numbers = count(number)
        if not self._begin_dressed(packet, dresses[0]):
            return False
        if len(self.under_way) < MOST_AT_ONCE and self.dice.random() < 0.4:
            self.numbers = count(number)
            if self._begin_dressed(self._other(packet), dresses[1]) and self._meet():
                self.under_way.pop()
        self.numbers = count(number + 1)
        return True

    def _begin_dressed(self, packet: bytes, dress: Dress) -> bool:
        if not self.begin(packet):
            return False
        self.under_way[-1] = deque(dress(frame) for frame in self.under_way[-1])
        return True

    def _meet(self) -> bool:
        """The two have a VLAN in common, where they would be one datagram."""
        return bool(set.intersection(*({vlan(frame) for frame in train} for train in self.under_way)))

    def _other(self, packet: bytes) -> bytes:
        """The same packet with another end."""
        return packet[:-1] + bytes([packet[-1] ^ self.dice.randrange(1, 256)])
