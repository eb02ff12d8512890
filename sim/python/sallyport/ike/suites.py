# SPDX-License-Identifier: Apache-2.0
"""The suites that IKE can negotiate with Debian's charon."""

from __future__ import annotations

from collections.abc import Iterable

from sallyport.errors import InputError
from sallyport.suite import Suite


def check_suites(suites: Iterable[Suite]) -> None:
    """[InputError] if charon has no number for one of them: IANA's registry of IKEv2 has no SM4 and
    no SM3."""
    for suite in suites:
        if suite.name.startswith("sm4"):
            raise InputError(
                f"--suite {suite.name} with a test of IKE: IKE has no number for SM4 (docs/how-to/ike-sm.md); choose another suite"
            )
