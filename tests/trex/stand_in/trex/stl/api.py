# SPDX-License-Identifier: Apache-2.0
"""What `from trex.stl.api import *` gives."""

from .client import STLClient
from .errors import STLError, STLTypeError
from .streams import (
    STLFlowLatencyStats,
    STLFlowStats,
    STLPktBuilder,
    STLStream,
    STLTXCont,
    STLTXSingleBurst,
    STLVmFixChecksumHw,
    STLVmFixIpv4,
    STLVmFlowVar,
    STLVmWrFlowVar,
)

__all__ = [
    "STLClient",
    "STLError",
    "STLFlowLatencyStats",
    "STLFlowStats",
    "STLPktBuilder",
    "STLStream",
    "STLTXCont",
    "STLTXSingleBurst",
    "STLTypeError",
    "STLVmFixChecksumHw",
    "STLVmFixIpv4",
    "STLVmFlowVar",
    "STLVmWrFlowVar",
]
