"""The outer headers that HeaderBuilderSpec expects are what scapy makes of the expression beside each."""

from pathlib import Path

from scapy.compat import raw
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

ROWS = Path(__file__).resolve().parents[1] / "interface_fpga/test/resources/outer_headers.txt"


def test_committed_headers_are_scapys() -> None:
    lines = ROWS.read_text().splitlines()
    checked = 0
    for expression, row in zip(lines, lines[1:], strict=False):
        if expression.startswith("# Ether("):
            made = eval(expression[2:], {"Ether": Ether, "IP": IP})  # noqa: S307 (our own file)
            assert raw(made).hex() == row.split()[-1], expression
            checked += 1
    assert checked >= 200
