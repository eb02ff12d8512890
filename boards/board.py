# SPDX-License-Identifier: Apache-2.0
"""Board data: the one place that reads boards/data/<board>.yaml and refuses errors in it. Schema:
docs/reference/boards.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from boards import place_errors, places
from boards.places import Place

DATA = Path(__file__).with_name("data")
CHIPS = ("inner", "crypto", "outer")
FULL = "full"
VARIANTS: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("variants.yaml").read_text())
LINE_RATE_MHZ = 25781.25

KEYS = {"board", "id", "title", "part", "other_parts", "clocks", "qsfps", "pcie", "chips", "configuration", "ports"}
OPTIONAL_KEYS = {"power_budget_w"}
PORT_KEYS = {"dir", "pins", "p", "n", "iostandard", "slew", "drive", "pullup", "chips"}


class BoardError(Exception):
    """A sentence for the user: the error, its place, and the remedy."""


@dataclass(frozen=True)
class Port:
    """One top-level port of a chip: `pins[i]` is the pin of bit i; a scalar has no index."""

    name: str
    direction: str
    pins: tuple[str, ...]
    vector: bool
    properties: dict[str, str] = field(default_factory=dict)
    partner: str = ""  # the other half of a differential pair

    def bits(self) -> list[tuple[str, str]]:
        """Names as in `get_ports`, with their pins."""
        if not self.vector:
            return [(self.name, self.pins[0])]
        return [(f"{self.name}[{index}]", pin) for index, pin in enumerate(self.pins)]


@dataclass(frozen=True)
class Qsfp:
    """One QSFP28 cage: its transceivers' quad, reference clock and the MAC beside it."""

    name: str
    quad: int
    gt_quad: str
    first_lane: str
    refclk: str
    refclk_mhz: float
    cmac: str
    slr: int
    fs: int | None = None

    @property
    def lanes(self) -> str:
        """Sites of the four channels, as IP properties list them."""
        column, row = self.first_lane.split("Y")
        return " ".join(f"{column}Y{int(row) + lane}" for lane in range(4))

    @property
    def column(self) -> str:
        return "left" if self.gt_quad.startswith("X0") else "right"

    @property
    def qpll_fraction(self) -> int:
        """Numerator of 2^24 by which the PLL's feedback divider exceeds an integer."""
        return int(LINE_RATE_MHZ / 2 / self.refclk_mhz % 1 * 2**24)


