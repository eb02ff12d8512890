# SPDX-License-Identifier: Apache-2.0
"""What `from trex.astf.api import *` gives."""

from .client import ASTFClient
from .profile import (
    ASTFAssociationRule,
    ASTFGlobalInfo,
    ASTFIPGen,
    ASTFIPGenDist,
    ASTFIPGenGlobal,
    ASTFProfile,
    ASTFProgram,
    ASTFTCPClientTemplate,
    ASTFTCPServerTemplate,
    ASTFTemplate,
)

__all__ = [
    "ASTFAssociationRule",
    "ASTFClient",
    "ASTFGlobalInfo",
    "ASTFIPGen",
    "ASTFIPGenDist",
    "ASTFIPGenGlobal",
    "ASTFProfile",
    "ASTFProgram",
    "ASTFTCPClientTemplate",
    "ASTFTCPServerTemplate",
    "ASTFTemplate",
]
