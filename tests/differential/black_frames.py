# SPDX-License-Identifier: Apache-2.0
"""Frames to the black port: ESP of every SA with and without UDP around it, what looks like it, ESP
of the hosts, IKE, and packets in clear."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from . import damage, error_packets, ethernet, headers, ip_packets
from .configuration import Configuration
from .esp_packets import Sender
from .ethernet import Frame
from .fragments_inside import FragmentsInside
from .network import LOCAL, OTHER_LOCAL, PEERS, STRANGERS
from .reading import ICMP_OF
from .sa import NATT_PORT, Sa
from .trains import CUT, Trains
from .transport_packets import HostSender

DAMAGED = 0.06
ESP = 50


def make(dice: random.Random, configuration: Configuration, count: int) -> list[Frame]:
    kind = HostSender if configuration.bump else Sender
    senders = [kind(sa, configuration, dice) for sa in configuration.inbound]
    # The last has no selector: few of its packets say all there is to say.
    senders = [*senders[:-1] * 4, senders[-1]]
    clear = [policy.selector for policy in configuration.incoming()]
    # Theirs is a packet as any other, if a policy takes it (RFC 4301 5.2 step 3b).
    of_hosts = [replace(selector, protocol=ESP, first=None, second=None) for selector in clear]
    frames = []
    trains = Trains(dice, "black")
    while len(frames) < count:
        frame = trains.next()
        if frame:
            frames.append(frame)
            continue
        whole = True  # what becomes of it may depend on who overtakes whom
        chance = dice.random()
        if chance < 0.64:
            sender = dice.choice(senders)
            packet = (
                sender.in_packet(len(frames))
                if isinstance(sender, HostSender)
                else _esp(dice, sender.sa, sender.packet(len(frames)))
            )
            whole = sender.sa.window > 0
        elif chance < 0.74:
            packet, whole = _to_the_box(dice), False
        elif chance < 0.96:
            aims = of_hosts if dice.random() < 0.08 else clear
            packet, whole = error_packets.for_red(dice, aims, configuration.paths.red_mtu), False
        else:
            frames.append(ethernet.other(dice, "black", configuration.bump))
            continue
        if dice.random() < DAMAGED:
            packet = damage.packet(dice, packet)
        elif not whole and dice.random() < CUT and trains.begin(packet):
            continue
        frames.append(ethernet.around(dice, "black", packet))
    frames += trains.rest()
    return frames if configuration.bump else [*frames, *_with_fragments(dice, senders[: len(senders) // 4], frames)]


def _with_fragments(dice: random.Random, senders: list[Sender], behind: list[Frame]) -> Iterator[Frame]:
    """ESP around fragments, a twentieth as many as those before."""
    inside = FragmentsInside(dice, senders)
    for now in range(len(behind), len(behind) + len(behind) // 20):
        if part := inside.next():
            sender, packet = part
            yield ethernet.around(dice, "black", _esp(dice, sender.sa, sender.carrying(packet, now)))


def _esp(dice: random.Random, sa: Sa, esp: bytes) -> bytes:
    """A packet of an SA; 4 in 100 to another address or with another encapsulation."""
    dst, version, encapsulated = sa.dst, 6 if sa.v6 else 4, sa.far_port is not None
    wrong = dice.random()
    if wrong < 0.02:
        encapsulated = not encapsulated
    elif wrong < 0.04:
        version = dice.choice([4, 6])
        dst = dice.choice([LOCAL[version], OTHER_LOCAL if version == 4 else PEERS[6][0]])
    straight = sa.window > 0
    src = sa.src if (":" in sa.src) == (version == 6) and dice.random() < 0.8 else PEERS[version][0]
    if not encapsulated:
        return ip_packets.build(dice, src, dst, 50, esp, straight)
    source = dice.choice([sa.far_port or NATT_PORT, dice.randrange(65536)])
    length = 8 + len(esp) + dice.choice([-4, -1, 1, 4]) if dice.random() < 0.03 else None
    check = dice.choice([0, dice.randrange(65536)])  # not the receiver's business (RFC 3948 2.1)
    return ip_packets.build(dice, src, dst, 17, headers.udp(source, NATT_PORT, esp, length, check), straight)


def _to_the_box(dice: random.Random) -> bytes:
    """IKE, keepalives, pings, ESP that is no SA's, and other packets, to the box's addresses and
    beside them."""
    version = dice.choice([4, 4, 6])
    dst = dice.choice([LOCAL[version], LOCAL[version], OTHER_LOCAL if version == 4 else PEERS[6][1]])
    src, protocol = PEERS[version][0], 17
    match dice.randrange(7):
        case 0:
            marker = bytes(4)
            contents = [b"\xff", b"\xff\xff", b"", marker, marker[1:], marker + dice.randbytes(40), dice.randbytes(36)]
            content = dice.choice(contents)
            length = None if dice.random() < 0.8 else 8 + len(content) + dice.choice([-4, -1, 1, 4])
            upper = headers.udp(dice.randrange(65536), NATT_PORT, content, length)
        case 1:
            upper = headers.udp(dice.choice([500, 4500]), dice.choice([500, 500, 501]), dice.randbytes(28))
        case 5:
            src = dice.choice([*PEERS[version], STRANGERS[version]])
            port = dice.choice([500, NATT_PORT])
            upper = headers.udp(port, port, (bytes(4) if port == NATT_PORT else b"") + _ike(dice))
        case 2:
            protocol = dice.choice(list(ICMP_OF.values()))
            upper = headers.icmp(dice.randrange(256), 0, dice.randbytes(4 + dice.randrange(40)))
        case 3:
            protocol = 50
            spi = dice.choice([0, 1, 255, dice.randrange(1 << 32)])
            upper = spi.to_bytes(4, "big") + dice.randbytes(4 * dice.randrange(30))
        case 4:
            protocol = dice.choice([1, 58, 6, 50, 51])
            upper = dice.randbytes(dice.randrange(9))
        case _:
            upper = headers.udp(NATT_PORT, dice.choice([4499, 4501, 4500]), dice.randbytes(dice.randrange(64)))
    return ip_packets.build(dice, src, dst, protocol, upper)


def _ike(dice: random.Random) -> bytes:
    """A message of IKE as far as its header (RFC 7296 3.1), or less: with and without a responder's
    SPI, and with each kind of first payload."""
    responder = dice.choice([bytes(8), bytes(8), dice.randrange(1, 256).to_bytes(8, "big"), dice.randbytes(8)])
    header = dice.randbytes(8) + responder + bytes([dice.choice([33, 41, 46, 0]), 0x20]) + dice.randbytes(10)
    return header[: dice.choice([28, 28, 28, 27, 17])]