class Board:
    """One board file. `Board.load` is the only way in; the board that it returns is complete and
    consistent."""

    def __init__(self, path: Path, raw: dict[str, Any]) -> None:
        self.path = path
        self.raw = raw
        self._check_keys()
        self.name: str = raw["board"]
        self.part: str = raw["part"]
        self.variant = FULL
        self.qsfps = {name: Qsfp(name=name, **values) for name, values in raw["qsfps"].items()}
        self.clocks: dict[str, Any] = raw["clocks"]
        self.pcie: dict[str, Any] = raw["pcie"]
        self.configuration: dict[str, Any] = raw["configuration"]
        self._check_roles()

    @classmethod
    def load(cls, name: str, folder: Path = DATA) -> Board:
        path = folder / f"{name}.yaml"
        known = sorted(file.stem for file in folder.glob("*.yaml"))
        if name not in known:
            raise BoardError(
                f"there is no board {name!r}: choose one of {', '.join(known)} (make bitstreams BOARD={known[0]})"
            )
        return cls(path, yaml.safe_load(path.read_text()))

    def with_part(self, part: str) -> Board:
        """The same card with another of its parts; empty leaves the one it has."""
        if part and part not in (self.part, *self.raw["other_parts"]):
            raise self._wrong(f"no part {part}: choose one of {', '.join([self.part, *self.raw['other_parts']])}")
        self.part = part or self.part
        return self

    def with_variant(self, variant: str) -> Board:
        """The same card with another core clock, and the shells of `variants.yaml`."""
        if variant not in VARIANTS:
            raise BoardError(
                f"there is no variant {variant!r}: choose one of {', '.join(VARIANTS)} (make bitstreams VARIANT=first)"
            )
        mmcm = self.clocks["mmcm"]
        divisor = self.clocks["free_running"]["mhz"] * mmcm["multiply"] / VARIANTS[variant]["core_mhz"]
        if divisor % 0.125:  # CLKOUT0 divides by eighths (UG572)
            raise self._wrong(f"the MMCM makes no {VARIANTS[variant]['core_mhz']} MHz for variant {variant}")
        self.clocks = {**self.clocks, "mmcm": {**mmcm, "core": divisor}}
        self.variant = variant
        return self

    @staticmethod
    def names(folder: Path = DATA) -> list[str]:
        return sorted(file.stem for file in folder.glob("*.yaml"))

    def _wrong(self, what: str) -> BoardError:
        return BoardError(f"{self.path.name}: {what}")

    def _check_keys(self) -> None:
        if missing := KEYS - self.raw.keys():
            raise self._wrong(f"{', '.join(sorted(missing))} missing")
        if unknown := self.raw.keys() - KEYS - OPTIONAL_KEYS:
            raise self._wrong(f"unknown key {', '.join(sorted(unknown))}")
        for name, port in self.raw["ports"].items():
            if unknown := port.keys() - PORT_KEYS:
                raise self._wrong(f"port {name}: unknown key {', '.join(sorted(unknown))}")
            if ("pins" in port) == ("p" in port) or ("p" in port) != ("n" in port):
                raise self._wrong(f"port {name}: give either pins, or p and n")
            if port["dir"] not in ("in", "out", "inout"):
                raise self._wrong(f"port {name}: dir is in, out or inout, not {port['dir']!r}")

    def _check_roles(self) -> None:
        for chip, role in self.raw["chips"].items():
            if chip not in CHIPS:
                raise self._wrong(f"chip {chip}: chips are {', '.join(CHIPS)}")
            for problem in place_errors.problems(role):
                raise self._wrong(f"chip {chip}: {problem}")
            for qsfp in self.used_qsfps(chip):
                if qsfp not in self.qsfps:
                    raise self._wrong(f"chip {chip} uses {qsfp}, which is not among qsfps")
            if len(self.used_qsfps(chip)) != len(set(self.used_qsfps(chip))):
                raise self._wrong(f"chip {chip} uses a QSFP twice")
            for other in role["links"]:
                back = self.raw["chips"].get(other, {}).get("links", {}).get(chip)
                if back is None or len(back) != len(role["links"][other]):
                    raise self._wrong(f"the link from {chip} to {other} has not as many QSFPs as the one back")

    def mac(self, chip: str) -> Qsfp | None:
        """The cage of a chip's 100GbE port, none on the crypto chip."""
        name = self.raw["chips"][chip].get("mac")
        return self.qsfps[name] if name else None

    def link_qsfps(self, chip: str) -> list[Qsfp]:
        return [self.qsfps[name] for names in self.raw["chips"][chip]["links"].values() for name in names]

    def used_qsfps(self, chip: str) -> list[str]:
        role = self.raw["chips"][chip]
        return [
            *([role["mac"]] if "mac" in role else []),
            *(name for names in role["links"].values() for name in names),
        ]

    def core_slrs(self, chip: str) -> list[int]:
        """Of the core's cells but for its places."""
        return self.raw["chips"][chip]["core_slrs"]

    def lane_slrs(self, chip: str) -> dict[str, list[int]]:
        """Of each direction, the SLR of each lane; none on a chip without lanes."""
        return self.raw["chips"][chip].get("lane_slrs", {})

    def places(self, chip: str) -> list[Place]:
        """What of the core has SLRs of its own."""
        return places.places(self.raw["chips"][chip])

    def slrs(self, chip: str) -> list[int]:
        """All that the core is in."""
        return places.slrs(self.raw["chips"][chip])

    def ports(self, chip: str) -> list[Port]:
        """All top-level ports of a chip, in the file's order; those of QSFPs that it does not use
        are left out."""
        used = self.used_qsfps(chip)
        return [
            port
            for name, raw in self.raw["ports"].items()
            if chip in raw.get("chips", CHIPS) and self._belongs(name, used)
            for port in self._expand(name, raw)
        ]

    def _belongs(self, name: str, used: list[str]) -> bool:
        cage = name.split("_")[0]
        return cage not in self.qsfps or cage in used

    @cached_property
    def all_ports(self) -> list[Port]:
        return [port for name, raw in self.raw["ports"].items() for port in self._expand(name, raw)]

    @staticmethod
    def _expand(name: str, raw: dict[str, Any]) -> list[Port]:
        properties = {
            key.upper(): str(raw[key]).upper() if key != "pullup" else "true"
            for key in ("iostandard", "slew", "drive", "pullup")
            if key in raw
        }

        def one(port: str, pins: str | list[str], partner: str = "") -> Port:
            vector = isinstance(pins, list)
            return Port(
                port, raw["dir"], tuple(pins) if isinstance(pins, list) else (pins,), vector, properties, partner
            )

        if "pins" in raw:
            return [one(name, raw["pins"])]
        return [one(f"{name}_p", raw["p"], f"{name}_n"), one(f"{name}_n", raw["n"], f"{name}_p")]
