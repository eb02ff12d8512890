# SPDX-License-Identifier: Apache-2.0
"""What a lab file says (docs/how-to/lab.md has the schema): where TRex is, how its ports reach the
two boxes, what an operator can do."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from sallyport.errors import InputError
from sallyport.trex import fields

EXAMPLE = "docs/examples/lab.yaml"
MOST_PAIRS = 4  # of boxes
RESETS = ("power", "hardware")  # those that a person does
COMMANDS = ("software", "hardware", "power")  # resets that programs do
REKEY = "rekey"  # another command


@dataclass(frozen=True)
class Tester:
    """A TRex server in stateless mode, and the client that came with it."""

    host: str
    sync_port: int
    async_port: int
    version: str  # that the server must be of: "v3", or "v3.08" and nothing else
    client: Path | None  # folder that holds the package `trex`; None: TREX_CLIENT says it
    python: str  # the interpreter that runs the client
    force: bool  # take ports from the user that holds them
    captures: Path | None  # a folder that this machine and the server have under one name
    capture_mib: int  # the longest file of frames there


@dataclass(frozen=True)
class TesterPort:
    """The TRex port on a port of a box."""

    what: str  # the box's port that it is on: "red of left"
    port: int  # TRex's number
    mac: str
    next_hop: str | None  # MAC of the box's port; None: asked for by ARP
    address: str = ""  # of the TRex port, for ARP
    gateway: str = ""  # of the box's port, for ARP, or link-local for IPv6 neighbour discovery
    vlan: int | None = None  # of its frames (IEEE 802.1Q)


@dataclass(frozen=True)
class Ssh:
    """How the management of a box is reached."""

    user: str
    port: int
    key: Path | None  # of this side; None: what ssh itself takes
    sallyctl: str  # the command there, with its options
    swanctl: str  # the same of strongSwan, for tests of IKE
    configure: Path | None  # an ip -batch file of this side, written before the first packet


@dataclass(frozen=True)
class Box:
    """A box under test."""

    name: str
    management: str | None
    red: TesterPort
    black: TesterPort | None  # of a box alone
    ssh: Ssh | None
    commands: dict[str, str]  # of this machine, by what they do: a kind of reset, or a rekey


@dataclass(frozen=True)
class Lab:
    """All of a lab file."""

    file: Path
    tester: Tester
    boxes: tuple[Box, ...]  # pairs, or one with TRex on its black port too
    line_rate_gbps: int
    mtu: int  # largest IP packet of TRex's ports, which its server does not tell
    promiscuous: bool
    latency_fps: int  # of a direction's latency streams together
    order: str  # of flows: random, or round-robin
    drain_ms: int
    settle_ms: int
    start_ms: int  # from TRex's start of a trial to its first frame
    learning_frames: int  # that each port sends before a trial, for bridges to learn where it is
    resets: tuple[str, ...]

    @property
    def ends(self) -> tuple[TesterPort, ...]:
        """Where frames enter: the red ports, and the black one of a box alone. Two after each
        other are ends of the same wire."""
        alone = self.boxes[0].black
        return (self.boxes[0].red, alone) if alone else tuple(box.red for box in self.boxes)

    @property
    def pairs(self) -> int:
        """Of TRex's ports."""
        return len(self.ends) // 2

    @property
    def alone(self) -> bool:
        """Whether it is of one box, between its red and its black port."""
        return len(self.boxes) == 1

    @property
    def ports(self) -> list[int]:
        """TRex's numbers of the ports in use, in the order of `ends`."""
        return [end.port for end in self.ends]

    @property
    def all_resets(self) -> tuple[str, ...]:
        """Of box 0: by a command, or by a person."""
        return tuple(kind for kind in COMMANDS if kind in self.boxes[0].commands or kind in self.resets)

    @property
    def where(self) -> str:
        return f"TRex at {self.tester.host}:{self.tester.sync_port}"


