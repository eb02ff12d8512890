# SPDX-License-Identifier: Apache-2.0
"""What becomes of fragments at a port (docs/explanation/fragments.md; RFC 791 3.2, RFC 8200 4.5,
RFC 7112, RFC 3168 5.3, RFC 4301 7.3), by scapy's reading of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.ipsec import AH, ESP
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw

from . import frame_judge
from .addresses import Port
from .ethernet import IPV4, IPV6, Frame, vlan
from .forwarding import CE, NOT_ECT, with_ecn
from .ip_packets import FRAGMENT
from .reading import EXTENSIONS, Reading
from .sa import NATT_PORT
from .upper import Upper

if TYPE_CHECKING:
    from .configuration import Configuration

# Bytes of upper-layer headers that the first fragment of an IPv6 datagram must have; ICMPv6: type,
# code and checksum.
LAYERS: dict[int, type[Packet]] = {4: IP, 6: TCP, 17: UDP, 41: IPv6, 50: ESP, 51: AH, 132: SCTP}
UPPER = {protocol: len(layer()) for protocol, layer in LAYERS.items()} | {58: 4}
LONGEST_PAYLOAD = 65535  # what the IPv6 header can say
ESP, IKE_PORT = 50, 500
STRAIGHT, ROUND, JOINED, WAITED = "straight", "round", "joined", "waited"


@dataclass(frozen=True)
class Piece:
    """A fragment: bytes `start` to `end` of its datagram's payload, and the frame's bytes in front
    of that as a whole packet has them."""

    key: tuple[object, ...]
    start: int
    payload: bytes
    more: bool
    head: bytes
    ip_at: int
    ecn: int
    vlan: int = 0

    @property
    def datagram(self) -> tuple[object, ...]:
        """What ties it to its first one: the VLAN, too, where networks are told apart."""
        return (*self.key, self.vlan)

    @property
    def end(self) -> int:
        return self.start + len(self.payload)

    def same(self, other: Piece) -> bool:
        """An exact duplicate, as Linux's IPFRAG_DUP: by the range alone."""
        return (self.start, self.end, self.more) == (other.start, other.end, other.more)

    @property
    def counted(self) -> int:
        """The payload length of an IPv6 packet that ends with this."""
        return len(self.head) - self.ip_at - 40 + self.end


@dataclass
class Datagram:
    """`came`: numbers of the frames that were fragments of it. `waited`: one of them came before
    the first, so that others may overtake it."""

    pieces: list[Piece] = field(default_factory=list)
    came: list[int] = field(default_factory=list)
    waited: bool = False


@dataclass(frozen=True)
class Step:
    """What a frame leads to: counters without their chip, and a frame that goes on, in one of
    several orders (`way`): each that waited for the first one of its datagram has one of its own.

    `punt`: the counter under which that frame is punted, whatever else it is. `upper`: that of its
    datagram, of a fragment that goes on as one.
    """

    counters: tuple[str, ...] = ()
    frame: Frame | None = None
    way: str = STRAIGHT
    punt: str = ""
    upper: Upper | None = None


