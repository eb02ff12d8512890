"""Makes the exporter importable as generate.sh does, and elaborates RDL text."""

import sys
from pathlib import Path

import pytest
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode

REGS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REGS))


def elaborate(path: Path) -> AddrmapNode:
    compiler = RDLCompiler()
    compiler.compile_file(str(path), incl_search_paths=[str(REGS)])
    return compiler.elaborate(top_def_name="sallyport").top


@pytest.fixture(scope="session")
def top() -> AddrmapNode:
    return elaborate(REGS / "sallyport.rdl")
