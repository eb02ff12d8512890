# SPDX-License-Identifier: Apache-2.0
"""The headers and frames that the outer chip's specs go by are what scapy makes of the expression
beside each."""

from itertools import pairwise

import scapy.all
from scapy.compat import raw
from scapy.contrib import ikev2, mpls
from scapy.layers import ipsec

from tests.support.paths import ROOT

RESOURCES = ROOT / "interface_fpga/test/resources"
NAMES = {**vars(scapy.all), "IKEv2": ikev2.IKEv2, "MPLS": mpls.MPLS, "ESP": ipsec.ESP}


def made_rows(name: str) -> list[tuple[bytes, list[str]]]:
    """What scapy makes of each expression, and the words of the line behind it."""
    lines = (RESOURCES / name).read_text().splitlines()
    return [
        (raw(eval(comment[2:], NAMES)), row.split())
        for comment, row in pairwise(lines)
        if comment.startswith("# ") and not row.startswith("#")
    ]


def test_committed_headers_are_scapys() -> None:
    rows = made_rows("outer_headers.txt")
    assert len(rows) >= 200
    for made, row in rows:
        assert made.hex() == row[-1]


def test_committed_frames_are_scapys() -> None:
    rows = made_rows("outer_frames.txt")
    assert len(rows) >= 70
    for made, row in rows:
        assert made.ljust(60, b"\0").hex() == row[1], row[0]
