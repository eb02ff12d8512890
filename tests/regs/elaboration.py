# SPDX-License-Identifier: Apache-2.0
"""Elaborates register descriptions by PeakRDL's own compiler, the judge of the exporters."""

from pathlib import Path

from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode

from tests.support.paths import ROOT

REGS = ROOT / "regs"


def elaborate(path: Path) -> AddrmapNode:
    """The address map `sallyport` of the RDL file at `path`."""
    compiler = RDLCompiler()
    compiler.compile_file(str(path), incl_search_paths=[str(REGS)])
    return compiler.elaborate(top_def_name="sallyport").top