class Reassembly:
    """The datagrams of one port; frames come in order. `open`: those that are not whole.

    `own`: the box's IPv6 address there, if it tells who sends bad fragments to it. `ends`: those at
    which datagrams end, by version; None where none does. `whole`: each datagram is put together.
    `apart`: those of two VLANs may be equal.
    """

    def __init__(
        self, port: Port, own: str | None = None, ends: dict[int, str] | None = None, whole: bool = False, apart=False
    ) -> None:
        self.port = port
        self.apart = apart
        self.own = own and IPv6Address(own)
        self.ends = ends
        self.whole = whole
        self.open: dict[tuple[object, ...], Datagram] = {}
        self.taken = 0
        self.firsts: dict[tuple[object, ...], Upper] = {}
        self.known: set[tuple[object, ...]] = set()
        self.fragments: dict[int, Piece] = {}

    @classmethod
    def at(cls, port: str, configuration: Configuration, whole: bool = False) -> Reassembly:
        """Of "red" or "black": fragments to the box end at its address there, but a bridge sends
        no messages."""
        local = configuration.paths.local if port == "black" else None
        told = local.get(6) if local and not configuration.bump else None
        return cls(Port.at(port, configuration), told, local, whole, bool(configuration.vrfs))

    def foresee(self, frames: list[Frame]) -> None:
        """What first fragments will say; fragments that come before them wait."""
        for frame in frames:
            if frame_judge.of_mac(frame) or not goes_round(frame):
                continue
            counter, packet = self._judge(frame)
            piece = self._read(frame) if counter == "punt_fragment" else None
            if piece and not piece.start and not self._refused(piece, packet):
                self.firsts.setdefault(piece.datagram, Upper.of(packet, len(piece.payload), piece.ip_at))

    def take(self, frame: Frame) -> Step:
        number, self.taken = self.taken, self.taken + 1
        refused = frame_judge.of_mac(frame)
        if refused:
            return Step((refused,))
        if not goes_round(frame):
            return Step((), frame)
        counter, packet = self._judge(frame)
        if counter != "punt_fragment":
            return Step((), frame, ROUND)
        piece = self._read(frame)
        if self._told(piece, packet):
            return Step((), frame, ROUND, punt="punt_reasm")
        refused = self._refused(piece, packet)
        if refused:
            return Step((refused,))
        self.fragments[number] = piece
        if self.whole and piece.datagram not in self.firsts:
            return Step()  # it waits for its first one
        if self.whole or (self._here(packet) and packet.protocol == ESP):
            return self.join(piece, number)
        return self._follow(frame, piece, packet, number)

    def _vlan(self, frame: Frame) -> int:
        return 0 if self.ends is not None or self.port.bump else vlan(frame)

    def _read(self, frame: Frame) -> Piece:
        return replace(read(frame), vlan=self._vlan(frame))

    def _judge(self, frame: Frame) -> tuple[str, Reading]:
        """A VLAN may be of another network, in which the box's addresses are those of others."""
        return frame_judge.judge(frame, replace(self.port, apart=self._vlan(frame) != 0))

    def _told(self, piece: Piece, packet: Reading) -> bool:
        bad = headless(piece, packet) or partial(piece) or piece.counted > LONGEST_PAYLOAD
        return packet.dst == self.own and bad

    def _refused(self, piece: Piece, packet: Reading) -> str:
        if self._told(piece, packet):
            return "punt_reasm"
        if not piece.payload or partial(piece) or piece.end > LONGEST_PAYLOAD:
            return "drop_reasm_length"
        return "drop_reasm_headers" if headless(piece, packet) else ""

    def _here(self, packet: Reading) -> bool:
        """A datagram of the box's own, or one that a bridge may protect."""
        if self.ends is None:
            return False
        return self.port.bump or self.ours(packet)

    def ours(self, packet: Reading) -> bool:
        return str(packet.dst) == (self.ends or {}).get(packet.version)

    def _follow(self, frame: Frame, piece: Piece, packet: Reading, number: int) -> Step:
        """A fragment that goes on as one, if its first one lets it."""
        upper = self.firsts.get(piece.datagram)
        assert upper, "a fragment would wait for ever"
        way = ROUND
        if not piece.start:
            if piece.datagram in self.known and not upper.same(Upper.of(packet, len(piece.payload))):
                return Step(("drop_frag_conflict",))
            self.known.add(piece.datagram)
        elif piece.start // 8 < upper.units:
            return Step(("drop_frag_overlap",))
        elif piece.datagram not in self.known:
            way = f"{WAITED} {number}"
        port = upper.numbers[1] if upper.protocol == 17 and upper.upper else None
        if (port == NATT_PORT and self._here(packet)) or (port == IKE_PORT and self.ours(packet)):
            return self.join(piece, number)
        return Step((), frame, way, upper=upper)

    def again(self, frame: Frame) -> Step:
        """A fragment whose policy wants the whole datagram."""
        return self.join(self._read(frame), self.taken - 1)

    def join(self, piece: Piece, number: int) -> Step:
        key = self.key(piece)
        datagram = self.open.setdefault(key, Datagram())
        datagram.came.append(number)
        datagram.waited = datagram.waited or (piece.datagram in self.firsts and piece.datagram not in self.known)
        if any(piece.same(other) for other in datagram.pieces):
            return Step(("drop_reasm_duplicate",))
        overlaps = any(piece.start < other.end and other.start < piece.end for other in datagram.pieces)
        datagram.pieces.append(piece)
        disagree = mixed({each.ecn for each in datagram.pieces})
        if disagree or overlaps:
            del self.open[key]
            return Step(("drop_reasm_ecn" if disagree else "drop_reasm_overlap",) * len(datagram.pieces))
        whole = joined(datagram.pieces)
        if whole is None:
            return Step()
        del self.open[key]
        way = f"{JOINED} {key}" if datagram.waited else JOINED
        return Step(("reasm_datagrams", *("reasm_merged",) * (len(datagram.pieces) - 1)), whole, way)

    def key(self, piece: Piece) -> tuple[object, ...]:
        """What ties a piece to the others of its datagram."""
        return piece.datagram if self.apart else piece.key


