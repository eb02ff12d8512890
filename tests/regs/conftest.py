# SPDX-License-Identifier: Apache-2.0
"""The committed registers, elaborated once."""

import pytest
from systemrdl.node import AddrmapNode

from tests.regs.elaboration import REGS, elaborate


@pytest.fixture(scope="session")
def top() -> AddrmapNode:
    return elaborate(REGS / "sallyport.rdl")
