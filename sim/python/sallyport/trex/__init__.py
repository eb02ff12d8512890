# SPDX-License-Identifier: Apache-2.0
"""Cisco TRex as a tester of real boxes (docs/how-to/lab.md): a [sallyport.backend.TrafficBackend]
that a lab file describes."""

from sallyport.trex.trex_backend import TrexBackend

__all__ = ["TrexBackend"]