def headless(piece: Piece, packet: Reading) -> bool:
    """The first fragment of an IPv6 datagram, without all headers."""
    return piece.key[0] == 6 and not piece.start and len(packet.payload) < UPPER.get(packet.protocol, 0)


def without_incomplete(frames: list[Frame], port: Reassembly) -> list[Frame]:
    """The frames but those of datagrams with a missing fragment: a box might wait for it. `port`:
    at which none has come yet, and where each datagram is put together."""
    port.foresee(frames)
    for frame in frames:
        port.take(frame)
    waiting = {number for datagram in port.open.values() for number in datagram.came}
    waiting |= {number for number, piece in port.fragments.items() if piece.datagram not in port.firsts}
    return [frame for number, frame in enumerate(frames) if number not in waiting]


def partial(piece: Piece) -> bool:
    """Others cannot follow it."""
    return piece.more and len(piece.payload) % 8 != 0


def mixed(marks: set[int]) -> bool:
    """ECN fields that the fragments of one datagram never have together."""
    return NOT_ECT in marks and len(marks) > 1


def goes_round(frame: Frame) -> bool:
    """Goes the way of what may be a fragment, on which others overtake it."""
    kind, at = frame_judge.ether_type(frame)
    packet = frame.data[at : at + 41].ljust(41, b"\0")
    if kind == IPV4:
        return int.from_bytes(packet[6:8], "big") & 0x3FFF != 0
    return kind == IPV6 and (packet[6] == FRAGMENT or (packet[6] in EXTENSIONS and packet[40] in EXTENSIONS))


def read(frame: Frame) -> Piece:
    """The fragment in a frame whose headers are right."""
    _, at = frame_judge.ether_type(frame)
    packet = frame.data[at:]
    if packet[0] >> 4 == 4:
        ip = IP(packet[:20])
        head = 4 * ip.ihl
        key = (4, ip.src, ip.dst, ip.id, ip.proto)
        payload = packet[head : ip.len]
        return Piece(key, 8 * ip.frag, payload, bool(ip.flags.MF), frame.data[: at + head], at, ip.tos & 3)
    ip = IPv6(packet[:40])
    names, there = 6, 40
    # The first header of several that says so: one before it is of a whole packet, and done with
    # (RFC 6946).
    while packet[names] != FRAGMENT or not int.from_bytes(packet[there + 2 : there + 4], "big") & 0xFFF9:
        names, there = there, there + (8 if packet[names] == FRAGMENT else 8 * (packet[there + 1] + 1))
    said = IPv6ExtHdrFragment(packet[there : there + 8])
    head = bytearray(frame.data[: at + there])
    head[at + names] = said.nh
    payload = packet[there + 8 : 40 + ip.plen]
    return Piece((6, ip.src, ip.dst, said.id), 8 * said.offset, payload, bool(said.m), bytes(head), at, ip.tc & 3)


def joined(pieces: list[Piece]) -> Frame | None:
    """The frame around the whole datagram, with the first fragment's headers, and CE if any had it;
    None while something is missing.

    None overlap.
    """
    ordered = sorted(pieces, key=lambda piece: piece.start)
    ends = [0, *(piece.end for piece in ordered)]
    if ordered[-1].more or any(piece.start != end for piece, end in zip(ordered, ends, strict=False)):
        return None
    first, payload = ordered[0], b"".join(piece.payload for piece in ordered)
    met = any(piece.ecn == CE for piece in pieces)
    header = with_ecn(first.head[first.ip_at :], CE) if met else first.head[first.ip_at :]
    if first.key[0] == 4:
        ip = IP(header)
        ip.flags, ip.frag, ip.len, ip.chksum = 0, 0, None, None
        return Frame(first.head[: first.ip_at] + bytes(ip / Raw(payload)))
    size = len(header) - 40 + len(payload)
    return Frame(first.head[: first.ip_at] + header[:4] + size.to_bytes(2, "big") + header[6:] + payload)
