# SPDX-License-Identifier: Apache-2.0
"""Trials by TRex, against a stand-in for its client."""
