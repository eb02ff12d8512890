# SPDX-License-Identifier: Apache-2.0
"""Faults that a replay can inject, by name."""

from __future__ import annotations

from dataclasses import dataclass, field

from sallyport.errors import InputError

# How long `link-down` lasts, and how short `undersize` makes a frame.
DOWN_US = 5
UNDERSIZE_BYTES = 40

HELP = {
    "bad-fcs": "N: frame N of the capture (the first is 1) arrives with a bad FCS",
    "undersize": f"N: frame N arrives cut to {UNDERSIZE_BYTES} B",
    "link-ber": "RATE: bit errors on every link between chips, with this probability",
    "link-down": f"US: every link goes down US microseconds into the run, for {DOWN_US} us",
    "upset": "MEMORY:ROW:BIT: a bit of a memory of a chip flips before the run",
    "tamper": "the crypto chip's tamper input rises before the run",
}


@dataclass
class Faults:
    """The faults of one replay: frame numbers, and what happens to links and memories."""

    bad_fcs: list[int] = field(default_factory=list)
    undersize: list[int] = field(default_factory=list)
    links: dict[str, float] = field(default_factory=dict)
    upsets: list[dict[str, str | int]] = field(default_factory=list)
    tamper: bool = False


def parse(texts: tuple[str, ...]) -> Faults:
    """`("bad-fcs:3", "link-ber:1e-6")` as [Faults]; InputError names the fault that is wrong and
    lists what there is."""
    faults = Faults()
    for text in texts:
        name, _, argument = text.partition(":")
        try:
            match name:
                case "bad-fcs":
                    faults.bad_fcs.append(_frame(argument))
                case "undersize":
                    faults.undersize.append(_frame(argument))
                case "link-ber":
                    faults.links |= {"ber": float(argument)}
                case "link-down":
                    faults.links |= {"down_after_us": float(argument), "down_for_us": DOWN_US}
                case "upset":
                    memory, row, bit = argument.split(":")
                    faults.upsets.append({"upset": memory, "row": int(row), "bit": int(bit)})
                case "tamper" if not argument:
                    faults.tamper = True
                case _:
                    raise ValueError
        except ValueError:
            known = "; ".join(f"{key} {value}" for key, value in HELP.items())
            raise InputError(f"--fault {text!r} is not one of: {known}") from None
    return faults


def _frame(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
