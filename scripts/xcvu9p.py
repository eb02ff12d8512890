# SPDX-License-Identifier: Apache-2.0
"""What an XCVU9P has, in all and in some of its SLRs."""

from __future__ import annotations

from collections.abc import Mapping

# DS890. Each of the three SLRs has a third.
TOTALS = {"lut": 1_182_240, "ff": 2_364_480, "bram36": 2_160, "uram": 960, "dsp": 6_840}
SLRS = 3

# The gated resources: flip-flops and DSPs are never short in these designs.
GATED = ("lut", "bram36", "uram")


def percent(used: Mapping[str, int], slrs: int = SLRS) -> dict[str, float]:
    """Shares of the resources of that many SLRs."""
    return {key: round(100 * SLRS * used[key] / (slrs * total), 2) for key, total in TOTALS.items()}


def violations(used: Mapping[str, int], slrs: int, most: float) -> list[str]:
    """A sentence for each resource that would fill `slrs` SLRs to more than `most` percent."""
    where = "the device" if slrs == SLRS else f"{slrs} SLRs"
    return [
        f"{share} % of the {key.upper()} of {where} exceed {most:g} %"
        for key, share in percent(used, slrs).items()
        if key in GATED and share > most
    ]
