# SPDX-License-Identifier: Apache-2.0
"""The ESP suites of the simulated boxes, by their strongSwan names."""

from __future__ import annotations

import re

from sallyport.errors import InputError
from sallyport.suite import Suite
from sallyport.suite_list import ALL

SUITES = {suite.name: suite for suite in ALL}

# Parts of strongSwan's names of algorithms that RFC 8221 forbids or advises against.
_FORBIDDEN = re.compile(r"(^|-)(3?des\d*|md5\w*|blowfish\w*|cast\w*)(-|$)")


def find(name: str) -> Suite:
    """The suite of that name, or an [InputError] that lists the names there are."""
    if name in SUITES:
        return SUITES[name]
    choice = f"choose one of {', '.join(SUITES)}"
    if _FORBIDDEN.search(name.lower()):
        raise InputError(f"suite {name!r} is refused: RFC 8221 forbids it or advises against it; {choice}")
    raise InputError(f"there is no suite {name!r}; {choice}")


def parse(text: str) -> tuple[Suite, ...]:
    """`"sm4-sm3,aes256gcm16"` as suites, which the SAs of a run take in turn."""
    return tuple(find(name.strip()) for name in text.split(","))
