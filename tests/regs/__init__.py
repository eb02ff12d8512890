# SPDX-License-Identifier: Apache-2.0
"""The exporters that make Scala and Go from regs/*.rdl."""