def load(file: Path) -> Lab:
    """The lab that `file` describes, every field of it checked; [InputError] for the first one that
    is wrong."""
    root = fields.read(file, EXAMPLE)
    tester = _tester(root.section("trex"))
    boxes = _boxes(root.sections("boxes", (1, *range(2, 2 * MOST_PAIRS + 1, 2))), file)
    lab = Lab(
        file=file,
        tester=tester,
        boxes=boxes,
        line_rate_gbps=root.integer("line_rate_gbps", 1, 400, 100),
        mtu=root.integer("mtu", 68, 9216, 9198),
        promiscuous=root.flag("promiscuous", True),
        latency_fps=root.integer("latency_fps", 1, 1_000_000, 1000),
        order=root.choice("flow_order", ("random", "round-robin"), "random"),
        drain_ms=root.integer("drain_ms", 0, 60_000, 2000),
        settle_ms=root.integer("settle_ms", 0, 60_000, 5000),
        start_ms=root.integer("start_ms", 0, 10_000, 100),
        learning_frames=root.integer("learning_frames", 0, 1000, 0),
        resets=root.choices("resets", RESETS),
    )
    root.finish()
    for what, whose in (("name", lab.boxes), ("port", lab.ends), ("mac", lab.ends)):
        values = [getattr(each, what) for each in whose]
        if twice := [value for value in values if values.count(value) > 1]:
            raise InputError(f"{file}: boxes: two have {what} {twice[0]!r}; give each its own")
    return lab


def _tester(section: fields.Section) -> Tester:
    client = section.text("client", None)
    tester = Tester(
        host=section.host("host"),
        sync_port=section.integer("sync_port", 1, 65535, 4501),
        async_port=section.integer("async_port", 1, 65535, 4500),
        version=section.text("version", "v3"),
        client=Path(client).expanduser() if client else None,
        python=section.text("python", sys.executable),
        force=section.flag("force", False),
        captures=section.folder("captures") if section.has("captures") else None,
        capture_mib=section.integer("capture_mib", 1, 1_000_000, 4096),
    )
    section.finish()
    if not re.fullmatch(r"v3(\.\d+)?", tester.version):
        raise section.refuse("version", f"{tester.version!r} is no version of TRex 3; write v3, or one such as v3.08")
    return tester


def _boxes(sections: list[fields.Section], file: Path) -> tuple[Box, ...]:
    alone = len(sections) == 1
    boxes = tuple(_box(section, file, alone) for section in sections)
    if alone and not boxes[0].ssh:
        raise sections[0].refuse("ssh", "is missing; one box alone gets the tester's keys over ssh, or list two boxes")
    return boxes


def _box(section: fields.Section, file: Path, alone: bool) -> Box:
    name = section.text("name")
    box = Box(
        name=name,
        management=section.host("management") if section.has("management") else None,
        red=_tester_port(section.section("red"), f"red of {name}"),
        black=_tester_port(section.section("black"), f"black of {name}") if alone else None,
        ssh=_ssh(section.section("ssh"), file) if section.has("ssh") else None,
        commands=_commands(section.section("commands")) if section.has("commands") else {},
    )
    section.finish()
    if box.ssh and not box.management:
        raise section.refuse("management", "is missing; ssh needs the address of the box's management")
    return box


def _ssh(section: fields.Section, file: Path) -> Ssh:
    key, configure = section.text("key", None), section.text("configure", None)
    ssh = Ssh(
        user=section.text("user", "root"),
        port=section.integer("port", 1, 65535, 22),
        key=Path(key).expanduser() if key else None,
        sallyctl=section.text("sallyctl", "sallyctl"),
        swanctl=section.text("swanctl", "swanctl"),
        configure=file.parent / Path(configure).expanduser() if configure else None,
    )
    section.finish()
    if not re.fullmatch(r"[a-z_][a-z0-9_-]*", ssh.user):
        raise section.refuse("user", f"{ssh.user!r} is no name of a user; write one such as root")
    return ssh


def _commands(section: fields.Section) -> dict[str, str]:
    found = {kind: section.text(kind) for kind in (*COMMANDS, REKEY) if section.has(kind)}
    section.finish()
    for kind, text in found.items():
        try:
            shlex.split(text)
        except ValueError as error:
            raise section.refuse(kind, f"{text!r} is no command ({error}); write it as in a shell") from None
    return found


def _tester_port(section: fields.Section, what: str) -> TesterPort:
    port, mac = section.integer("port", 0, 63), section.mac("mac")
    vlan = section.integer("vlan", 1, 4094, None)
    if [section.has(name) for name in ("next_hop", "arp", "neighbour")].count(True) != 1:
        raise section.refuse(
            "next_hop",
            "give either the MAC of the box's port here, or arp: {address, gateway}, or neighbour: {gateway}",
        )
    next_hop = section.mac("next_hop") if section.has("next_hop") else None
    address = gateway = ""
    if section.has("arp"):
        arp = section.section("arp")
        address, gateway = arp.ipv4("address"), arp.ipv4("gateway")
        arp.finish()
    elif not next_hop:
        neighbour = section.section("neighbour")
        gateway = neighbour.link_local("gateway")
        neighbour.finish()
    section.finish()
    return TesterPort(what, port, mac, next_hop, address, gateway, vlan)
