# SPDX-License-Identifier: Apache-2.0
"""Proofs of the RTL by k-induction (docs/explanation/formal.md)."""
